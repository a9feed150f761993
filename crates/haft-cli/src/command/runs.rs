//! `haft runs`: what the journal holds. Only reads; where no journal is yet, none is made.

use std::io;
use std::time::Duration;

use clap::{Args, Subcommand};
use haft_contract::RunId;
use haft_journal::limits::{QUERY_CALLS_MAX, QUERY_RUNS_MAX};
use haft_journal::{CallOrder, CallQuery, CallRow, Journal, RunQuery, RunRow, SqliteJournal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::state::State;
use crate::table::table;
use crate::time::rfc3339;
use crate::{compose, output, signals};

/// Calls that a tail begins with.
pub(crate) const TAIL_CALLS: u32 = 10;
/// Time between two looks for new calls, in milliseconds.
pub(crate) const TAIL_POLL_MS: u64 = 200;
/// Characters of an input that a line shows.
pub(crate) const INPUT_CHARS_MAX: usize = 60;

/// Show what was recorded
///
/// A run is one piece of work: the calls of one MCP connection, or one haft call. Times are UTC.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft runs list
  haft runs show run_01jd3k8x5m9q2w7y4t6r8v0c3z
  haft runs tail --json | jq .tool")]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    command: RunsCommand,
}

#[derive(Subcommand)]
enum RunsCommand {
    /// List the latest runs, the newest first
    List {
        /// Most runs to list
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=i64::from(QUERY_RUNS_MAX)))]
        limit: u32,
    },
    /// Show the calls of a run in their order
    Show {
        /// The run, as haft runs list shows it
        run: String,
        /// Most calls to show
        #[arg(long, default_value_t = QUERY_CALLS_MAX, value_parser = clap::value_parser!(u32).range(1..=i64::from(QUERY_CALLS_MAX)))]
        limit: u32,
    },
    /// Follow calls as they are recorded
    ///
    /// A call with an effect appears twice: when it is about to execute, and when its outcome is known. Begins with
    /// the latest ones and goes on until it is interrupted or nobody reads any more.
    Tail {
        /// Only the calls of this run
        run: Option<String>,
    },
}

#[derive(Serialize)]
struct Shown<'a> {
    run: &'a RunRow,
    calls: &'a [CallRow],
}

/// Runs the command.
pub(crate) async fn run(
    args: RunsArgs,
    setting_args: &SettingArgs,
    state: &State,
) -> Result<Status, CommandError> {
    let json = setting_args.json;
    let journal = if compose::journal_path(setting_args, state).exists() {
        Some(compose::journal(setting_args, state)?)
    } else {
        None
    };
    match args.command {
        RunsCommand::List { limit } => list(journal.as_ref(), limit, json).await?,
        RunsCommand::Show { run, limit } => show(journal.as_ref(), &run, limit, json).await?,
        RunsCommand::Tail { run } => {
            // Calls that come later need a journal to come to.
            let journal = match journal {
                Some(journal) => journal,
                None => compose::journal(setting_args, state)?,
            };
            tail(&journal, run.as_deref(), json).await?;
        }
    }
    Ok(Status::Done)
}

async fn list(journal: Option<&SqliteJournal>, limit: u32, json: bool) -> Result<(), CommandError> {
    let runs = match journal {
        Some(journal) => journal.runs(RunQuery { run: None, limit }).await?,
        None => Vec::new(),
    };
    if json {
        return output::json(&runs);
    }
    if runs.is_empty() {
        output::note("no runs were recorded yet");
        return Ok(());
    }
    let headings =
        ["RUN", "STARTED", "BY", "CALLS", "FAILED", "REFUSED", "OPEN", "UNKNOWN", "ROOT"];
    let rows = runs.iter().map(|run| {
        vec![
            run.id.to_string(),
            rfc3339(run.started_at_ms),
            run.front_end.clone(),
            run.calls.to_string(),
            run.failed.to_string(),
            run.refused.to_string(),
            run.intended.to_string(),
            run.unknown.to_string(),
            output::visible(&run.root),
        ]
    });
    output::data(&table(&headings, rows))
}

async fn show(
    journal: Option<&SqliteJournal>,
    run: &str,
    limit: u32,
    json: bool,
) -> Result<(), CommandError> {
    let id = RunId::parse(run).map_err(CommandError::usage)?;
    let unknown =
        || CommandError::usage(format!("no run is called {run:?}")).hint("haft runs list");
    let journal = journal.ok_or_else(unknown)?;
    let runs = journal.runs(RunQuery { run: Some(id.clone()), limit: 1 }).await?;
    let run = runs.first().ok_or_else(unknown)?;
    let calls = journal.calls(CallQuery { limit, ..CallQuery::of_run(id) }).await?;
    if json {
        output::json(&Shown { run, calls: &calls })?;
    } else if !calls.is_empty() {
        let headings = ["CALL", "TOOL", "STATUS", "STARTED", "MS", "CODE", "INPUT"];
        output::data(&table(&headings, calls.iter().map(cells)))?;
    }
    let left_out = run.calls.saturating_sub(u64::try_from(calls.len()).unwrap_or(u64::MAX));
    if left_out > 0 {
        output::note(format_args!("{left_out} further calls are not shown"));
    }
    Ok(())
}

async fn tail(journal: &SqliteJournal, run: Option<&str>, json: bool) -> Result<(), CommandError> {
    let run = run.map(RunId::parse).transpose().map_err(CommandError::usage)?;
    let stop = signals::stop_token()?;
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
            if json { output::json(call)? } else { output::data(&line(call))? }
        }
        // A full answer may be followed by more at once.
        if calls.is_empty() {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(Duration::from_millis(TAIL_POLL_MS)) => {}
            }
            if nobody_reads() {
                return Ok(());
            }
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

fn cells(call: &CallRow) -> Vec<String> {
    vec![
        place(call),
        output::visible(&call.tool),
        call.status.to_string(),
        rfc3339(call.started_at_ms),
        duration(call),
        code(call),
        summary(&call.input),
    ]
}

fn line(call: &CallRow) -> String {
    let fields = [
        rfc3339(call.finished_at_ms.unwrap_or(call.started_at_ms)),
        call.id().to_string(),
        output::visible(&call.tool),
        call.status.to_string(),
        format!("{}ms", duration(call)),
        code(call),
        summary(&call.input),
    ];
    fields.join("  ")
}

/// Returns the call's place inside its run; most runs have one node, one iteration and one attempt.
fn place(call: &CallRow) -> String {
    let scope = &call.scope;
    format!("{}/{}/{}/{}", scope.node, scope.iteration, scope.attempt, call.seq)
}

fn duration(call: &CallRow) -> String {
    let finished = call.finished_at_ms;
    finished.map_or("-".to_owned(), |at| at.saturating_sub(call.started_at_ms).to_string())
}

fn code(call: &CallRow) -> String {
    let envelope = call.parsed_envelope().ok().flatten();
    let code = envelope.and_then(|envelope| envelope.code());
    code.map_or("-".to_owned(), |code| code.to_string())
}

/// Returns the beginning of an input, on one line.
fn summary(input: &str) -> String {
    let mut text: String = output::visible(input).chars().take(INPUT_CHARS_MAX).collect();
    if input.chars().nth(INPUT_CHARS_MAX).is_some() {
        text.push('…');
    }
    text.replace('\n', " ")
}
