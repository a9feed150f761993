//! One record on its way into a journal. Every backend applies the same four entries, so which effect needs which
//! entry, and how firmly it must be stored, is decided here once. Storing them is the backend's work.

use std::sync::Arc;

use haft_contract::Effect;

use crate::{Intent, JournalError, NewRun, Outcome, PlannedCall, Status};

/// One record on its way into a journal.
#[derive(Debug)]
pub(crate) enum Entry {
    /// A run begins; no change if it is there.
    Run(NewRun),
    /// A new row without an outcome.
    Intended(Arc<PlannedCall>),
    /// The outcome of a row that was intended.
    Settled(Arc<PlannedCall>, Closing),
    /// A new row that has its outcome already.
    Complete(Arc<PlannedCall>, Closing),
}

/// An outcome in the shape of its columns.
#[derive(Debug)]
pub(crate) struct Closing {
    pub(crate) status: Status,
    pub(crate) envelope: String,
    pub(crate) finished_at_ms: u64,
}

impl Entry {
    /// Returns the entry that must be stored before `call` executes, `None` for a read.
    pub(crate) fn intend(call: &Arc<PlannedCall>) -> Option<Self> {
        match call.effect {
            Effect::Read => None,
            Effect::Idempotent | Effect::Once => Some(Self::Intended(Arc::clone(call))),
        }
    }

    /// Returns the entry that closes an intent.
    pub(crate) fn settle(intent: Intent, outcome: Outcome) -> Result<Self, JournalError> {
        let call = intent.into_call();
        if outcome.status == Status::Intended {
            let expected = "succeeded, failed, refused or unknown";
            return Err(wrong_status(&call, outcome.status, expected));
        }
        let closing = Closing::of(outcome);
        Ok(match call.effect {
            Effect::Read => Self::Complete(call, closing),
            Effect::Idempotent | Effect::Once => Self::Settled(call, closing),
        })
    }

    /// Returns the entry of a call that was refused.
    pub(crate) fn refuse(call: PlannedCall, outcome: Outcome) -> Result<Self, JournalError> {
        if outcome.status != Status::Refused {
            return Err(wrong_status(&call, outcome.status, "refused"));
        }
        Ok(Self::Complete(Arc::new(call), Closing::of(outcome)))
    }

    /// Returns whether the entry must survive the loss of power before anyone hears of it.
    pub(crate) fn is_durable(&self) -> bool {
        match self {
            Self::Intended(_) | Self::Settled(..) => true,
            Self::Run(_) | Self::Complete(..) => false,
        }
    }
}

impl Closing {
    fn of(outcome: Outcome) -> Self {
        let envelope = serde_json::to_string(&outcome.envelope).expect(
            "an envelope is made of strings, numbers and JSON values, which always serialize",
        );
        Self { status: outcome.status, envelope, finished_at_ms: outcome.finished_at_ms }
    }
}

fn wrong_status(call: &PlannedCall, found: Status, expected: &'static str) -> JournalError {
    JournalError::WrongStatus { call: call.id.clone(), found, expected }
}
