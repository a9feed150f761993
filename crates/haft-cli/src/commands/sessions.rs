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

use crate::arguments::latest::{self, LAST, find_session, no_session_error};
use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandStatus};
use haft_app::host::AppHost;
use haft_app::settings;

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
pub(crate) async fn run(
    args: SessionsArgs,
    setting_args: &SettingArgs,
    host: &AppHost,
) -> Result<CommandStatus, CommandError> {
    let settings = settings::resolve(&setting_args.overrides(), host)?;
    let looking = match args.command {
        SessionsCommand::Fork(args) => {
            return fork::run(&args, setting_args, &settings, host).await;
        }
        SessionsCommand::Rewind(args) => {
            return rewind::run(&args, setting_args, &settings, host).await;
        }
        SessionsCommand::List(args) => SessionsReadCommand::List(args),
        SessionsCommand::Show(args) => SessionsReadCommand::Show(args),
        SessionsCommand::Export(args) => SessionsReadCommand::Export(args),
    };
    let journal = settings.durability.journal.open_to_read().await?;
    let kept = WorkspaceSessions { journal, root: latest::workspace(&settings)? };
    looking.run(&kept, setting_args.json).await
}

/// The commands that change nothing.
enum SessionsReadCommand {
    List(list::SessionsListArgs),
    Show(show::SessionsShowArgs),
    Export(export::SessionsExportArgs),
}

impl SessionsReadCommand {
    async fn run(
        self,
        kept: &WorkspaceSessions,
        is_json: bool,
    ) -> Result<CommandStatus, CommandError> {
        match self {
            Self::List(args) => list::run(&args, kept, is_json).await,
            Self::Show(args) => show::run(&args, kept, is_json).await,
            Self::Export(args) => export::run(&args, kept).await,
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
    /// Returns the session of that name, and the journal that it is in.
    async fn find_session(&self, named: &str) -> Result<(&dyn Journal, SessionRow), CommandError> {
        let Some(journal) = self.journal.as_deref() else {
            return Err(if named == LAST {
                no_session_error()
            } else {
                unknown_session_error(named)
            });
        };
        let id: SessionId = find_session(named, &self.root, journal).await?;
        let session = journal.session(&id).await?.ok_or_else(|| unknown_session_error(named))?;
        Ok((journal, session))
    }
}

fn unknown_session_error(session: &str) -> CommandError {
    CommandError::usage(format!("no session is called {session:?}"))
        .hint("haft sessions list --all")
}
