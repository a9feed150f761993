//! Recovers runs of dead processes. Open calls become in doubt. If the files show the outcome of a call, haft settles
//! the call at once; other calls wait for a probe or a person. First, haft reverts changes that their programs made at
//! protected paths, whatever the outcome of the calls.

use std::collections::{BTreeMap, HashSet};

use haft_contract::CallAddress;
use haft_journal::{
    CallOrder, CallQuery, CallRow, CallStatus, JournalError, NewRun, RunQuery, RunRow,
};
use serde::Serialize;

use crate::pipeline::check_files_of_calls;
use crate::run::RunRegistry;
use crate::runtime_event::RuntimeEvent;
use crate::shared::RuntimeParts;

/// Rows among which a recovery looks for what an earlier one left.
const UNCHECKED_ROWS_MAX: u32 = 64;

/// The results of recovering the runs of dead processes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunRecovery {
    /// Calls that were begun and have no outcome.
    pub in_doubt: Vec<CallAddress>,
    /// The calls in doubt that were settled because the files show their outcome.
    pub settled: Vec<CallAddress>,
    /// The reverted changes of protected paths by commands and tools, in all workspaces; one sentence each.
    pub undone: Vec<String>,
    /// Why some of that could not be looked at; a sentence each.
    pub not_looked_at: Vec<String>,
}

/// Takes all runs from owners that are gone, and looks at the files of what they left.
pub(crate) async fn recover_runs(runs: &RunRegistry) -> Result<RunRecovery, JournalError> {
    let RuntimeParts { journal, clock, owner, is_gone, launcher, .. } = &runs.shared().parts;
    let now_ms = clock.now_ms();
    let mut left = Vec::new();
    for holder in journal.lease_holders().await? {
        // An owner that lives keeps its runs even if its lease expired, for example because its machine slept.
        let is_over = is_gone(&holder.owner).unwrap_or_else(|| holder.is_expired(now_ms));
        if holder.owner.id != owner.id && is_over {
            left.extend(journal.abandon_run(holder).await?);
        }
    }
    let known: HashSet<CallAddress> = left.iter().cloned().collect();
    // The files of a call may be unchecked, because the process that took its run died or failed. Such calls are among
    // the latest changes of the journal. Older ones are found when their run is resumed.
    let query =
        CallQuery { limit: UNCHECKED_ROWS_MAX, order: CallOrder::Latest, ..CallQuery::default() };
    // A call with an answer ended in its own process, which may still be changing its files.
    let is_unchecked = |row: &CallRow| {
        row.status == CallStatus::Unknown && row.verdict.is_none() && row.envelope.is_none()
    };
    let latest = journal.calls(query).await?.into_iter();
    let unseen = latest.filter(is_unchecked).map(|row| row.id());
    let mut by_run: BTreeMap<String, Vec<CallAddress>> = BTreeMap::new();
    for call in left.into_iter().chain(unseen.filter(|call| !known.contains(call))) {
        by_run.entry(call.scope.run.to_string()).or_default().push(call);
    }
    let leftovers = launcher.recover_interrupted().await;
    let mut recovered = RunRecovery {
        undone: leftovers.reverted.iter().map(crate::shell::protected_change_text).collect(),
        not_looked_at: leftovers.problems,
        ..RunRecovery::default()
    };
    for calls in by_run.into_values() {
        let settled = check_files_of_run(runs, &calls).await?;
        let (settled, in_doubt) = calls.into_iter().partition(|call| settled.contains(call));
        let in_doubt: Vec<CallAddress> = in_doubt;
        recovered.settled.extend::<Vec<_>>(settled);
        recovered.in_doubt.extend(in_doubt.into_iter().filter(|call| known.contains(call)));
    }
    if !recovered.in_doubt.is_empty() {
        let event = RuntimeEvent::InDoubt(recovered.in_doubt.clone());
        runs.shared().parts.report_event(event).await;
    }
    Ok(recovered)
}

/// Checks the files of calls of one run, and returns the calls that it settled. This process holds the lease meanwhile:
/// no other process may check these files or make the calls again. If another process owns the run, it does this work.
async fn check_files_of_run(
    runs: &RunRegistry,
    calls: &[CallAddress],
) -> Result<Vec<CallAddress>, JournalError> {
    let journal = &runs.shared().parts.journal;
    let settled = Vec::new();
    let Some(run) = calls.first().map(|call| call.scope.run.clone()) else { return Ok(settled) };
    let _opening = runs.opening.lock().await;
    if runs.has_lease(&run) {
        return Ok(settled);
    }
    let query = RunQuery { run: Some(run), ..RunQuery::default() };
    let Some(run) = journal.runs(query).await?.pop() else { return Ok(settled) };
    let RunRow { id, front_end, root, version, started_at_ms, settings, .. } = run;
    let run = NewRun { id, front_end, root, started_at_ms, version, settings };
    let lease = match journal.open_run(run, runs.lease_request()).await {
        Err(JournalError::LeaseHeld { .. } | JournalError::Stuck { .. }) => return Ok(settled),
        lease => lease?,
    };
    let settled = check_files_of_calls(runs.shared(), calls).await;
    match journal.close_run(lease).await {
        Ok(()) | Err(JournalError::Fenced { .. }) => settled,
        Err(err) => Err(err),
    }
}
