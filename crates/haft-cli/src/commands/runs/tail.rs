//! `haft runs tail`: calls as they are recorded.

mod view;

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use haft::{CallSelection, SnapshotHistory};
use haft_contract::RunId;
use haft_journal::{CallOrder, CallQuery, CallRow, Journal, RunQuery};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio_util::sync::CancellationToken;

use self::view::TailView;
use super::addressed::AddressedCall;
use super::{find_named_run, text};
use crate::arguments::candidates;
use crate::arguments::cli_context::CliContext;
use crate::arguments::latest::{self, check_run_name, no_journal_error, unknown_run_error};
use crate::commands::undo::snapshot_history;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::signals;
use crate::views::output;
use haft_app::calendar::rfc3339;
use haft_app::{JournalLocation, compose};

/// Calls that a tail begins with.
pub(crate) const TAIL_CALLS: u32 = 10;
/// Time between two looks for new calls, in milliseconds.
pub(crate) const TAIL_POLL_MS: u64 = 200;

/// Follow calls as they are recorded
///
/// Shows the calls of this workspace, or with --all those of all workspaces. A call with an effect appears twice: when it is
/// about to execute, and when its outcome is known; once more when you settle it. Begins with the latest calls, and ends after
/// an interrupt or when the reader closes the pipe. A session of an agent is followed with the sessions of its subagents. A
/// terminal shows short ids, changed files, refusals and durations in colours.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft runs tail
  haft runs tail last
  haft runs tail --all
  haft runs tail --json | jq .tool")]
pub(super) struct RunsTailArgs {
    /// Only the calls of this run and of its subagents; last is the one that was used last in this workspace
    #[arg(add = candidates::runs())]
    run: Option<String>,
    /// Calls of all workspaces
    #[arg(long, conflicts_with = "run")]
    all: bool,
}

pub(super) async fn run(
    args: &RunsTailArgs,
    place: &JournalLocation,
    cx: &CliContext,
) -> CommandResult {
    args.run.as_deref().map(check_run_name).transpose()?;
    let stop = signals::stop_token()?;
    let journal = match place.open_to_read().await? {
        Some(journal) => journal,
        None => {
            if let Some(run) = &args.run {
                return Err(no_journal_error(run));
            }
            output::print_note(format_args!(
                "no runs were recorded yet in the journal {place}; waiting for the first one"
            ));
            loop {
                if !wait_for_next_poll(&stop).await {
                    return Ok(CommandStatus::Done);
                }
                if let Some(journal) = place.open_to_read().await? {
                    break journal;
                }
            }
        }
    };
    let settings = cx.resolve_settings();
    let history = match &settings {
        Ok(settings) => snapshot_history(&journal, settings, &cx.host),
        // The manifest has an error, which does not keep calls from being shown.
        Err(_) => compose::snapshots::history(&journal, place, None, &cx.host),
    };
    let mut followed = match (&args.run, &settings) {
        (Some(name), _) => {
            FollowedCalls::OfRun(FollowedRuns::find(name, &journal, &history, cx).await?)
        }
        (None, Ok(settings)) if !args.all => FollowedCalls::OfWorkspace(WorkspaceRuns {
            root: latest::workspace(settings)?,
            known: HashMap::new(),
        }),
        (None, _) => FollowedCalls::All,
    };
    let mut view = TailView::new(Arc::clone(&journal), history.clone());
    let newest = CallQuery { limit: 1, order: CallOrder::Latest, ..CallQuery::default() };
    let mut last_change = journal.calls(newest).await?.first().map_or(0, |call| call.change);
    let mut calls = latest_calls(&*journal, &followed).await?;
    // Calls that are recorded meanwhile come below.
    calls.retain(|call| call.change <= last_change);
    loop {
        for call in &calls {
            print_call(call, &mut view, cx).await?;
        }
        // A full answer may be followed by more at once.
        if calls.is_empty() && !wait_for_next_poll(&stop).await {
            return Ok(CommandStatus::Done);
        }
        let after = CallQuery {
            after_change: Some(last_change),
            order: CallOrder::Change,
            ..CallQuery::default()
        };
        calls = journal.calls(after).await?;
        last_change = calls.last().map_or(last_change, |call| call.change);
        followed.retain(&mut calls, &*journal, &history).await?;
    }
}

/// The calls that are shown.
enum FollowedCalls {
    All,
    OfWorkspace(WorkspaceRuns),
    OfRun(FollowedRuns),
}

impl FollowedCalls {
    /// Leaves the calls that are shown.
    async fn retain(
        &mut self,
        calls: &mut Vec<CallRow>,
        journal: &dyn Journal,
        history: &SnapshotHistory,
    ) -> Result<(), CommandError> {
        match self {
            Self::All => Ok(()),
            Self::OfWorkspace(runs) => runs.retain(calls, journal).await,
            Self::OfRun(followed) => followed.retain(calls, history).await,
        }
    }
}

/// The runs of a workspace.
struct WorkspaceRuns {
    root: String,
    /// The runs met so far, and whether each is one of them.
    known: HashMap<RunId, bool>,
}

impl WorkspaceRuns {
    /// Leaves the calls of these runs.
    async fn retain(
        &mut self,
        calls: &mut Vec<CallRow>,
        journal: &dyn Journal,
    ) -> Result<(), CommandError> {
        for call in &*calls {
            let run = &call.scope.run;
            if self.known.contains_key(run) {
                continue;
            }
            let query = RunQuery { without_counts: true, ..RunQuery::of_run(run.clone()) };
            let found = journal.runs(query).await?;
            let is_here = found.first().is_some_and(|row| row.root == self.root);
            self.known.insert(run.clone(), is_here);
        }
        calls.retain(|call| self.known.get(&call.scope.run) == Some(&true));
        Ok(())
    }

    /// Returns the runs that were used last, as many as a tail begins with calls.
    async fn used_last(&self, journal: &dyn Journal) -> Result<Vec<RunId>, CommandError> {
        let mut runs = Vec::new();
        let mut query = RunQuery::default();
        // A run that was begun before all others may have been used after them, so this reads all of them.
        loop {
            let page = journal.runs(query.clone()).await?;
            let Some(oldest) = page.last() else { break };
            query.before = Some(oldest.id.clone());
            let here = page.into_iter().filter(|run| run.root == self.root);
            runs.extend(here.map(|run| (Reverse(run.last_call_at_ms), run.id)));
        }
        runs.sort();
        runs.truncate(usize::try_from(TAIL_CALLS).unwrap_or(usize::MAX));
        Ok(runs.into_iter().map(|(_, run)| run).collect())
    }
}

/// A run that is followed, and those of its subagents.
struct FollowedRuns {
    run: RunId,
    all: HashSet<RunId>,
}

impl FollowedRuns {
    async fn find(
        name: &str,
        journal: &Arc<dyn Journal>,
        history: &SnapshotHistory,
        cx: &CliContext,
    ) -> Result<Self, CommandError> {
        let run = find_named_run(name, &**journal, cx).await?;
        if journal.runs(RunQuery::of_run(run.clone())).await?.is_empty() {
            return Err(unknown_run_error(run.as_str()));
        }
        let mut followed = Self { run, all: HashSet::new() };
        followed.update(history).await?;
        Ok(followed)
    }

    /// Looks for subagents that began since.
    async fn update(&mut self, history: &SnapshotHistory) -> Result<(), CommandError> {
        let found = history.runs(&CallSelection::Run(self.run.clone())).await;
        self.all.extend(found.map_err(CommandError::failed)?);
        Ok(())
    }

    /// Leaves the calls of these runs.
    async fn retain(
        &mut self,
        calls: &mut Vec<CallRow>,
        history: &SnapshotHistory,
    ) -> Result<(), CommandError> {
        if calls.iter().any(|call| !self.all.contains(&call.scope.run)) {
            self.update(history).await?;
        }
        calls.retain(|call| self.all.contains(&call.scope.run));
        Ok(())
    }
}

/// Returns the calls that a tail begins with, the earliest first.
async fn latest_calls(
    journal: &dyn Journal,
    followed: &FollowedCalls,
) -> Result<Vec<CallRow>, CommandError> {
    let latest = CallQuery { limit: TAIL_CALLS, order: CallOrder::Latest, ..CallQuery::default() };
    let runs: Vec<Option<RunId>> = match followed {
        FollowedCalls::All => vec![None],
        FollowedCalls::OfWorkspace(runs) => {
            runs.used_last(journal).await?.into_iter().map(Some).collect()
        }
        FollowedCalls::OfRun(followed) => followed.all.iter().cloned().map(Some).collect(),
    };
    let mut calls = Vec::new();
    for run in runs {
        calls.extend(journal.calls(CallQuery { run, ..latest.clone() }).await?);
    }
    calls.sort_by_key(|call| Reverse(call.change));
    calls.truncate(usize::try_from(TAIL_CALLS).unwrap_or(usize::MAX));
    calls.reverse();
    Ok(calls)
}

async fn print_call(
    call: &CallRow,
    view: &mut TailView,
    cx: &CliContext,
) -> Result<(), CommandError> {
    if cx.setting_args.json {
        return output::write_json(&AddressedCall::from(call));
    }
    if io::stdout().is_terminal() {
        return output::write_coloured_data(&view.line(call).await?);
    }
    let fields = [
        rfc3339(call.finished_at_ms.unwrap_or(call.started_at_ms)),
        call.id().to_string(),
        haft_contract::escape_controls(&call.tool),
        text::status(call),
        format!("{}ms", text::duration(call)),
        text::code(call),
        haft_app::records::input_summary(&call.input),
    ];
    output::write_data(&fields.join("  "))
}

/// Waits for a moment, and returns whether to poll again.
async fn wait_for_next_poll(stop: &CancellationToken) -> bool {
    tokio::select! {
        () = stop.cancelled() => false,
        () = tokio::time::sleep(Duration::from_millis(TAIL_POLL_MS)) => {
            // Without new calls, only this shows that the reader has closed the pipe.
            let stdout = io::stdout();
            let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
            let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
            let polled = poll(&mut fds, Some(&at_once));
            let is_closed = fds.iter().any(|fd| fd.revents().contains(PollFlags::ERR));
            !(polled.is_ok() && is_closed)
        }
    }
}
