//! `haft runs tail`: calls as they are recorded.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use haft_contract::RunId;
use haft_journal::{CallOrder, CallQuery, CallRow, Journal, RunQuery};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio_util::sync::CancellationToken;

use super::named::NamedCall;
use super::{Recorded, find_run, not_recorded, text, unknown_run};
use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::time::rfc3339;
use crate::{output, signals};

/// Calls that a tail begins with.
pub(crate) const TAIL_CALLS: u32 = 10;
/// Time between two looks for new calls, in milliseconds.
pub(crate) const TAIL_POLL_MS: u64 = 200;

/// Follow calls as they are recorded
///
/// A call with an effect appears twice: when it is about to execute, and when its outcome is known; once more when
/// somebody settles it. Begins with the latest ones and goes on until it is interrupted or nobody reads any more.
#[derive(Args)]
pub(super) struct TailArgs {
    /// Only the calls of this run; last is the one that was used last in this workspace
    run: Option<String>,
}

pub(super) async fn run(
    args: &TailArgs,
    place: &Recorded<'_>,
    settings: &SettingArgs,
) -> Result<Status, CommandError> {
    args.run.as_deref().map(RunId::parse).transpose().map_err(CommandError::usage)?;
    let stop = signals::stop_token()?;
    let journal = match place.open().await? {
        Some(journal) => journal,
        None => {
            if let Some(run) = &args.run {
                return Err(not_recorded(run));
            }
            output::note("no runs were recorded yet; waiting for the first one");
            match first_journal(place, &stop).await? {
                Some(journal) => journal,
                None => return Ok(Status::Done),
            }
        }
    };
    let Some(name) = &args.run else { return follow(&*journal, None, &stop, settings.json).await };
    let run = find_run(name, &*journal, settings, place.state).await?;
    let query = RunQuery { run: Some(run.clone()), ..RunQuery::default() };
    if journal.runs(query).await?.is_empty() {
        return Err(unknown_run(run.as_str()));
    }
    follow(&*journal, Some(run), &stop, settings.json).await
}

/// Waits for somebody to make the journal; `None` if that is given up.
async fn first_journal(
    place: &Recorded<'_>,
    stop: &CancellationToken,
) -> Result<Option<Arc<dyn Journal>>, CommandError> {
    while is_wanted(stop).await {
        if let Some(journal) = place.open().await? {
            return Ok(Some(journal));
        }
    }
    Ok(None)
}

/// Waits for a moment; returns whether anybody wants more then.
async fn is_wanted(stop: &CancellationToken) -> bool {
    tokio::select! {
        () = stop.cancelled() => false,
        () = tokio::time::sleep(Duration::from_millis(TAIL_POLL_MS)) => !nobody_reads(),
    }
}

async fn follow(
    journal: &dyn Journal,
    run: Option<RunId>,
    stop: &CancellationToken,
    json: bool,
) -> Result<Status, CommandError> {
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
            if json { output::json(&NamedCall::from(call))? } else { output::data(&line(call))? }
        }
        // A full answer may be followed by more at once.
        if calls.is_empty() && !is_wanted(stop).await {
            return Ok(Status::Done);
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

/// Returns whether whoever read standard output is gone, which else only the next line would tell.
fn nobody_reads() -> bool {
    let stdout = io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let polled = poll(&mut fds, Some(&at_once));
    polled.is_ok() && fds.iter().any(|fd| fd.revents().contains(PollFlags::ERR))
}

fn line(call: &CallRow) -> String {
    let fields = [
        rfc3339(call.finished_at_ms.unwrap_or(call.started_at_ms)),
        call.id().to_string(),
        output::visible(&call.tool),
        text::status(call),
        format!("{}ms", text::duration(call)),
        text::code(call),
        text::summary(&call.input),
    ];
    fields.join("  ")
}
