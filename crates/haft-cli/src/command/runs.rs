//! `haft runs`: what the journal holds, and looking after it: one file for each thing that can be done. Looking changes
//! nothing; where no journal is yet, none is made.

mod call;
mod dead;
mod doubt;
mod export;
mod list;
mod named;
mod prune;
mod session;
mod settle;
mod show;
mod tail;
mod text;
mod undone;
mod verify;

use std::sync::Arc;

use clap::{Args, Subcommand};
use haft_contract::RunId;
use haft_journal::Journal;

use crate::cli::SettingArgs;
use crate::error::{CommandError, Kind, Status};
use crate::journal_place::JournalPlace;
use crate::state::State;
use crate::{latest, settings};

pub(crate) use doubt::DOUBTS_SHOWN_MAX;
pub(crate) use settle::{Said, settle};
pub(crate) use show::RETRIES_SHOWN_MAX;
pub(crate) use tail::{TAIL_CALLS, TAIL_POLL_MS};
pub(crate) use text::INPUT_CHARS_MAX;

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
    List(list::ListArgs),
    Show(show::ShowArgs),
    Tail(tail::TailArgs),
    Export(export::ExportArgs),
    Verify(verify::VerifyArgs),
    Settle(settle::SettleArgs),
    Prune(prune::PruneArgs),
}

/// Runs the command.
pub(crate) async fn run(
    args: RunsArgs,
    setting_args: &SettingArgs,
    state: &State,
) -> Result<Status, CommandError> {
    let json = setting_args.json;
    let durability = settings::resolve_durability(setting_args, state)?;
    let recorded = Recorded { place: &durability.journal, state };
    recorded.check_named()?;
    let looking = match args.command {
        RunsCommand::Tail(args) => return tail::run(&args, &recorded, setting_args).await,
        RunsCommand::Settle(args) => {
            return settle::run(args, recorded.open_to_write().await?.as_deref(), json).await;
        }
        RunsCommand::Prune(args) => return prune::run(&args, &durability, state, json).await,
        RunsCommand::List(args) => Looking::List(args),
        RunsCommand::Show(args) => Looking::Show(args),
        RunsCommand::Export(args) => Looking::Export(args),
        RunsCommand::Verify(args) => Looking::Verify(args),
    };
    let journal = recorded.open().await?;
    looking.run(journal.as_deref(), setting_args, state).await
}

/// The journal that is looked after, which need not be there.
struct Recorded<'a> {
    place: &'a JournalPlace,
    state: &'a State,
}

impl Recorded<'_> {
    /// Refuses a journal that somebody named and that is not there. That of a user who has made no call yet is only empty.
    fn check_named(&self) -> Result<(), CommandError> {
        let is_default = self.place.file() == Some(self.state.journal().as_path());
        if is_default || !self.place.is_missing() {
            return Ok(());
        }
        let message = format!(
            "there is no journal at {}: expected one there, because --db, HAFT_DB or [durability] of the manifest names it",
            self.place
        );
        Err(CommandError::usage(message).kind(Kind::Journal))
    }

    /// Opens the journal to look at it, `None` if there is none yet.
    async fn open(&self) -> Result<Option<Arc<dyn Journal>>, CommandError> {
        self.place.open_to_read().await
    }

    /// Opens the journal to change what is in it, `None` if there is none yet.
    async fn open_to_write(&self) -> Result<Option<Arc<dyn Journal>>, CommandError> {
        if self.place.is_missing() {
            return Ok(None);
        }
        self.place.open().await.map(Some)
    }
}

/// What changes nothing.
enum Looking {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Export(export::ExportArgs),
    Verify(verify::VerifyArgs),
}

impl Looking {
    /// Looks at the journal, `None` if there is none yet.
    async fn run(
        self,
        journal: Option<&dyn Journal>,
        settings: &SettingArgs,
        state: &State,
    ) -> Result<Status, CommandError> {
        match self {
            Self::List(args) => list::run(&args, journal, settings.json).await,
            Self::Show(args) => show::run(&args, journal, settings, state).await,
            Self::Export(args) => export::run(&args, journal, settings, state).await,
            Self::Verify(_) => verify::run(journal, settings.json).await,
        }
    }
}

/// Returns the run of that name, which may be the one that was used last in this workspace.
async fn find_run(
    name: &str,
    journal: &dyn Journal,
    settings: &SettingArgs,
    state: &State,
) -> Result<RunId, CommandError> {
    let root = || latest::workspace_of(settings, state);
    Ok(latest::named_run(name, journal, root).await?.id())
}

/// Says of a run that somebody named that it is not there, because nothing is.
fn not_recorded(run: &str) -> CommandError {
    if run == latest::LAST { latest::no_run() } else { unknown_run(run) }
}

/// Says that there is no such run.
fn unknown_run(run: &str) -> CommandError {
    CommandError::usage(format!("no run is called {run:?}"))
        .kind(Kind::UnknownRun)
        .hint("haft runs list")
}
