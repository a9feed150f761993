//! `haft runs show`: prints one run, its calls in doubt, and its calls.

use std::collections::{BTreeMap, HashMap};
use std::io::IsTerminal as _;

use clap::Args;
use haft_contract::{AttemptAddress, CallAddress, RunId};
use haft_journal::limits::QUERY_CALLS_MAX;
use haft_journal::{
    CallOrder, CallQuery, CallRow, Journal, LateOutcome, RunQuery, RunRow, SessionRow, SnapshotNote,
};
use serde::Serialize;

use super::addressed::{AddressedCall, AddressedEffect, AddressedLateOutcome, AddressedSnapshot};
use super::{call, find_named_call, find_named_run, in_doubt, run_session, text};
use crate::arguments::call_address::CallName;
use crate::arguments::candidates;
use crate::arguments::cli_context::CliContext;
use crate::arguments::hint;
use crate::arguments::latest::{LAST, check_run_name, no_journal_error, unknown_run_error};
use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandErrorKind, CommandResult, CommandStatus};
use crate::views::table::{table, table_dropping, terminal_width};
use crate::views::{output, pager};
use haft_app::calendar::rfc3339;
use haft_app::process_identity;
use haft_app::records::{self, NodeSession, RunSession, UndoReference, input_summary};

/// Tasks for which the warnings of a retry are shown.
pub(crate) const RETRIES_SHOWN_MAX: usize = 10;
/// Columns that a narrow terminal does not show, the first to go first.
const DROPPED: [&str; 3] = ["STARTED", "CODE", "MS"];
/// Calls of one task that such a warning shows.
const RETRY_CALLS_SHOWN_MAX: u32 = haft::limits::WARNED_CALLS_MAX;

/// Show a run and its calls in their order
///
/// Begins with the run itself, the warnings of a retry, the undone calls, and the calls in doubt with the commands that
/// settle them. For a single call, haft shows the whole record: input, answer, the tool's printed text, snapshots and keys.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft show                  The run that was used last in this workspace
  haft show last~1           The one before it
  haft show k7f              A run by its short id, as haft log shows it
  haft show last/5           The fifth call of the last run
  haft show nightly/main/0/1/3 --json
  haft show nightly --limit 500 --before nightly/9501")]
pub(crate) struct RunsShowArgs {
    /// The run, or a call of it; last unless given
    ///
    /// A run is an id, the beginning of an id that no other id shares, last, or last~1 for the one before. A call is a run and
    /// the number of the call, last/5, or its whole address, run/node/iteration/attempt/seq.
    #[arg(value_name = "RUN|CALL", add = candidates::runs())]
    run: Option<String>,
    /// The call inside the run: node/iteration/attempt/seq
    call: Option<String>,
    /// Most calls to show: the latest ones
    #[arg(long, default_value_t = QUERY_CALLS_MAX, value_parser = clap::value_parser!(u32).range(1..=i64::from(QUERY_CALLS_MAX)))]
    limit: u32,
    /// Only calls that were recorded or settled before this one
    ///
    /// If a run has more calls than --limit, the last line names the command that shows the calls before.
    #[arg(long, value_name = "CALL", conflicts_with = "call")]
    before: Option<String>,
}

/// The shown facts about a run.
struct RunDetails {
    run: RunRow,
    session: Option<RunSession>,
    /// The sessions of the agent nodes of a plan.
    node_sessions: Vec<NodeSession>,
    doubts: Vec<CallRow>,
    retries: Vec<RetryPreview>,
    calls: Vec<CallRow>,
    /// The earliest of the calls, if the run has calls before it.
    earlier: Option<CallAddress>,
    late_outcomes: Vec<LateOutcome>,
    snapshots: Vec<SnapshotNote>,
    undone: Vec<UndoReference>,
    /// The number of each call, by which commands know it.
    numbers: HashMap<CallAddress, usize>,
}

/// The JSON form of a run.
#[derive(Serialize)]
struct RunDetailsReport<'a> {
    run: &'a RunRow,
    /// The session of an agent that the run is.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a SessionRow>,
    /// The sessions of the agent nodes of a plan.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    node_sessions: &'a [NodeSession],
    /// Whether the process that holds the run is known to be dead; `None` without a holder.
    holder_is_gone: Option<bool>,
    /// Calls that a person has to settle.
    in_doubt: Vec<String>,
    /// The warnings that the next attempt of each task would get.
    retries: &'a [RetryPreview],
    calls: Vec<AddressedCall<'a>>,
    /// The call to give to --before, if the run has calls before these.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<String>,
    late_outcomes: Vec<AddressedLateOutcome<'a>>,
    snapshots: Vec<AddressedSnapshot<'a>>,
    undone: &'a [UndoReference],
}

/// The warning that the next attempt of a task would get.
#[derive(Serialize)]
struct RetryPreview {
    node: String,
    iteration: u32,
    attempt: u32,
    total: u64,
    first: Vec<AddressedEffect>,
}

pub(super) async fn run(
    args: &RunsShowArgs,
    journal: Option<&dyn Journal>,
    cx: &CliContext,
) -> CommandResult {
    let settings = &cx.setting_args;
    let named = args.run.as_deref().unwrap_or(LAST);
    let call = args.call.as_ref().map(|call| format!("{named}/{call}"));
    if let Some(call) = call.as_deref().or(Some(named).filter(|it| it.contains('/'))) {
        let name = CallName::parse(call)?;
        let journal = journal.ok_or_else(|| no_journal_error(&name.run))?;
        let id = find_named_call(&name, journal, cx).await?;
        return call::show(&id, journal, settings).await;
    }
    check_run_name(named)?;
    let journal = journal.ok_or_else(|| no_journal_error(named))?;
    let id = find_named_run(named, journal, cx).await?;
    let run = journal.runs(RunQuery::of_run(id.clone())).await?.into_iter().next();
    let run = run.ok_or_else(|| unknown_run_error(named))?;
    let (calls, earlier) = page_of_calls(args, &run.id, journal, cx).await?;
    let session = records::find_run_session(journal, &id).await?;
    // The latest attempt of each task. A session has only one attempt, so there is no retry.
    let mut latest: BTreeMap<(&str, u32), &AttemptAddress> = BTreeMap::new();
    for CallRow { scope, .. } in calls.iter().filter(|_| session.is_none()) {
        let known = latest.entry((&scope.node, scope.iteration)).or_insert(scope);
        if known.attempt < scope.attempt {
            *known = scope;
        }
    }
    let mut retries = Vec::new();
    for scope in latest.into_values() {
        let next = AttemptAddress { attempt: scope.attempt.saturating_add(1), ..scope.clone() };
        let earlier = journal.earlier_effects(&next, RETRY_CALLS_SHOWN_MAX).await?;
        if earlier.total > 0 {
            let AttemptAddress { node, iteration, attempt, .. } = next;
            let total = earlier.total;
            let first =
                earlier.first.into_iter().map(|call| AddressedEffect::new(scope, call)).collect();
            retries.push(RetryPreview { node, iteration, attempt, total, first });
        }
        if retries.len() == RETRIES_SHOWN_MAX {
            break;
        }
    }
    let found = RunDetails {
        numbers: records::numbers_of_calls(journal, &id).await?,
        doubts: records::find_doubts(journal, &run).await?,
        node_sessions: records::find_node_sessions(journal, &run).await?,
        retries,
        late_outcomes: journal.late_outcomes(&id).await?,
        snapshots: journal.snapshots(&id, None).await?,
        undone: records::find_undo_references(journal, &run, session.as_ref()).await?,
        session,
        run,
        calls,
        earlier,
    };
    if settings.json {
        let RunDetails {
            run,
            session,
            node_sessions,
            doubts,
            retries,
            calls,
            late_outcomes,
            snapshots,
            undone,
            ..
        } = &found;
        let late = late_outcomes.iter().map(AddressedLateOutcome::try_from);
        output::write_json(&RunDetailsReport {
            run,
            session: session.as_ref().map(|of_run| &of_run.session),
            node_sessions,
            holder_is_gone: run
                .holder
                .as_ref()
                .map(|holder| process_identity::is_gone(&holder.owner)),
            in_doubt: doubts.iter().map(|call| call.id().to_string()).collect(),
            retries,
            calls: calls.iter().map(AddressedCall::from).collect(),
            earlier: found.earlier.as_ref().map(CallAddress::to_string),
            late_outcomes: late.collect::<Result<_, _>>()?,
            snapshots: snapshots.iter().map(AddressedSnapshot::from).collect(),
            undone,
        })?;
    } else {
        pager::write_paged(&shown_text(&run_text(&found, settings)))?;
    }
    let count = u64::try_from(found.calls.len()).unwrap_or(u64::MAX);
    let left_out = found.run.calls.saturating_sub(count);
    if left_out > 0 {
        output::print_note(format_args!(
            "{left_out} calls that were recorded before these are not shown"
        ));
    }
    Ok(CommandStatus::Done)
}

/// Returns the latest calls of a run before the one that the user named, in the order of their addresses. Returns the
/// earliest of them too if the run has calls before it.
async fn page_of_calls(
    args: &RunsShowArgs,
    run: &RunId,
    journal: &dyn Journal,
    cx: &CliContext,
) -> Result<(Vec<CallRow>, Option<CallAddress>), CommandError> {
    let latest =
        CallQuery { limit: args.limit, order: CallOrder::Latest, ..CallQuery::of_run(run.clone()) };
    let before_change = match &args.before {
        None => None,
        Some(before) => {
            let id = find_named_call(&CallName::parse(before)?, journal, cx).await?;
            let call = match id.scope.run == *run {
                true => journal.calls(CallQuery::of_call(id.clone())).await?.pop(),
                false => None,
            };
            let unknown = || {
                CommandError::usage(format!("run {run} has no call {id}"))
                    .kind(CommandErrorKind::UnknownCall)
                    .hint(format!("haft runs show {run}"))
            };
            Some(call.ok_or_else(unknown)?.change)
        }
    };
    let mut calls = journal.calls(CallQuery { before_change, ..latest.clone() }).await?;
    let earlier = match calls.last() {
        None => None,
        Some(last) => {
            let before_change = Some(last.change);
            let more = journal.calls(CallQuery { before_change, limit: 1, ..latest }).await?;
            more.first().map(|_| last.id())
        }
    };
    calls.sort_by(|one, other| place_of(one).cmp(&place_of(other)));
    Ok((calls, earlier))
}

fn place_of(call: &CallRow) -> (&str, u32, u32, u32) {
    let AttemptAddress { run: _, node, iteration, attempt } = &call.scope;
    (node, *iteration, *attempt, call.seq)
}

/// Returns a text for standard output. A terminal gets none of the characters that would control it.
fn shown_text(text: &str) -> String {
    match std::io::stdout().is_terminal() {
        true => haft_contract::escape_controls(text),
        false => text.to_owned(),
    }
}

fn run_text(found: &RunDetails, settings: &SettingArgs) -> String {
    let run = &found.run;
    let begun =
        format!("{} by {}, haft {}", rfc3339(run.started_at_ms), run.front_end, run.version);
    let mut lines = vec![
        ("run", run.id.to_string()),
        ("root", haft_contract::escape_controls(&run.root)),
        ("begun", begun),
    ];
    if let Some(session) = &found.session {
        let show = run_session::show_command(session, settings);
        lines.push(("session", format!("what was said in it is shown by: {show}")));
    }
    for NodeSession { node, iteration, attempt, session, agent, status } in &found.node_sessions {
        let show = hint::with_journal_options(&format!("haft sessions show {session}"), settings);
        let agent = haft_contract::escape_controls(agent);
        let text = format!("{agent} worked on {node}/{iteration}/{attempt} ({status}): {show}");
        lines.push(("agent", text));
    }
    if let Some(holder) = &run.holder {
        let text = text::holder_text(holder);
        lines.push((
            "holder",
            format!("{text} (since {}, epoch {})", rfc3339(holder.since_ms), holder.fencing_token),
        ));
    }
    if run.settings != "{}" {
        lines.push(("settings", haft_contract::escape_controls(&run.settings)));
    }
    for RetryPreview { node, iteration, attempt, total, .. } in &found.retries {
        let calls = if *total == 1 { "call" } else { "calls" };
        let text = format!(
            "attempt {attempt} of {node}/{iteration} would be warned of {total} {calls} not safe to repeat"
        );
        lines.push(("retry", text));
    }
    lines.extend(found.undone.iter().map(|undone| ("undone", text::undone(undone))));
    let line = |(label, text): (&str, String)| format!("{label:<10}{text}\n");
    let mut text: String = lines.into_iter().map(line).collect();
    let going_on = run_session::resume_note(run, found.session.as_ref(), settings);
    text.push_str(&in_doubt::doubts_text(&found.doubts, going_on, settings));
    if !found.calls.is_empty() {
        // A pipe gets whole addresses, which are too long for most terminals.
        let is_wide = terminal_width().is_none();
        let first = if is_wide { "CALL" } else { "#" };
        let headings = [first, "TOOL", "STATUS", "STARTED", "MS", "CODE", "INPUT"];
        let rows = found.calls.iter().map(|call| {
            let number = found.numbers.get(&call.id()).copied().unwrap_or_default();
            vec![
                if is_wide { call.id().to_string() } else { number.to_string() },
                haft_contract::escape_controls(&call.tool),
                text::status_in_run(call, run),
                rfc3339(call.started_at_ms),
                text::duration(call),
                text::code(call),
                input_summary(&call.input),
            ]
        });
        text.push_str(&format!("\n{}\n", table_dropping(&headings, &DROPPED, rows)));
    }
    if let Some(earlier) = &found.earlier {
        let command = format!("haft runs show {} --before {earlier}", run.id);
        let command = hint::with_journal_options(&command, settings);
        text.push_str(&format!("\nThe run has calls before these: {command}\n"));
    }
    if !found.late_outcomes.is_empty() {
        let headings = ["LATE OUTCOME OF", "TOOL", "STATUS", "FINISHED", "EPOCH"];
        let rows = found.late_outcomes.iter().map(|late| {
            vec![
                late.call.to_string(),
                haft_contract::escape_controls(&late.tool),
                late.status.to_string(),
                rfc3339(late.finished_at_ms),
                late.fencing_token.to_string(),
            ]
        });
        text.push_str(&format!("\n{}\n", table(&headings, rows)));
    }
    text
}
