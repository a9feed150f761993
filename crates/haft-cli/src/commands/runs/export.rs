//! `haft runs export`: writes the records as lines of JSON, for other programs to keep. It reads the journal page by page, so
//! a long journal needs no more memory than a short one.

use std::collections::HashSet;

use clap::Args;
use haft::{Clock as _, SystemClock};
use haft_contract::RunId;
use haft_journal::{CallOrder, CallQuery, CallRow, Journal, RunQuery, RunRow};
use serde::Serialize;

use super::addressed::{AddressedCall, AddressedLateOutcome, AddressedSnapshot};
use super::find_named_run;
use crate::arguments::candidates;
use crate::arguments::cli_context::CliContext;
use crate::arguments::latest::{check_run_name, no_journal_error, unknown_run_error};
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::views::output;
use crate::views::time;

/// Write runs and calls as lines of JSON
///
/// Each line is an object whose "record" says what it is: "run", "late_outcome", "snapshot" or "call", with the fields
/// that haft runs show --json has; "call" is the call's name, as all commands take it. The runs come first, the newest first,
/// each followed by its late outcomes and its snapshots; then the calls of all of them, in the order in which they were
/// recorded or settled last. A call that changes meanwhile comes once more: its last line holds.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft runs export > journal.jsonl
  haft runs export nightly --since 7d
  haft runs export --since 2026-01-31T00:00:00Z | jq -c 'select(.status == \"unknown\")'")]
pub(super) struct RunsExportArgs {
    /// Only these runs, by id or short id; last is the one that was used last in this workspace
    #[arg(value_name = "RUN", add = candidates::runs())]
    runs: Vec<String>,
    /// Only runs that began or had a call since then: an age such as 12h or 30d, or a moment in UTC
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
}

#[derive(Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum RunsExportLine<'a> {
    Run(&'a RunRow),
    LateOutcome(AddressedLateOutcome<'a>),
    Snapshot(AddressedSnapshot<'a>),
    Call(AddressedCall<'a>),
}

pub(super) async fn run(
    args: &RunsExportArgs,
    journal: Option<&dyn Journal>,
    cx: &CliContext,
) -> CommandResult {
    let now_ms = SystemClock.now_ms();
    let since_ms = args.since.as_deref().map(|text| time::parse_since(text, now_ms)).transpose()?;
    args.runs.iter().try_for_each(|run| check_run_name(run))?;
    let Some(journal) = journal else {
        return args.runs.first().map_or(Ok(CommandStatus::Done), |run| Err(no_journal_error(run)));
    };
    let mut names = Vec::with_capacity(args.runs.len());
    for run in &args.runs {
        names.push(find_named_run(run, journal, cx).await?);
    }
    // If all calls are written, haft keeps no list of the runs.
    let mut chosen = (!names.is_empty() || since_ms.is_some()).then(HashSet::new);
    for name in &names {
        let query = RunQuery { run: Some(name.clone()), ..RunQuery::default() };
        let runs = journal.runs(query).await?;
        let run = runs.first().ok_or_else(|| unknown_run_error(name.as_str()))?;
        let is_new = chosen.as_ref().is_some_and(|chosen| !chosen.contains(name));
        if is_since(run, since_ms) && is_new {
            write_run(journal, run).await?;
            chosen.get_or_insert_default().insert(name.clone());
        }
    }
    let mut query = RunQuery::default();
    while names.is_empty() {
        let runs = journal.runs(query.clone()).await?;
        let Some(last) = runs.last() else { break };
        query.before = Some(last.id.clone());
        for run in runs.iter().filter(|run| is_since(run, since_ms)) {
            write_run(journal, run).await?;
            chosen.as_mut().map(|chosen| chosen.insert(run.id.clone()));
        }
    }
    // The calls come in one pass over the journal. A pass for each run would read the whole journal each time.
    let mut query = CallQuery { order: CallOrder::Change, ..CallQuery::default() };
    if let Some(runs) = &chosen {
        if runs.is_empty() {
            return Ok(CommandStatus::Done);
        }
        query.run = runs.iter().next().filter(|_| runs.len() == 1).cloned();
    }
    loop {
        let calls = journal.calls(query.clone()).await?;
        let Some(last) = calls.last() else { return Ok(CommandStatus::Done) };
        query.after_change = Some(last.change);
        let is_chosen = |call: &&CallRow| {
            chosen.as_ref().is_none_or(|runs: &HashSet<RunId>| runs.contains(&call.scope.run))
        };
        for call in calls.iter().filter(is_chosen) {
            output::write_json(&RunsExportLine::Call(call.into()))?;
        }
    }
}

fn is_since(run: &RunRow, since_ms: Option<u64>) -> bool {
    let latest_ms = run.last_call_at_ms.unwrap_or_default().max(run.started_at_ms);
    since_ms.is_none_or(|since_ms| latest_ms >= since_ms)
}

async fn write_run(journal: &dyn Journal, run: &RunRow) -> Result<(), CommandError> {
    output::write_json(&RunsExportLine::Run(run))?;
    for late in journal.late_outcomes(&run.id).await? {
        output::write_json(&RunsExportLine::LateOutcome((&late).try_into()?))?;
    }
    for snapshot in journal.snapshots(&run.id, None).await? {
        output::write_json(&RunsExportLine::Snapshot((&snapshot).into()))?;
    }
    Ok(())
}
