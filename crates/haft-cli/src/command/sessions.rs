//! `haft sessions`: what was said in sessions of agents: one file for each thing that can be done. Looking changes nothing;
//! where no journal is yet, none is made.

mod export;
mod fork;
mod list;
mod markdown;
pub(super) mod pages;
mod rewind;
mod show;

use std::sync::Arc;

use clap::{Args, Subcommand};
use haft_journal::{ChatId, ChatSession, Journal};

use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::latest::{self, LAST, named_session, no_session};
use crate::settings;
use crate::state::State;

/// Show what was said in sessions of agents, and look after them
///
/// A session is one conversation with an agent; each subagent that it had work has one of its own. What was said is kept in
/// the journal, and the calls of a session are the calls of the run that is called like it (haft runs show). Times are UTC.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft sessions list
  haft sessions show last
  haft sessions export ses_01jd3k8x5m9q2w7y4t6r8v0c3z --format markdown > session.md
  haft sessions fork last
  haft agent --resume last")]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    command: SessionsCommand,
}

#[derive(Subcommand)]
enum SessionsCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Export(export::ExportArgs),
    Fork(fork::ForkArgs),
    Rewind(rewind::RewindArgs),
}

/// Runs the command.
pub(crate) async fn run(
    args: SessionsArgs,
    setting_args: &SettingArgs,
    state: &State,
) -> Result<Status, CommandError> {
    let settings = settings::resolve(setting_args, state)?;
    let looking = match args.command {
        SessionsCommand::Fork(args) => {
            return fork::run(&args, setting_args, &settings, state).await;
        }
        SessionsCommand::Rewind(args) => {
            return rewind::run(&args, setting_args, &settings, state).await;
        }
        SessionsCommand::List(args) => Looking::List(args),
        SessionsCommand::Show(args) => Looking::Show(args),
        SessionsCommand::Export(args) => Looking::Export(args),
    };
    let journal = settings.durability.journal.open_to_read().await?;
    let kept = Kept { journal, root: latest::workspace(&settings)? };
    looking.run(&kept, setting_args.json).await
}

/// What changes nothing.
enum Looking {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Export(export::ExportArgs),
}

impl Looking {
    async fn run(self, kept: &Kept, is_json: bool) -> Result<Status, CommandError> {
        match self {
            Self::List(args) => list::run(&args, kept, is_json).await,
            Self::Show(args) => show::run(&args, kept, is_json).await,
            Self::Export(args) => export::run(&args, kept).await,
        }
    }
}

/// The sessions that there are, from the place of one workspace.
struct Kept {
    /// The journal, if there is one.
    journal: Option<Arc<dyn Journal>>,
    /// The workspace.
    root: String,
}

impl Kept {
    /// Returns the session of that name, and the journal that it is in.
    async fn find(&self, named: &str) -> Result<(&dyn Journal, ChatSession), CommandError> {
        let Some(journal) = self.journal.as_deref() else {
            return Err(if named == LAST { no_session() } else { unknown(named) });
        };
        let id: ChatId = named_session(named, &self.root, journal).await?;
        let session = journal.chat(&id).await?.ok_or_else(|| unknown(named))?;
        Ok((journal, session))
    }
}

fn unknown(session: &str) -> CommandError {
    CommandError::usage(format!("no session is called {session:?}"))
        .hint("haft sessions list --all")
}
