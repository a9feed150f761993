//! `haft agents`: lists, shows and checks the agents of a workspace as a session finds them. Each subcommand has a file below
//! `agents/`.

mod check;
mod list;
mod show;
mod unknown_names;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::arguments::cli_context::CliContext;
use crate::error::CommandResult;

/// List, show and check agents
///
/// An agent is a file NAME.md. Its front matter says what it is good for, who can call it, and which tools, files, hosts and
/// commands it keeps; the text below is the prompt. haft looks for agents in the directory agents of the workspace, then in
/// ~/.config/haft/agents, and then takes its own. Of two with one name, the nearest counts. An untrusted haft.toml may add
/// agents, but its agents replace no other agent and choose no model.
///
/// An agent can only restrict: it does not get more than the settings allow.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft agents list
  haft agents show explore            Print what an agent declares, and its prompt
  haft agents check                   Say what is wrong with which agent, and in which line
  haft agents check drafts/review.md  Look at a file that is not used yet")]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    command: AgentsCommand,
}

#[derive(Subcommand)]
enum AgentsCommand {
    /// List the agents with where they come from
    List,
    /// Print what an agent declares, and its prompt
    Show {
        /// The agent's name
        name: String,
    },
    /// Say what is wrong with which agent, and in which line
    ///
    /// An agent with an error is left out. A warning names a part of an untrusted workspace's agent that does not hold, or a
    /// tool that does not exist. The exit status is 1 if there is an error.
    Check {
        /// File of an agent, or directory of such files; all places unless given
        path: Option<PathBuf>,
    },
}

/// Runs the command.
pub(crate) async fn run(args: &AgentsArgs, cx: &CliContext) -> CommandResult {
    match &args.command {
        AgentsCommand::List => list::run(cx),
        AgentsCommand::Show { name } => show::run(name, cx),
        AgentsCommand::Check { path } => check::run(path.as_deref(), cx).await,
    }
}
