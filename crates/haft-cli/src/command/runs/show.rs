//! `haft runs show`: one run, what is in doubt of it, and its calls.

use std::collections::BTreeMap;

use clap::Args;
use haft_contract::{RunId, Scope};
use haft_journal::limits::QUERY_CALLS_MAX;
use haft_journal::{
    CallQuery, CallRow, EarlierEffect, Journal, JournalError, LateOutcome, RunQuery, RunRow,
    SnapshotNote,
};
use serde::Serialize;

use super::{doubt, text, unknown_run};
use crate::error::{CommandError, Status};
use crate::table::table;
use crate::time::rfc3339;
use crate::{output, owner};

/// Tasks of which it is shown what a retry would be warned of.
pub(crate) const RETRIES_SHOWN_MAX: usize = 10;
/// Calls of one task that a retry would be warned of and that are shown.
const RETRY_CALLS_SHOWN_MAX: u32 = haft::limits::WARNED_CALLS_MAX;

/// Show a run and its calls in their order
///
/// Begins with the calls in doubt and what to type about each, and with what a retry of a task would be warned of.
#[derive(Args)]
pub(super) struct ShowArgs {
    /// The run, as haft runs list shows it
    run: String,
    /// Most calls to show
    #[arg(long, default_value_t = QUERY_CALLS_MAX, value_parser = clap::value_parser!(u32).range(1..=i64::from(QUERY_CALLS_MAX)))]
    limit: u32,
}

/// All that is shown of a run.
#[derive(Serialize)]
struct Shown {
    run: RunRow,
    /// Whether the process that holds the run is known to be gone; `None` if nobody holds it.
    holder_is_gone: Option<bool>,
    /// Calls that wait for somebody to say what became of them.
    in_doubt: Vec<String>,
    /// What the next attempt of each task would be warned of.
    retries: Vec<Retry>,
    calls: Vec<CallRow>,
    late_outcomes: Vec<LateOutcome>,
    snapshots: Vec<SnapshotNote>,
}

/// What the next attempt of a task would be warned of.
#[derive(Serialize)]
struct Retry {
    node: String,
    iteration: u32,
    attempt: u32,
    total: u64,
    first: Vec<EarlierEffect>,
}

pub(super) async fn run(
    args: &ShowArgs,
    journal: Option<&dyn Journal>,
    json: bool,
) -> Result<Status, CommandError> {
    let id = RunId::parse(&args.run).map_err(CommandError::usage)?;
    let journal = journal.ok_or_else(|| unknown_run(&args.run))?;
    let query = RunQuery { run: Some(id.clone()), ..RunQuery::default() };
    let run = journal.runs(query).await?.into_iter().next();
    let run = run.ok_or_else(|| unknown_run(&args.run))?;
    let query = CallQuery { limit: args.limit, ..CallQuery::of_run(id.clone()) };
    let calls = journal.calls(query).await?;
    let doubts = doubt::find(journal, &run).await?;
    let shown = Shown {
        holder_is_gone: run.holder.as_ref().map(|holder| owner::is_gone(&holder.owner)),
        in_doubt: doubts.iter().map(|call| call.id().to_string()).collect(),
        retries: retries(journal, &calls).await?,
        late_outcomes: journal.late_outcomes(&id).await?,
        snapshots: journal.snapshots(&id, None).await?,
        run,
        calls,
    };
    if json {
        output::json(&shown)?;
    } else {
        let parts = [doubt::warning(&doubts), retry_text(&shown), head(&shown), body(&shown)];
        output::data(&parts.concat())?;
    }
    let count = u64::try_from(shown.calls.len()).unwrap_or(u64::MAX);
    let left_out = shown.run.calls.saturating_sub(count);
    if left_out > 0 {
        output::note(format_args!("{left_out} further calls are not shown"));
    }
    Ok(Status::Done)
}

/// Returns what the next attempts of the tasks of these calls would be warned of.
async fn retries(journal: &dyn Journal, calls: &[CallRow]) -> Result<Vec<Retry>, JournalError> {
    let mut latest: BTreeMap<(&str, u32), &Scope> = BTreeMap::new();
    for CallRow { scope, .. } in calls {
        let known = latest.entry((&scope.node, scope.iteration)).or_insert(scope);
        if known.attempt < scope.attempt {
            *known = scope;
        }
    }
    let mut retries = Vec::new();
    for scope in latest.into_values() {
        let next = Scope { attempt: scope.attempt.saturating_add(1), ..scope.clone() };
        let earlier = journal.earlier_effects(&next, RETRY_CALLS_SHOWN_MAX).await?;
        if earlier.total > 0 {
            let Scope { node, iteration, attempt, .. } = next;
            let (total, first) = (earlier.total, earlier.first);
            retries.push(Retry { node, iteration, attempt, total, first });
        }
        if retries.len() == RETRIES_SHOWN_MAX {
            break;
        }
    }
    Ok(retries)
}

fn retry_text(shown: &Shown) -> String {
    let mut text = String::new();
    for Retry { node, iteration, attempt, total, first } in &shown.retries {
        let calls = if *total == 1 { "call" } else { "calls" };
        text.push_str(&format!(
            "A retry (attempt {attempt} of {node}/{iteration}) would be warned of {total} {calls} not safe to repeat:\n"
        ));
        for EarlierEffect { tool, attempt, seq, status, .. } in first {
            let tool = output::visible(tool);
            text.push_str(&format!("  {tool}  {node}/{iteration}/{attempt}/{seq}  {status}\n"));
        }
        let listed = u64::try_from(first.len()).unwrap_or(u64::MAX);
        if let Some(more) = total.checked_sub(listed).filter(|more| *more > 0) {
            text.push_str(&format!("  and {more} more\n"));
        }
        text.push('\n');
    }
    text
}

fn head(shown: &Shown) -> String {
    let run = &shown.run;
    let begun =
        format!("{} by {}, haft {}", rfc3339(run.started_at_ms), run.front_end, run.version);
    let mut lines =
        vec![("run", run.id.to_string()), ("root", output::visible(&run.root)), ("begun", begun)];
    if let Some(holder) = &run.holder {
        let text = text::holder(holder);
        lines.push((
            "holder",
            format!("{text} (since {}, epoch {})", rfc3339(holder.since_ms), holder.epoch),
        ));
    }
    if run.settings != "{}" {
        lines.push(("settings", output::visible(&run.settings)));
    }
    lines.into_iter().map(|(label, text)| format!("{label:<10}{text}\n")).collect()
}

fn body(shown: &Shown) -> String {
    let mut text = String::new();
    if !shown.calls.is_empty() {
        let headings = ["CALL", "TOOL", "STATUS", "STARTED", "MS", "CODE", "INPUT"];
        text.push_str(&format!("\n{}\n", table(&headings, shown.calls.iter().map(cells))));
    }
    if !shown.late_outcomes.is_empty() {
        let headings = ["LATE OUTCOME OF", "TOOL", "STATUS", "FINISHED", "EPOCH"];
        let rows = shown.late_outcomes.iter().map(late_cells);
        text.push_str(&format!("\n{}\n", table(&headings, rows)));
    }
    text
}

fn cells(call: &CallRow) -> Vec<String> {
    vec![
        text::place(call),
        output::visible(&call.tool),
        text::status(call),
        rfc3339(call.started_at_ms),
        text::duration(call),
        text::code(call),
        text::summary(&call.input),
    ]
}

fn late_cells(late: &LateOutcome) -> Vec<String> {
    let Scope { node, iteration, attempt, .. } = &late.call.scope;
    vec![
        format!("{node}/{iteration}/{attempt}/{}", late.call.seq),
        output::visible(&late.tool),
        late.status.to_string(),
        rfc3339(late.finished_at_ms),
        late.epoch.to_string(),
    ]
}
