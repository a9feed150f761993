//! The refusal of a call, with its reason.

use haft_contract::{Envelope, ErrorCode, Refusal, RefusalGrounds, RefusalSource};
use haft_journal::JournalError;

use super::call_state::CallState;
use crate::run_error::RunError;

/// The reason why a call leaves the pipeline early.
pub(super) enum PipelineStop {
    /// The call happened before, may have happened, or is still executing. The envelope says which. The call has a row,
    /// so nothing is recorded.
    Answered(Box<Envelope>),
    /// The call is not allowed to execute. haft records the refusal and answers with it.
    Refused(Box<RefusedCall>),
    /// haft cannot say what happened.
    Failed(RunError),
}

/// A refusal, with the call's state and accesses for the journal.
pub(super) struct RefusedCall {
    /// The call that is refused.
    pub(super) state: CallState,
    /// The accesses of the call as JSON, or `[]` if they are not known.
    pub(super) accesses: String,
    /// The code, the reason and the remedies.
    pub(super) refusal: Refusal,
    /// The text that the journal stores instead of the reason.
    pub(super) recorded_message: Option<String>,
    /// Whether the call counts as not made, because of what earlier calls did.
    pub(super) is_held_back: bool,
}

impl PipelineStop {
    /// Returns the refusal of a call whose accesses are not known yet.
    pub(super) fn refused(state: CallState, code: ErrorCode, because: String) -> Self {
        Self::refused_with(state, "[]".to_owned(), plain_refusal(code, because))
    }

    /// Returns the refusal of a call that would touch `accesses`.
    pub(super) fn refused_with(state: CallState, accesses: String, refusal: Refusal) -> Self {
        let refused =
            RefusedCall { state, accesses, refusal, recorded_message: None, is_held_back: false };
        Self::Refused(Box::new(refused))
    }

    /// Returns the refusal of a call that counts as not made, because of what earlier calls did.
    pub(super) fn held_back(mut self) -> Self {
        if let Self::Refused(refused) = &mut self {
            refused.refusal.decided_by = RefusalSource::Journal;
            refused.is_held_back = true;
        }
        self
    }

    /// Returns the refusal with the text that the journal stores instead of its reason.
    pub(super) fn recorded_as(mut self, text: Option<String>) -> Self {
        if let Self::Refused(refused) = &mut self {
            refused.recorded_message = text;
        }
        self
    }
}

/// Returns a refusal without remedies. The code determines which part of haft decided it.
pub(super) fn plain_refusal(code: ErrorCode, because: String) -> Refusal {
    let decided_by = match code {
        ErrorCode::ProcessAborted => RefusalSource::Caller,
        code => RefusalSource::of_code(code).unwrap_or(RefusalSource::Contract),
    };
    RefusalGrounds::new(decided_by).into_refusal(code, because)
}

impl From<RunError> for PipelineStop {
    fn from(err: RunError) -> Self {
        Self::Failed(err)
    }
}

impl From<JournalError> for PipelineStop {
    fn from(err: JournalError) -> Self {
        Self::Failed(err.into())
    }
}
