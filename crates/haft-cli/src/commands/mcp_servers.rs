//! `haft mcp add`, `list`, `remove`, `test`, `login` and `logout`: other MCP servers, whose tools become haft's. Each
//! subcommand has a file below `mcp_servers/`. `haft mcp` alone is haft's own server.

mod add;
mod list;
mod login;
mod logout;
mod package;
mod remove;
mod test;

use clap::{Args, Subcommand};

use self::add::McpAddArgs;
use self::login::McpLoginArgs;
use self::logout::McpLogoutArgs;
use self::remove::McpRemoveArgs;
use self::test::McpTestArgs;
use crate::arguments::cli_context::CliContext;
use crate::arguments::run_address::RunAddressArgs;
use crate::error::{CommandError, CommandResult};
use crate::next_step::command_of;
use haft_app::settings::EffectiveSettings;

/// Serve the tools to an MCP client, or use the tools of other MCP servers
///
/// Without a subcommand, the tools are served over standard input and output. The client starts this command and ends it by
/// closing its input. Both eras of the protocol are spoken, with handshake and without. All calls of one connection belong to
/// one run, a new one unless --run names it, or the client names another in `_meta` with the key `haft/run`; `haft/node`,
/// `haft/iteration` and `haft/attempt` say where in the run, and `haft/call` is the client's name for the call. With
/// `haft/resume` set to `replay`, a run starts over: the record answers its calls, and a call in doubt is not repeated.
///
/// The subcommands are about other servers. Each server is started in the sandbox and may reach only what you grant it; its
/// tools get ids that begin with its name.
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
  haft mcp add --npm @modelcontextprotocol/server-memory
                                    Install a server, and use its tools
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
    /// Writes a table [mcp.NAME] at the end of haft.toml, and makes the file if there is none. If haft.toml was trusted, it
    /// stays trusted; if it was not, trust it with haft trust. With --user, the server is for all of your projects. The
    /// server is granted nothing unless --read, --write or --host say so. haft mcp test NAME shows whether it works.
    ///
    /// With --npm or --pypi, haft installs the package once and adds the program of the package.
    Add(Box<McpAddArgs>),
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
    /// Prints an address, and opens nothing. After you agree there, the browser returns to a port of this machine; over ssh,
    /// or if the browser runs on another machine, paste the address that it ends at. The state directory keeps the login,
    /// for this server only. haft never prints it, and renews it as long as the server allows that.
    Login(McpLoginArgs),
    /// Forget the login to a server
    ///
    /// haft deletes its copy of the login. The server is not notified.
    Logout(McpLogoutArgs),
}

/// Runs a command about servers.
pub(crate) async fn run(command: McpCommand, cx: &CliContext) -> CommandResult {
    match command {
        McpCommand::Add(args) => add::run(&args, cx),
        McpCommand::List => list::run(cx),
        McpCommand::Remove(args) => remove::run(&args, cx),
        McpCommand::Test(args) => test::run(&args, cx).await,
        McpCommand::Login(args) => login::run(&args, cx).await,
        McpCommand::Logout(args) => logout::run(&args, cx),
    }
}

/// Returns the error of a server that is not configured, or not trusted yet.
fn unknown(name: &str, settings: &EffectiveSettings) -> CommandError {
    match settings.untrusted.iter().find(|untrusted| untrusted.names.servers.contains(name)) {
        Some(untrusted) => {
            let file = untrusted.file.display();
            CommandError::usage(format!("server {name:?} of {file} is not trusted yet"))
                .hint(command_of(&untrusted.next()))
        }
        None => CommandError::usage(format!("no server is called {name:?}")).hint("haft mcp list"),
    }
}
