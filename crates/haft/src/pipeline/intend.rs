//! Writes the intent to the journal before anything happens.

use haft_journal::{Intent, Journal, JournalError, PlannedCall};

use super::call_state::CallState;
use super::history::History;
use super::refusal::PipelineStop;
use super::watch::Granted;

/// Evidence that the intent of the call is recorded. If the effect is more than a read, the intent is on disk. The intent of a
/// tool that only changes files gets there with the changes, which are recorded before they are made. Only the journal makes an
/// [`Intent`].
pub(super) struct Intended {
    /// The intent, which the journal made.
    pub(super) intent: Intent,
    /// The warning about earlier calls like this one, for the answer.
    pub(super) retry_warning: Option<String>,
}

/// Records the intent of the call. Fails if the journal does not accept it, and then nothing executes.
pub(super) async fn intend(
    state: &CallState,
    granted: &Granted,
    history: History,
    journal: &dyn Journal,
) -> Result<Intended, PipelineStop> {
    let planned = PlannedCall {
        announces_effects: granted.contract().only_changes_files,
        ..state.planned_call(granted.recorded_accesses().to_owned())
    };
    match journal.intend(planned).await {
        Ok(intent) => Ok(Intended { intent, retry_warning: history.into_retry_warning() }),
        Err(err) => {
            if let JournalError::Fenced { .. } = err {
                // The journal has no row of the call, so a repetition must get the same number.
                state.roll_back_numbering();
            }
            Err(err.into())
        }
    }
}
