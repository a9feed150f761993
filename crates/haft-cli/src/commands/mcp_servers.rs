//! `haft mcp add`, `list`, `remove`, `test`, `login` and `logout`: MCP servers of other people, whose tools become haft's. Each subcommand is a file
//! of its own below `mcp_servers/`; `haft mcp` alone is the server that haft is itself.

mod add;
mod list;
mod login;
mod logout;
mod remove;
mod test;

use clap::{Args, Subcommand};

use self::add::McpAddArgs;
use self::login::McpLoginArgs;
use self::logout::McpLogoutArgs;
use self::remove::McpRemoveArgs;
use self::test::McpTestArgs;
use crate::arguments::run_address::RunAddressArgs;
use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandStatus};
use haft_app::host::AppHost;

/// Serve the tools to an MCP client, or use the tools of other MCP servers
///
/// Without a subcommand, the tools are served over standard input and output. The client starts this command and ends it by
/// closing its input. Both eras of the protocol are spoken, with handshake and without. All calls of one connection belong to
/// one run, a new one unless --run names it, or the client names another in `_meta` with the key `haft/run`; `haft/node`,
/// `haft/iteration` and `haft/attempt` say where in the run, `haft/call` is the client's own name of the call, and
/// `haft/resume` says `replay` to start a run over: what was answered is recalled, and what may have happened is not repeated.
///
/// The subcommands are about servers of other people. Each is started in the sandbox with a grant of its own, which is
/// nothing unless you say so, and its tools get ids that begin with its name.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_long_help = "\
Examples:
  haft mcp                          Offer the tools for the working directory
  haft mcp --root ~/src/project     Offer them for another one
  haft mcp --allow-host crates.io   Let commands reach a host
  haft mcp --run nightly --attempt 2
                                    Retry what a run did, with the same keys
  haft mcp add time -- ~/venv/bin/mcp-server-time
                                    Use the tools of a server
  haft mcp test time                Start it, and see what haft makes of its tools"
)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    pub(crate) placement: RunAddressArgs,
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
}

#[derive(Subcommand)]
pub(crate) enum McpCommand {
    /// Use the tools of an MCP server from now on
    ///
    /// Writes a table [mcp.NAME] into haft.toml, and makes one where there is none; what stands in it stays as it is. A
    /// haft.toml that was trusted is so again once you confirm it, since what changed in it widens what is allowed. The server
    /// is granted nothing unless --read, --write or --host say so. See haft mcp test NAME for whether it works.
    Add(McpAddArgs),
    /// List the servers, how each is started, and how many tools it has
    List,
    /// Use the tools of a server no more
    ///
    /// Takes the table [mcp.NAME] out of haft.toml.
    Remove(McpRemoveArgs),
    /// Start a server, and say what confines it and what haft makes of its tools
    ///
    /// The exit status is 1 if the server cannot be used.
    Test(McpTestArgs),
    /// Log in to a server that runs elsewhere
    ///
    /// Prints an address, and opens nothing. Who agrees there is sent back to a port of this machine; over ssh, or where the
    /// browser runs on another machine, paste the address that it ends at. The login is kept in the state directory, for
    /// this server alone; it is shown to nobody, and renewed by itself as long as the server allows that.
    Login(McpLoginArgs),
    /// Forget the login to a server
    ///
    /// What was kept is deleted here; whoever gave it is not told.
    Logout(McpLogoutArgs),
}

/// Runs a command about servers.
pub(crate) async fn run(
    command: McpCommand,
    setting_args: &SettingArgs,
    host: &AppHost,
) -> Result<CommandStatus, CommandError> {
    match command {
        McpCommand::Add(args) => add::run(args, setting_args, host).await,
        McpCommand::List => list::run(setting_args, host),
        McpCommand::Remove(args) => remove::run(&args, setting_args, host).await,
        McpCommand::Test(args) => test::run(&args, setting_args, host).await,
        McpCommand::Login(args) => login::run(&args, setting_args, host).await,
        McpCommand::Logout(args) => logout::run(&args, setting_args, host),
    }
}

fn unknown(name: &str) -> CommandError {
    CommandError::usage(format!("no server is called {name:?}")).hint("haft mcp list")
}
