//! `haft sessions`: shows and manages the recorded sessions of agents. Each subcommand has a file below `sessions/`. The
//! commands that only read make no journal.

mod export;
mod fork;
mod list;
mod markdown;
pub(super) mod pages;
mod rewind;
mod show;

use std::sync::Arc;

use clap::{Args, Subcommand};
use haft_journal::{Journal, SessionId, SessionRow};

use crate::arguments::cli_context::CliContext;
use crate::arguments::latest::{self, find_session, no_session_error};
use crate::error::{CommandError, CommandResult};
use haft_app::settings::EffectiveSettings;

/// Show the recorded sessions of agents, and manage them
///
/// A session is one conversation with an agent; each of its subagents has its own session. The journal keeps the messages.
/// The calls of a session are the calls of the run with the same name (haft runs show). Times are UTC.
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
    List(list::SessionsListArgs),
    Show(show::SessionsShowArgs),
    Export(export::SessionsExportArgs),
    Fork(fork::SessionsForkArgs),
    Rewind(rewind::SessionsRewindArgs),
}

/// Runs the command.
pub(crate) async fn run(args: SessionsArgs, cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    match args.command {
        SessionsCommand::Fork(args) => fork::run(&args, &settings, cx).await,
        SessionsCommand::Rewind(args) => rewind::run(&args, &settings, cx).await,
        SessionsCommand::List(args) => {
            list::run(&args, &WorkspaceSessions::open(&settings).await?, cx).await
        }
        SessionsCommand::Show(args) => {
            show::run(&args, &WorkspaceSessions::open(&settings).await?, cx).await
        }
        SessionsCommand::Export(args) => {
            export::run(&args, &WorkspaceSessions::open(&settings).await?).await
        }
    }
}

/// The sessions that there are, from the place of one workspace.
struct WorkspaceSessions {
    /// The journal, if there is one.
    journal: Option<Arc<dyn Journal>>,
    /// The workspace.
    root: String,
}

impl WorkspaceSessions {
    /// Opens the journal to read, and makes none if there is none.
    async fn open(settings: &EffectiveSettings) -> Result<Self, CommandError> {
        let journal = settings.durability.journal.open_to_read().await?;
        Ok(Self { journal, root: latest::workspace(settings)? })
    }

    /// Returns the session of that name, and the journal that it is in.
    async fn find_session(&self, named: &str) -> Result<(&dyn Journal, SessionRow), CommandError> {
        let Some(journal) = self.journal.as_deref() else {
            return Err(no_journal_error(named));
        };
        let id: SessionId = find_session(named, &self.root, journal).await?;
        let session = journal.session(&id).await?.ok_or_else(|| unknown_session_error(named))?;
        Ok((journal, session))
    }
}

/// Returns the error of a command about a named session where there is no journal.
fn no_journal_error(named: &str) -> CommandError {
    if latest::is_recent_name(named) {
        no_session_error(named)
    } else {
        unknown_session_error(named)
    }
}

fn unknown_session_error(session: &str) -> CommandError {
    CommandError::usage(format!("no session is called {session:?}"))
        .hint("haft sessions list --all")
}
