//! `haft runs`: shows and manages the records of the journal. Each subcommand has a file below `runs/`. The commands that
//! only read make no journal.

mod addressed;
mod call;
mod export;
mod in_doubt;
mod list;
mod prune;
mod run_session;
mod settle;
mod show;
mod tail;
mod text;
mod verify;

use clap::{Args, Subcommand};
use haft_contract::RunId;
use haft_journal::Journal;

use crate::arguments::cli_context::CliContext;
use crate::arguments::latest;
use crate::error::{CommandError, CommandErrorKind, CommandResult};
use haft_app::settings;

pub(crate) use in_doubt::DOUBTS_SHOWN_MAX;

/// Show the records of the journal, and manage them
///
/// A run is one piece of work: the calls of one MCP connection, one haft call, or one session of an agent. Times are UTC.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft runs list
  haft runs show run_01jd3k8x5m9q2w7y4t6r8v0c3z
  haft runs show nightly/build/0/1/3
  haft runs show last
  haft runs tail --json | jq .tool
  haft runs settle nightly/build/0/1/3 not-happened
  haft runs export --since 7d > week.jsonl
  haft runs prune --older-than 30d --dry-run")]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    command: RunsCommand,
}

#[derive(Subcommand)]
enum RunsCommand {
    List(list::RunsListArgs),
    Show(show::RunsShowArgs),
    Tail(tail::RunsTailArgs),
    Export(export::RunsExportArgs),
    Verify(verify::RunsVerifyArgs),
    Settle(settle::RunsSettleArgs),
    Prune(prune::RunsPruneArgs),
}

/// Runs the command.
pub(crate) async fn run(args: RunsArgs, cx: &CliContext) -> CommandResult {
    let durability = settings::resolve_durability(&cx.setting_args.overrides(), &cx.host)?;
    let place = &durability.journal;
    // A named journal must exist. A user without a call has no default journal yet, which counts as an empty one.
    let is_default = place.file() == Some(cx.host.state().journal().as_path());
    if !is_default && place.is_missing() {
        let message = format!(
            "there is no journal at {place}: expected one there, because --db, HAFT_DB or [durability] of the manifest \
             names it"
        );
        return Err(CommandError::usage(message).kind(CommandErrorKind::Journal));
    }
    match args.command {
        RunsCommand::Tail(args) => tail::run(&args, place, cx).await,
        RunsCommand::Settle(args) => {
            let journal = if place.is_missing() { None } else { Some(place.open().await?) };
            settle::run(args, journal.as_deref(), cx).await
        }
        RunsCommand::Prune(args) => prune::run(&args, &durability, cx).await,
        // The others change nothing. If there is no journal yet, they make none.
        RunsCommand::List(args) => {
            list::run(&args, place.open_to_read().await?.as_deref(), cx).await
        }
        RunsCommand::Show(args) => {
            show::run(&args, place.open_to_read().await?.as_deref(), cx).await
        }
        RunsCommand::Export(args) => {
            export::run(&args, place.open_to_read().await?.as_deref(), cx).await
        }
        RunsCommand::Verify(_) => verify::run(place.open_to_read().await?.as_deref(), cx).await,
    }
}

/// Returns the run of that name, which may be the one that was used last in this workspace.
async fn find_named_run(
    name: &str,
    journal: &dyn Journal,
    cx: &CliContext,
) -> Result<RunId, CommandError> {
    let root = || latest::workspace_of(&cx.setting_args, &cx.host);
    Ok(latest::find_run(name, journal, root).await?.id())
}

/// Returns the error of a command about a named run where there is no journal.
fn no_journal_error(run: &str) -> CommandError {
    if run == latest::LAST { latest::no_run_error() } else { latest::unknown_run_error(run) }
}
