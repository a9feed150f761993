//! `haft runs show`: one run, what is in doubt of it, and its calls.

use std::collections::BTreeMap;

use clap::Args;
use haft_contract::{RunId, Scope};
use haft_journal::limits::QUERY_CALLS_MAX;
use haft_journal::{
    CallOrder, CallQuery, CallRow, ChatSession, Journal, JournalError, LateOutcome, RunQuery,
    RunRow, SnapshotNote,
};
use serde::Serialize;

use super::named::{NamedCall, NamedEffect, NamedOutcome, NamedSnapshot};
use super::session::{self, OfRun};
use super::undone::{self, Undone};
use super::{call, doubt, find_run, not_recorded, text, unknown_run};
use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::state::State;
use crate::table::table;
use crate::time::rfc3339;
use crate::{call_name, output, owner};

/// Tasks of which it is shown what a retry would be warned of.
pub(crate) const RETRIES_SHOWN_MAX: usize = 10;
/// Calls of one task that a retry would be warned of and that are shown.
const RETRY_CALLS_SHOWN_MAX: u32 = haft::limits::WARNED_CALLS_MAX;

/// Show a run and its calls in their order
///
/// Begins with the run itself, with what a retry of a task would be warned of, with what was undone, and with the calls in doubt
/// and what to type about them. Of a single call all that was recorded is shown: input, answer, what the tool printed,
/// snapshots and keys.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft runs show nightly
  haft runs show last
  haft runs show nightly/main/0/1/3
  haft runs show nightly main/0/1/3 --json")]
pub(super) struct ShowArgs {
    /// The run, as haft runs list shows it, or last for the one that was used last in this workspace, or a call:
    /// run/node/iteration/attempt/seq
    #[arg(value_name = "RUN|CALL")]
    run: String,
    /// The call inside the run: node/iteration/attempt/seq
    call: Option<String>,
    /// Most calls to show: the latest ones
    #[arg(long, default_value_t = QUERY_CALLS_MAX, value_parser = clap::value_parser!(u32).range(1..=i64::from(QUERY_CALLS_MAX)))]
    limit: u32,
}

/// All that is known of a run and may be shown.
struct Found {
    run: RunRow,
    session: Option<OfRun>,
    doubts: Vec<CallRow>,
    retries: Vec<Retry>,
    calls: Vec<CallRow>,
    late_outcomes: Vec<LateOutcome>,
    snapshots: Vec<SnapshotNote>,
    undone: Vec<Undone>,
}

/// What a program is told of a run.
#[derive(Serialize)]
struct Told<'a> {
    run: &'a RunRow,
    /// The session of an agent that the run is.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a ChatSession>,
    /// Whether the process that holds the run is known to be gone; `None` if nobody holds it.
    holder_is_gone: Option<bool>,
    /// Calls that wait for somebody to say what became of them.
    in_doubt: Vec<String>,
    /// What the next attempt of each task would be warned of.
    retries: &'a [Retry],
    calls: Vec<NamedCall<'a>>,
    late_outcomes: Vec<NamedOutcome<'a>>,
    snapshots: Vec<NamedSnapshot<'a>>,
    undone: &'a [Undone],
}

/// What the next attempt of a task would be warned of.
#[derive(Serialize)]
struct Retry {
    node: String,
    iteration: u32,
    attempt: u32,
    total: u64,
    first: Vec<NamedEffect>,
}

pub(super) async fn run(
    args: &ShowArgs,
    journal: Option<&dyn Journal>,
    settings: &SettingArgs,
    state: &State,
) -> Result<Status, CommandError> {
    let call = args.call.as_ref().map(|call| format!("{}/{call}", args.run));
    if let Some(call) = call.as_deref().or(Some(args.run.as_str()).filter(|it| it.contains('/'))) {
        let mut id = call_name::parse(call)?;
        let name = id.scope.run.as_str();
        let journal = journal.ok_or_else(|| not_recorded(name))?;
        id.scope.run = find_run(name, journal, settings, state).await?;
        return call::show(&id, journal, settings).await;
    }
    RunId::parse(&args.run).map_err(CommandError::usage)?;
    let journal = journal.ok_or_else(|| not_recorded(&args.run))?;
    let id = find_run(&args.run, journal, settings, state).await?;
    let query = RunQuery { run: Some(id.clone()), ..RunQuery::default() };
    let run = journal.runs(query).await?.into_iter().next();
    let run = run.ok_or_else(|| unknown_run(&args.run))?;
    let calls = latest(journal, &run, args.limit).await?;
    let session = session::find(journal, &id).await?;
    // A session is gone on with in its only attempt.
    let retries = match session {
        Some(_) => Vec::new(),
        None => retries(journal, &calls).await?,
    };
    let found = Found {
        doubts: doubt::find(journal, &run).await?,
        retries,
        late_outcomes: journal.late_outcomes(&id).await?,
        snapshots: journal.snapshots(&id, None).await?,
        undone: undone::find(journal, &run, session.as_ref()).await?,
        session,
        run,
        calls,
    };
    if settings.json {
        output::json(&told(&found)?)?;
    } else {
        let going_on = session::going_on(&found.run, found.session.as_ref(), settings);
        let doubts = doubt::text(&found.doubts, going_on, settings);
        let parts = [head(&found, settings), doubts, body(&found)];
        output::data(&parts.concat())?;
    }
    let count = u64::try_from(found.calls.len()).unwrap_or(u64::MAX);
    let left_out = found.run.calls.saturating_sub(count);
    if left_out > 0 {
        output::note(format_args!(
            "{left_out} calls that were recorded before these are not shown"
        ));
    }
    Ok(Status::Done)
}

/// Returns the calls of a run that were recorded or settled last, in the order of their places.
async fn latest(
    journal: &dyn Journal,
    run: &RunRow,
    limit: u32,
) -> Result<Vec<CallRow>, JournalError> {
    let of_run = CallQuery { limit, ..CallQuery::of_run(run.id.clone()) };
    if run.calls <= u64::from(limit) {
        return journal.calls(of_run).await;
    }
    let mut calls = journal.calls(CallQuery { order: CallOrder::Latest, ..of_run }).await?;
    calls.sort_by(|one, other| place_of(one).cmp(&place_of(other)));
    Ok(calls)
}

fn place_of(call: &CallRow) -> (&str, u32, u32, u32) {
    let Scope { run: _, node, iteration, attempt } = &call.scope;
    (node, *iteration, *attempt, call.seq)
}

fn told(found: &Found) -> Result<Told<'_>, CommandError> {
    let Found { run, session, doubts, retries, calls, late_outcomes, snapshots, undone } = found;
    Ok(Told {
        run,
        session: session.as_ref().map(|of_run| &of_run.session),
        holder_is_gone: run.holder.as_ref().map(|holder| owner::is_gone(&holder.owner)),
        in_doubt: doubts.iter().map(|call| call.id().to_string()).collect(),
        retries,
        calls: calls.iter().map(NamedCall::from).collect(),
        late_outcomes: late_outcomes
            .iter()
            .map(NamedOutcome::try_from)
            .collect::<Result<_, _>>()?,
        snapshots: snapshots.iter().map(NamedSnapshot::from).collect(),
        undone,
    })
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
            let total = earlier.total;
            let first =
                earlier.first.into_iter().map(|call| NamedEffect::of(scope, call)).collect();
            retries.push(Retry { node, iteration, attempt, total, first });
        }
        if retries.len() == RETRIES_SHOWN_MAX {
            break;
        }
    }
    Ok(retries)
}

fn head(found: &Found, settings: &SettingArgs) -> String {
    let run = &found.run;
    let begun =
        format!("{} by {}, haft {}", rfc3339(run.started_at_ms), run.front_end, run.version);
    let mut lines =
        vec![("run", run.id.to_string()), ("root", output::visible(&run.root)), ("begun", begun)];
    if let Some(session) = &found.session {
        let show = session.show(settings);
        lines.push(("session", format!("what was said in it is shown by: {show}")));
    }
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
    for Retry { node, iteration, attempt, total, .. } in &found.retries {
        let calls = if *total == 1 { "call" } else { "calls" };
        let text = format!(
            "attempt {attempt} of {node}/{iteration} would be warned of {total} {calls} not safe to repeat"
        );
        lines.push(("retry", text));
    }
    lines.extend(found.undone.iter().map(|undone| ("undone", undone.text())));
    lines.into_iter().map(|(label, text)| format!("{label:<10}{text}\n")).collect()
}

fn body(found: &Found) -> String {
    let mut text = String::new();
    if !found.calls.is_empty() {
        let headings = ["CALL", "TOOL", "STATUS", "STARTED", "MS", "CODE", "INPUT"];
        let rows = found.calls.iter().map(|call| cells(call, &found.run));
        text.push_str(&format!("\n{}\n", table(&headings, rows)));
    }
    if !found.late_outcomes.is_empty() {
        let headings = ["LATE OUTCOME OF", "TOOL", "STATUS", "FINISHED", "EPOCH"];
        let rows = found.late_outcomes.iter().map(late_cells);
        text.push_str(&format!("\n{}\n", table(&headings, rows)));
    }
    text
}

fn cells(call: &CallRow, run: &RunRow) -> Vec<String> {
    vec![
        call.id().to_string(),
        output::visible(&call.tool),
        text::status_in(call, run),
        rfc3339(call.started_at_ms),
        text::duration(call),
        text::code(call),
        text::summary(&call.input),
    ]
}

fn late_cells(late: &LateOutcome) -> Vec<String> {
    vec![
        late.call.to_string(),
        output::visible(&late.tool),
        late.status.to_string(),
        rfc3339(late.finished_at_ms),
        late.epoch.to_string(),
    ]
}
