//! `haft runs tail`: calls as they are recorded.

mod view;

use std::cmp::Reverse;
use std::collections::HashSet;
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
use crate::arguments::latest::{check_run_name, no_journal_error, unknown_run_error};
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
/// A call with an effect appears twice: when it is about to execute, and when its outcome is known; once more when you settle
/// it. Begins with the latest calls, and ends after an interrupt or when the reader closes the pipe. A session of an agent is
/// followed with the sessions of its subagents. A terminal shows short ids, changed files, refusals and durations in colours.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft runs tail
  haft runs tail last
  haft runs tail --json | jq .tool")]
pub(super) struct RunsTailArgs {
    /// Only the calls of this run and of its subagents; last is the one that was used last in this workspace
    #[arg(add = candidates::runs())]
    run: Option<String>,
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
    let mut followed = match &args.run {
        None => None,
        Some(name) => Some(FollowedRuns::find(name, &journal, &history, cx).await?),
    };
    let mut view = TailView::new(Arc::clone(&journal), history.clone());
    let mut calls = latest_calls(&*journal, followed.as_ref()).await?;
    let mut last_change = calls.last().map_or(0, |call| call.change);
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
        if let Some(followed) = &mut followed {
            followed.retain(&mut calls, &history).await?;
        }
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
    followed: Option<&FollowedRuns>,
) -> Result<Vec<CallRow>, CommandError> {
    let latest = CallQuery { limit: TAIL_CALLS, order: CallOrder::Latest, ..CallQuery::default() };
    let mut calls = Vec::new();
    match followed {
        None => calls = journal.calls(latest).await?,
        Some(followed) => {
            for run in &followed.all {
                let of_run = CallQuery { run: Some(run.clone()), ..latest.clone() };
                calls.extend(journal.calls(of_run).await?);
            }
        }
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
