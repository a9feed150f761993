//! A call that was not allowed to execute, and why.

use haft_contract::ErrorCode;

use super::arrive::Entry;
use crate::run::RunError;

/// Why a call leaves the pipeline before its end.
pub(super) enum Stop {
    /// It is not allowed to execute; the refusal is journaled and answered.
    Refused(Box<Refusal>),
    /// haft cannot say what happened.
    Failed(RunError),
}

/// A refusal with what the journal says of the call.
pub(super) struct Refusal {
    pub(super) entry: Entry,
    pub(super) accesses: String,
    pub(super) code: ErrorCode,
    pub(super) message: String,
    /// What the journal holds in place of the message.
    pub(super) recorded: Option<String>,
    /// Whether the call counts as not made, because of what earlier calls did.
    pub(super) is_held_back: bool,
}

impl Stop {
    /// Returns the refusal of a call whose accesses are not known yet.
    pub(super) fn refused(entry: Entry, code: ErrorCode, message: String) -> Self {
        Self::refused_with(entry, "[]".to_owned(), code, message)
    }

    /// Returns the refusal of a call that would touch `accesses`.
    pub(super) fn refused_with(
        entry: Entry,
        accesses: String,
        code: ErrorCode,
        message: String,
    ) -> Self {
        let refusal =
            Refusal { entry, accesses, code, message, recorded: None, is_held_back: false };
        Self::Refused(Box::new(refusal))
    }

    /// Returns the refusal of a call that counts as not made, because of what earlier calls did.
    pub(super) fn held_back(mut self) -> Self {
        if let Self::Refused(refusal) = &mut self {
            refusal.is_held_back = true;
        }
        self
    }

    /// Returns the refusal with what the journal holds in place of its message.
    pub(super) fn recorded_as(mut self, text: Option<String>) -> Self {
        if let Self::Refused(refusal) = &mut self {
            refusal.recorded = text;
        }
        self
    }
}

impl From<RunError> for Stop {
    fn from(err: RunError) -> Self {
        Self::Failed(err)
    }
}
