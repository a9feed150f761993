//! `haft runs tail`: calls as they are recorded.

use std::io;
use std::time::Duration;

use clap::Args;
use haft_contract::RunId;
use haft_journal::{CallOrder, CallQuery, RunQuery};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio_util::sync::CancellationToken;

use super::addressed::AddressedCall;
use super::{find_named_run, no_journal_error, text};
use crate::arguments::cli_context::CliContext;
use crate::arguments::latest::unknown_run_error;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::signals;
use crate::views::output;
use haft_app::JournalLocation;
use haft_app::calendar::rfc3339;

/// Calls that a tail begins with.
pub(crate) const TAIL_CALLS: u32 = 10;
/// Time between two looks for new calls, in milliseconds.
pub(crate) const TAIL_POLL_MS: u64 = 200;

/// Follow calls as they are recorded
///
/// A call with an effect appears twice: when it is about to execute, and when its outcome is known; once more when you settle
/// it. Begins with the latest calls, and ends after an interrupt or when the reader closes the pipe.
#[derive(Args)]
pub(super) struct RunsTailArgs {
    /// Only the calls of this run; last is the one that was used last in this workspace
    run: Option<String>,
}

pub(super) async fn run(
    args: &RunsTailArgs,
    place: &JournalLocation,
    cx: &CliContext,
) -> CommandResult {
    args.run.as_deref().map(RunId::parse).transpose().map_err(CommandError::usage)?;
    let stop = signals::stop_token()?;
    let journal = match place.open_to_read().await? {
        Some(journal) => journal,
        None => {
            if let Some(run) = &args.run {
                return Err(no_journal_error(run));
            }
            output::print_note("no runs were recorded yet; waiting for the first one");
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
    let run = match &args.run {
        None => None,
        Some(name) => Some(find_named_run(name, &*journal, cx).await?),
    };
    if let Some(run) = &run {
        let query = RunQuery { run: Some(run.clone()), ..RunQuery::default() };
        if journal.runs(query).await?.is_empty() {
            return Err(unknown_run_error(run.as_str()));
        }
    }
    let latest = CallQuery {
        run: run.clone(),
        limit: TAIL_CALLS,
        order: CallOrder::Latest,
        ..CallQuery::default()
    };
    let mut calls = journal.calls(latest).await?;
    calls.reverse();
    let mut last_change = 0;
    loop {
        for call in &calls {
            last_change = call.change;
            if cx.setting_args.json {
                output::write_json(&AddressedCall::from(call))?
            } else {
                let fields = [
                    rfc3339(call.finished_at_ms.unwrap_or(call.started_at_ms)),
                    call.id().to_string(),
                    haft_contract::escape_controls(&call.tool),
                    text::status(call),
                    format!("{}ms", text::duration(call)),
                    text::code(call),
                    haft_app::records::input_summary(&call.input),
                ];
                output::write_data(&fields.join("  "))?
            }
        }
        // A full answer may be followed by more at once.
        if calls.is_empty() && !wait_for_next_poll(&stop).await {
            return Ok(CommandStatus::Done);
        }
        let after = CallQuery {
            run: run.clone(),
            after_change: Some(last_change),
            order: CallOrder::Change,
            ..CallQuery::default()
        };
        calls = journal.calls(after).await?;
    }
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
