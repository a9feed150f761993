//! Runs of processes that are gone: what they left open is in doubt, and where the files tell what became of a call, it
//! is settled at once. What files do not tell waits for a probe or a person. What their programs left under protected names
//! is put right first, whatever became of the calls.

use std::collections::{BTreeMap, HashSet};

use haft_contract::{CallId, Effect, Envelope, Metadata};
use haft_journal::{
    CallOrder, CallQuery, CallRow, JournalError, NewRun, RunQuery, RunRow, SettledBy, Settlement,
    Status, Verdict,
};
use haft_sandbox::Finished;
use serde::Serialize;

use crate::effects::FileEffects;
use crate::runtime::Shared;

/// Rows among which a recovery looks for what an earlier one left.
const UNSEEN_ROWS_MAX: u32 = 64;

/// What was found of processes that are gone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Recovered {
    /// Calls that were begun and whose end nobody saw.
    pub in_doubt: Vec<CallId>,
    /// Of calls like that, those that the files told the end of.
    pub settled: Vec<CallId>,
    /// What their commands and tools had done to protected names and what became of it, in the workspaces of whatever runs;
    /// a sentence each.
    pub undone: Vec<String>,
    /// Why some of that could not be looked at; a sentence each.
    pub not_looked_at: Vec<String>,
}

/// What is found out about a call in doubt without asking anybody.
pub(crate) enum Insight {
    Happened(Box<CallRow>),
    NotHappened,
    InDoubt,
}

/// Takes all runs from owners that are gone, and looks at the files of what they left.
pub(crate) async fn recover(shared: &Shared) -> Result<Recovered, JournalError> {
    let journal = &shared.parts.journal;
    let now_ms = shared.parts.clock.now_ms();
    let mut left = Vec::new();
    for holder in journal.holders().await? {
        // One that lives and was only not heard of, on a machine that slept for one, keeps its runs.
        let known = (shared.parts.is_gone)(&holder.owner);
        let is_over = known.unwrap_or_else(|| holder.is_over(now_ms));
        if holder.owner.id != shared.parts.owner.id && is_over {
            left.extend(journal.abandon(holder).await?);
        }
    }
    let known: HashSet<CallId> = left.iter().cloned().collect();
    let unseen = unseen(shared).await?.into_iter().map(|row| row.id());
    let mut by_run: BTreeMap<String, Vec<CallId>> = BTreeMap::new();
    for call in left.into_iter().chain(unseen.filter(|call| !known.contains(call))) {
        by_run.entry(call.scope.run.to_string()).or_default().push(call);
    }
    let leftovers = shared.parts.launcher.settle_leftovers().await;
    let mut recovered = Recovered {
        undone: leftovers.undone.iter().map(crate::shell::undone).collect(),
        not_looked_at: leftovers.problems,
        ..Recovered::default()
    };
    for calls in by_run.into_values() {
        let settled = look_in_run(shared, &calls).await?;
        let (settled, in_doubt) = calls.into_iter().partition(|call| settled.contains(call));
        let in_doubt: Vec<CallId> = in_doubt;
        recovered.settled.extend::<Vec<_>>(settled);
        recovered.in_doubt.extend(in_doubt.into_iter().filter(|call| known.contains(call)));
    }
    Ok(recovered)
}

/// Looks at the files of calls of one run, and returns those that it settled. The run is held meanwhile: nobody else may
/// look at these files, and nobody make the calls again. Where somebody else has it, that is their business.
async fn look_in_run(shared: &Shared, calls: &[CallId]) -> Result<Vec<CallId>, JournalError> {
    let journal = &shared.parts.journal;
    let settled = Vec::new();
    let Some(run) = calls.first().map(|call| call.scope.run.clone()) else { return Ok(settled) };
    let _opening = shared.opening.lock().await;
    if shared.holds(&run) {
        return Ok(settled);
    }
    let query = RunQuery { run: Some(run), ..RunQuery::default() };
    let Some(run) = journal.runs(query).await?.pop() else { return Ok(settled) };
    let lease = match journal.open_run(run_as_recorded(run), shared.claim()).await {
        Err(JournalError::Held { .. } | JournalError::Stuck { .. }) => return Ok(settled),
        lease => lease?,
    };
    let settled = look_at_calls(shared, calls).await;
    match journal.close_run(lease).await {
        Ok(()) | Err(JournalError::Fenced { .. }) => settled,
        Err(err) => Err(err),
    }
}

/// Looks at the files of calls of a run that this process has, and returns those that it settled.
pub(crate) async fn look_at_calls(
    shared: &Shared,
    calls: &[CallId],
) -> Result<Vec<CallId>, JournalError> {
    let mut settled = Vec::new();
    for call in calls {
        let rows = shared.parts.journal.calls(CallQuery::of_call(call.clone())).await?;
        if let Some(row) = rows.first()
            && let Insight::Happened(_) | Insight::NotHappened = look(shared, row).await?
        {
            settled.push(call.clone());
        }
    }
    Ok(settled)
}

fn run_as_recorded(run: RunRow) -> NewRun {
    let RunRow { id, front_end, root, version, started_at_ms, settings, .. } = run;
    NewRun { id, front_end, root, started_at_ms, version, settings }
}

/// Returns calls whose files may not have been looked at yet: whoever took their run died in it, or could not. They lie
/// among the latest changes of the journal, or they are found when their run is gone on with.
async fn unseen(shared: &Shared) -> Result<Vec<CallRow>, JournalError> {
    let query =
        CallQuery { limit: UNSEEN_ROWS_MAX, order: CallOrder::Latest, ..CallQuery::default() };
    let mut rows = shared.parts.journal.calls(query).await?;
    // One with an answer ended before the eyes of its own process, which may be busy with its files still.
    let is_unseen = |row: &CallRow| {
        row.status == Status::Unknown && row.verdict.is_none() && row.envelope.is_none()
    };
    rows.retain(is_unseen);
    Ok(rows)
}

/// Looks whether the files tell what became of a call in doubt, and records it.
pub(crate) async fn look(shared: &Shared, row: &CallRow) -> Result<Insight, JournalError> {
    if row.status != Status::Unknown || row.verdict.is_some() {
        return Ok(Insight::InDoubt);
    }
    if row.details.is_none() {
        // The intent of a change says so before the first file is touched.
        return match row.effect == Effect::Once && changes_only_files(shared, &row.tool) {
            true => not_happened(shared, row).await,
            false => Ok(Insight::InDoubt),
        };
    }
    let Some(effects) = FileEffects::parse(row.details.as_deref()) else {
        return Ok(Insight::InDoubt);
    };
    let roots = shared.parts.roots.clone();
    let (answer, is_part) = (effects.answer.clone(), effects.is_part);
    let finished = tokio::task::spawn_blocking(move || effects.finish(&roots)).await;
    match finished {
        // The rest of what the call does is not told by them.
        Ok(Some(Ok(_))) if is_part => Ok(Insight::InDoubt),
        Ok(Some(Ok(Finished::Applied))) => happened(shared, row, answer).await,
        Ok(Some(Ok(Finished::NotApplied))) => not_happened(shared, row).await,
        Ok(Some(Ok(Finished::Unclear)) | None) => Ok(Insight::InDoubt),
        Ok(Some(Err(err))) => {
            tracing::warn!(call = %row.id(), %err, "the files of a call in doubt could not be looked at");
            Ok(Insight::InDoubt)
        }
        // A panic was reported when it happened.
        Err(_) => Ok(Insight::InDoubt),
    }
}

/// Returns whether one set of changes of files is all that a call of a tool does.
fn changes_only_files(shared: &Shared, tool: &str) -> bool {
    let registry = shared.catalog.registry();
    registry.find(tool).is_some_and(|registered| registered.contract().only_changes_files)
}

async fn happened(
    shared: &Shared,
    row: &CallRow,
    data: serde_json::Value,
) -> Result<Insight, JournalError> {
    let metadata = Metadata { call_id: Some(row.id().to_string()), ..Metadata::default() };
    let envelope = Envelope::Output { data, metadata };
    resolve(shared, row, Verdict::Happened, envelope).await.map(insight)
}

async fn not_happened(shared: &Shared, row: &CallRow) -> Result<Insight, JournalError> {
    let metadata = Metadata { call_id: Some(row.id().to_string()), ..Metadata::default() };
    let error_text = "the process died before this call changed anything".to_owned();
    let envelope = Envelope::Error { error_text, metadata };
    resolve(shared, row, Verdict::NotHappened, envelope).await.map(insight)
}

/// Returns what a row says that was settled, by whomever.
fn insight(row: CallRow) -> Insight {
    match (row.status, row.verdict) {
        (Status::Succeeded, _) => Insight::Happened(Box::new(row)),
        (_, Some(Verdict::NotHappened | Verdict::Retry)) => Insight::NotHappened,
        (_, Some(Verdict::Happened) | None) => Insight::InDoubt,
    }
}

/// Records what was found out about a call in doubt, and returns its row. If somebody else was first, theirs holds.
pub(crate) async fn resolve(
    shared: &Shared,
    row: &CallRow,
    verdict: Verdict,
    envelope: Envelope,
) -> Result<CallRow, JournalError> {
    let settled_at_ms = shared.parts.clock.now_ms();
    let (call, by) = (row.id(), SettledBy::Probe);
    let journal = &shared.parts.journal;
    let settlement = Settlement { call: call.clone(), verdict, by, envelope, settled_at_ms };
    match journal.resolve(settlement).await {
        Err(JournalError::NotInDoubt { .. }) => {
            let mut rows = journal.calls(CallQuery::of_call(call.clone())).await?;
            rows.pop().ok_or(JournalError::UnknownCall { call })
        }
        answer => answer,
    }
}
