//! The calls of a run that may or may not have happened, and that a person has to settle.

use haft_contract::Effect;
use haft_journal::{CallOrder, CallQuery, CallRow, CallStatus, Journal, JournalError, RunRow};

use crate::process_identity;

/// Returns whether the process that holds a run is gone.
pub fn is_holder_dead(run: &RunRow) -> bool {
    run.holder.as_ref().is_some_and(|holder| process_identity::is_gone(&holder.owner))
}

/// Returns the calls of a run that a person has to settle, in the order of their last change.
///
/// # Errors
///
/// Fails if the journal does.
pub async fn find_doubts(
    journal: &dyn Journal,
    run: &RunRow,
) -> Result<Vec<CallRow>, JournalError> {
    let mut doubts = Vec::new();
    if run.unknown + run.intended == 0 {
        return Ok(doubts);
    }
    // If the holder is dead, its open calls are in doubt as soon as another process takes over the run.
    let owner_is_gone = is_holder_dead(run);
    let mut query = CallQuery {
        order: CallOrder::Change,
        statuses: vec![CallStatus::Unknown, CallStatus::Intended],
        ..CallQuery::of_run(run.id.clone())
    };
    loop {
        let calls = journal.calls(query.clone()).await?;
        let Some(last) = calls.last() else { return Ok(doubts) };
        query.after_change = Some(last.change);
        doubts.extend(calls.into_iter().filter(|call| is_in_doubt(call, owner_is_gone)));
    }
}

/// Returns whether a person has to settle a call.
pub fn is_in_doubt(call: &CallRow, owner_is_gone: bool) -> bool {
    let is_open = match call.status {
        CallStatus::Unknown => call.verdict.is_none(),
        CallStatus::Intended => owner_is_gone,
        CallStatus::Succeeded | CallStatus::Failed | CallStatus::Refused => false,
    };
    is_open && call.effect == Effect::Once
}
