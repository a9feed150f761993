//! `haft runs`: shows and manages the records of the journal. Each subcommand has a file below `runs/`. The commands that
//! only read make no journal.

mod addressed;
mod call;
mod dead_holders;
mod doubts;
mod export;
mod list;
mod prune;
mod run_session;
mod settle;
mod show;
mod tail;
mod text;
mod undo_references;
mod verify;

use clap::{Args, Subcommand};
use haft_contract::RunId;
use haft_journal::Journal;

use crate::arguments::latest;
use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandErrorKind, CommandStatus};
use haft_app::host::AppHost;
use haft_app::settings;

pub(crate) use doubts::DOUBTS_SHOWN_MAX;

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
pub(crate) async fn run(
    args: RunsArgs,
    setting_args: &SettingArgs,
    host: &AppHost,
) -> Result<CommandStatus, CommandError> {
    let json = setting_args.json;
    let durability = settings::resolve_durability(&setting_args.overrides(), host)?;
    let place = &durability.journal;
    // A named journal must exist. A user without a call has no default journal yet, which counts as an empty one.
    let is_default = place.file() == Some(host.state().journal().as_path());
    if !is_default && place.is_missing() {
        let message = format!(
            "there is no journal at {place}: expected one there, because --db, HAFT_DB or [durability] of the manifest \
             names it"
        );
        return Err(CommandError::usage(message).kind(CommandErrorKind::Journal));
    }
    let looking = match args.command {
        RunsCommand::Tail(args) => return tail::run(&args, place, setting_args, host).await,
        RunsCommand::Settle(args) => {
            let journal = if place.is_missing() { None } else { Some(place.open().await?) };
            return settle::run(args, journal.as_deref(), json).await;
        }
        RunsCommand::Prune(args) => return prune::run(&args, &durability, host, json).await,
        RunsCommand::List(args) => RunsReadCommand::List(args),
        RunsCommand::Show(args) => RunsReadCommand::Show(args),
        RunsCommand::Export(args) => RunsReadCommand::Export(args),
        RunsCommand::Verify(args) => RunsReadCommand::Verify(args),
    };
    let journal = place.open_to_read().await?;
    looking.run(journal.as_deref(), setting_args, host).await
}

/// The commands that change nothing.
enum RunsReadCommand {
    List(list::RunsListArgs),
    Show(show::RunsShowArgs),
    Export(export::RunsExportArgs),
    Verify(verify::RunsVerifyArgs),
}

impl RunsReadCommand {
    /// Runs the command on the journal, which is `None` if there is none yet.
    async fn run(
        self,
        journal: Option<&dyn Journal>,
        settings: &SettingArgs,
        host: &AppHost,
    ) -> Result<CommandStatus, CommandError> {
        match self {
            Self::List(args) => list::run(&args, journal, settings.json).await,
            Self::Show(args) => show::run(&args, journal, settings, host).await,
            Self::Export(args) => export::run(&args, journal, settings, host).await,
            Self::Verify(_) => verify::run(journal, settings.json).await,
        }
    }
}

/// Returns the run of that name, which may be the one that was used last in this workspace.
async fn find_named_run(
    name: &str,
    journal: &dyn Journal,
    settings: &SettingArgs,
    host: &AppHost,
) -> Result<RunId, CommandError> {
    let root = || latest::workspace_of(settings, host);
    Ok(latest::find_run(name, journal, root).await?.id())
}

/// Returns the error of a command about a named run where there is no journal.
fn no_journal_error(run: &str) -> CommandError {
    if run == latest::LAST { latest::no_run_error() } else { unknown_run_error(run) }
}

/// Returns the error of a command about an unknown run.
fn unknown_run_error(run: &str) -> CommandError {
    CommandError::usage(format!("no run is called {run:?}"))
        .kind(CommandErrorKind::UnknownRun)
        .hint("haft runs list")
}
