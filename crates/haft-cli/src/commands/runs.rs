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
use haft_contract::{CallAddress, RunId};
use haft_journal::Journal;

use crate::arguments::call_address::CallName;
use crate::arguments::cli_context::CliContext;
use crate::arguments::latest;
use crate::error::{CommandError, CommandErrorKind, CommandResult};
use haft_app::settings;

pub(crate) use in_doubt::DOUBTS_SHOWN_MAX;
pub(crate) use show::RunsShowArgs;

/// Show the records of the journal, and manage them
///
/// A run is one piece of work: the calls of one MCP connection, one haft call, or one session of an agent. haft log lists the
/// runs of this workspace, and haft show shows one. Times are UTC.
///
/// A run is named by its id, by the beginning of an id that no other id shares, by last, or by last~1 for the one before. A
/// call is named by its run and its number: last/5.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft runs list
  haft runs show k7f
  haft runs show last/3
  haft runs tail
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
    Show(RunsShowArgs),
    Tail(tail::RunsTailArgs),
    Export(export::RunsExportArgs),
    Verify(verify::RunsVerifyArgs),
    Settle(settle::RunsSettleArgs),
    Prune(prune::RunsPruneArgs),
}

/// Runs `haft show`, which is `haft runs show` under a shorter name.
pub(crate) async fn run_show(args: RunsShowArgs, cx: &CliContext) -> CommandResult {
    run(RunsArgs { command: RunsCommand::Show(args) }, cx).await
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

/// Returns the call of that name.
async fn find_named_call(
    name: &CallName,
    journal: &dyn Journal,
    cx: &CliContext,
) -> Result<CallAddress, CommandError> {
    let root = || latest::workspace_of(&cx.setting_args, &cx.host);
    Ok(name.find(journal, root).await?.0)
}
