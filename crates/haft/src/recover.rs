//! Runs of processes that are gone: what they left open is in doubt, and where the files tell what became of a call, it
//! is settled at once. What files do not tell waits for a probe or a person.

use haft_contract::{CallId, Effect, Envelope, Metadata, RequirementSet};
use haft_journal::{
    CallOrder, CallQuery, CallRow, Holder, JournalError, SettledBy, Settlement, Status, Verdict,
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
}

/// What is found out about a call in doubt without asking anybody.
pub(crate) enum Insight {
    Happened(Box<CallRow>),
    NotHappened,
    InDoubt,
}

/// Takes all runs from owners that are gone.
pub(crate) async fn recover(shared: &Shared) -> Result<Recovered, JournalError> {
    let mut recovered = Recovered::default();
    let now_ms = shared.parts.clock.now_ms();
    for holder in shared.parts.journal.holders().await? {
        // One that lives and was only not heard of, on a machine that slept for one, keeps its runs until somebody
        // wants them.
        let known = (shared.parts.is_gone)(&holder.owner);
        let is_over = known.unwrap_or_else(|| holder.is_over(now_ms));
        if holder.owner.id != shared.parts.owner.id && is_over {
            let of_run = abandon(shared, holder).await?;
            recovered.in_doubt.extend(of_run.in_doubt);
            recovered.settled.extend(of_run.settled);
        }
    }
    for row in unseen(shared).await? {
        if let Insight::Happened(_) | Insight::NotHappened = look(shared, &row).await? {
            recovered.settled.push(row.id());
        }
    }
    Ok(recovered)
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

/// Takes a run from an owner that is gone.
pub(crate) async fn abandon(shared: &Shared, holder: Holder) -> Result<Recovered, JournalError> {
    let journal = &shared.parts.journal;
    let mut recovered = Recovered::default();
    for call in journal.abandon(holder).await? {
        let mut rows = journal.calls(CallQuery::of_call(call.clone())).await?;
        let insight = match rows.pop() {
            Some(row) => look(shared, &row).await?,
            None => Insight::InDoubt,
        };
        match insight {
            Insight::Happened(_) | Insight::NotHappened => recovered.settled.push(call),
            Insight::InDoubt => recovered.in_doubt.push(call),
        }
    }
    Ok(recovered)
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
    let answer = effects.answer.clone();
    let finished = tokio::task::spawn_blocking(move || effects.finish(&roots)).await;
    match finished {
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

/// Returns whether files are the only thing outside that a tool can change: it needs to write some, and nothing else.
fn changes_only_files(shared: &Shared, tool: &str) -> bool {
    let Some(registered) = shared.parts.registry.find(tool) else { return false };
    let RequirementSet { fs, net, shell, capabilities } = &registered.contract().requires;
    !fs.write.is_empty() && net.hosts.is_empty() && shell.is_empty() && capabilities.is_empty()
}

async fn happened(
    shared: &Shared,
    row: &CallRow,
    data: serde_json::Value,
) -> Result<Insight, JournalError> {
    let metadata = Metadata { call_id: Some(row.id().to_string()), ..Metadata::default() };
    let envelope = Envelope::Output { data, metadata };
    let row = resolve(shared, row, Verdict::Happened, envelope).await?;
    Ok(Insight::Happened(Box::new(row)))
}

async fn not_happened(shared: &Shared, row: &CallRow) -> Result<Insight, JournalError> {
    let metadata = Metadata { call_id: Some(row.id().to_string()), ..Metadata::default() };
    let error_text = "the process died before this call changed anything".to_owned();
    let envelope = Envelope::Error { error_text, metadata };
    resolve(shared, row, Verdict::NotHappened, envelope).await?;
    Ok(Insight::NotHappened)
}

/// Records what was found out about a call in doubt.
pub(crate) async fn resolve(
    shared: &Shared,
    row: &CallRow,
    verdict: Verdict,
    envelope: Envelope,
) -> Result<CallRow, JournalError> {
    let settled_at_ms = shared.parts.clock.now_ms();
    let (call, by) = (row.id(), SettledBy::Probe);
    shared.parts.journal.resolve(Settlement { call, verdict, by, envelope, settled_at_ms }).await
}
