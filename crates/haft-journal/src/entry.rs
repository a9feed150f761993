//! One record of a call on its way into a journal. Every backend applies the same four entries, so which effect needs
//! which entry, and how firmly it must be stored, is decided here once. Storing them is the backend's work.

use std::sync::Arc;

use haft_contract::{Effect, Envelope};

use crate::{Intent, JournalError, Outcome, PlannedCall, Status};

/// One record of a call on its way into a journal.
#[derive(Debug)]
pub(crate) enum Entry {
    /// A new row without an outcome.
    Intended(Arc<PlannedCall>),
    /// What exactly is about to change, for a row that was intended.
    Amended(Arc<PlannedCall>, String),
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

/// What a commit survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Firmness {
    /// The death of the process: the operating system has the data.
    Process,
    /// The loss of power: the disk has the data.
    Power,
    /// The same, and whoever waits for that has time: it can share the sync of what comes next.
    PowerSoon,
}

impl Firmness {
    /// Returns the firmness for somebody who goes on meanwhile.
    pub(crate) fn soon(self) -> Self {
        match self {
            Self::Process => Self::Process,
            Self::Power | Self::PowerSoon => Self::PowerSoon,
        }
    }
}

impl Entry {
    /// Returns the entry that must be stored before `call` executes, `None` for a read.
    pub(crate) fn intend(call: &Arc<PlannedCall>) -> Option<Self> {
        match call.effect {
            Effect::Read => None,
            Effect::Idempotent | Effect::Once => Some(Self::Intended(Arc::clone(call))),
        }
    }

    /// Returns the entry that adds to an intent.
    pub(crate) fn amend(intent: &Intent, details: String) -> Result<Self, JournalError> {
        let call = intent.shared_call();
        match call.effect {
            Effect::Read => Err(JournalError::NoOpenIntent { call: call.id.clone() }),
            Effect::Idempotent | Effect::Once => Ok(Self::Amended(call, details)),
        }
    }

    /// Returns the entry that closes an intent.
    pub(crate) fn settle(intent: Intent, outcome: &Outcome) -> Result<Self, JournalError> {
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
    pub(crate) fn refuse(call: PlannedCall, outcome: &Outcome) -> Result<Self, JournalError> {
        if outcome.status != Status::Refused {
            return Err(wrong_status(&call, outcome.status, "refused"));
        }
        Ok(Self::Complete(Arc::new(call), Closing::of(outcome)))
    }

    /// Returns what the entry must survive before anyone hears of it.
    pub(crate) fn firmness(&self) -> Firmness {
        match self {
            Self::Intended(_) | Self::Amended(..) | Self::Settled(..) => Firmness::Power,
            Self::Complete(..) => Firmness::Process,
        }
    }

    /// Returns the call that the entry is about.
    pub(crate) fn call(&self) -> &PlannedCall {
        match self {
            Self::Intended(call)
            | Self::Amended(call, _)
            | Self::Settled(call, _)
            | Self::Complete(call, _) => call,
        }
    }

    /// Returns what is kept of the entry when its epoch is over: the outcome, if there is one.
    pub(crate) fn late(&self) -> Option<&Closing> {
        match self {
            Self::Intended(_) | Self::Amended(..) => None,
            Self::Settled(_, closing) | Self::Complete(_, closing) => Some(closing),
        }
    }
}

impl Closing {
    fn of(outcome: &Outcome) -> Self {
        let envelope = envelope_json(&outcome.envelope);
        Self { status: outcome.status, envelope, finished_at_ms: outcome.finished_at_ms }
    }
}

/// Returns the text that a journal keeps of an envelope.
pub(crate) fn envelope_json(envelope: &Envelope) -> String {
    serde_json::to_string(envelope)
        .expect("an envelope is made of strings, numbers and JSON values, which always serialize")
}

fn wrong_status(call: &PlannedCall, found: Status, expected: &'static str) -> JournalError {
    JournalError::WrongStatus { call: call.id.clone(), found, expected }
}
