//! `haft runs`: what the journal holds, and looking after it: one file for each thing that can be done. Looking changes
//! nothing; where no journal is yet, none is made.

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

use std::sync::Arc;

use clap::{Args, Subcommand};
use haft_contract::RunId;
use haft_journal::Journal;

use crate::arguments::latest;
use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandErrorKind, CommandStatus};
use haft_app::host::AppHost;
use haft_app::journal_location::JournalLocation;
use haft_app::settings;

pub(crate) use doubts::DOUBTS_SHOWN_MAX;

/// Show what was recorded, and look after it
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
    let recorded = RunsJournal { place: &durability.journal, host };
    recorded.check_journal_exists()?;
    let looking = match args.command {
        RunsCommand::Tail(args) => return tail::run(&args, &recorded, setting_args).await,
        RunsCommand::Settle(args) => {
            return settle::run(args, recorded.open_to_write().await?.as_deref(), json).await;
        }
        RunsCommand::Prune(args) => return prune::run(&args, &durability, host, json).await,
        RunsCommand::List(args) => RunsReadCommand::List(args),
        RunsCommand::Show(args) => RunsReadCommand::Show(args),
        RunsCommand::Export(args) => RunsReadCommand::Export(args),
        RunsCommand::Verify(args) => RunsReadCommand::Verify(args),
    };
    let journal = recorded.open().await?;
    looking.run(journal.as_deref(), setting_args, host).await
}

/// The journal that is looked after, which need not be there.
struct RunsJournal<'a> {
    place: &'a JournalLocation,
    host: &'a AppHost,
}

impl RunsJournal<'_> {
    /// Refuses a journal that somebody named and that is not there. That of a user who has made no call yet is only empty.
    fn check_journal_exists(&self) -> Result<(), CommandError> {
        let is_default = self.place.file() == Some(self.host.state().journal().as_path());
        if is_default || !self.place.is_missing() {
            return Ok(());
        }
        let message = format!(
            "there is no journal at {}: expected one there, because --db, HAFT_DB or [durability] of the manifest names it",
            self.place
        );
        Err(CommandError::usage(message).kind(CommandErrorKind::Journal))
    }

    /// Opens the journal to look at it, `None` if there is none yet.
    async fn open(&self) -> Result<Option<Arc<dyn Journal>>, CommandError> {
        Ok(self.place.open_to_read().await?)
    }

    /// Opens the journal to change what is in it, `None` if there is none yet.
    async fn open_to_write(&self) -> Result<Option<Arc<dyn Journal>>, CommandError> {
        if self.place.is_missing() {
            return Ok(None);
        }
        Ok(Some(self.place.open().await?))
    }
}

/// What changes nothing.
enum RunsReadCommand {
    List(list::RunsListArgs),
    Show(show::RunsShowArgs),
    Export(export::RunsExportArgs),
    Verify(verify::RunsVerifyArgs),
}

impl RunsReadCommand {
    /// Looks at the journal, `None` if there is none yet.
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

/// Says of a run that somebody named that it is not there, because nothing is.
fn no_journal_error(run: &str) -> CommandError {
    if run == latest::LAST { latest::no_run_error() } else { unknown_run_error(run) }
}

/// Says that there is no such run.
fn unknown_run_error(run: &str) -> CommandError {
    CommandError::usage(format!("no run is called {run:?}"))
        .kind(CommandErrorKind::UnknownRun)
        .hint("haft runs list")
}
