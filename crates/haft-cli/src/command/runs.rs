//! `haft runs`: what the journal holds, and looking after it: one file for each thing that can be done. Looking changes
//! nothing; where no journal is yet, none is made.

mod dead;
mod doubt;
mod export;
mod list;
mod prune;
mod settle;
mod show;
mod tail;
mod text;
mod verify;

use clap::{Args, Subcommand};
use haft_journal::Journal;

use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::settings;
use crate::state::State;

pub(crate) use doubt::DOUBTS_SHOWN_MAX;
pub(crate) use show::RETRIES_SHOWN_MAX;
pub(crate) use tail::{TAIL_CALLS, TAIL_POLL_MS};
pub(crate) use text::INPUT_CHARS_MAX;

/// Show what was recorded, and look after it
///
/// A run is one piece of work: the calls of one MCP connection, or one haft call. Times are UTC.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft runs list
  haft runs show run_01jd3k8x5m9q2w7y4t6r8v0c3z
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
    let place = &durability.journal;
    let looking = match args.command {
        RunsCommand::Tail(args) => {
            // Calls that come later need a journal to come to.
            let journal = place.open().await?;
            return tail::run(&args, &*journal, json).await;
        }
        RunsCommand::Settle(args) => return settle::run(args, &*place.open().await?, json).await,
        RunsCommand::Prune(args) => return prune::run(&args, &durability, state, json).await,
        RunsCommand::List(args) => Looking::List(args),
        RunsCommand::Show(args) => Looking::Show(args),
        RunsCommand::Export(args) => Looking::Export(args),
        RunsCommand::Verify(args) => Looking::Verify(args),
    };
    let journal = place.open_to_read().await?;
    looking.run(journal.as_deref(), json).await
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
    async fn run(self, journal: Option<&dyn Journal>, json: bool) -> Result<Status, CommandError> {
        match self {
            Self::List(args) => list::run(&args, journal, json).await,
            Self::Show(args) => show::run(&args, journal, json).await,
            Self::Export(args) => export::run(&args, journal).await,
            Self::Verify(_) => verify::run(journal, json).await,
        }
    }
}

/// Says that there is no such run.
fn unknown_run(run: &str) -> CommandError {
    CommandError::usage(format!("no run is called {run:?}")).hint("haft runs list")
}
