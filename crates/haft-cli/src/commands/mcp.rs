//! `haft mcp`: the tools for an MCP client over standard input and output. The MCP crate speaks the protocol. This file
//! builds the parts that it serves, and closes them at the end.

use std::io::IsTerminal;

use haft_mcp::{McpServerParts, serve_stdio};

use crate::arguments::run_address::{RunAddress, RunAddressArgs};
use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandStatus};
use crate::signals;
use crate::views::output;
use haft_app::host::AppHost;
use haft_app::{compose, id, settings, skills};

/// Runs the command.
pub(crate) async fn run(
    args: &RunAddressArgs,
    setting_args: &SettingArgs,
    host: &AppHost,
) -> Result<CommandStatus, CommandError> {
    let settings = settings::resolve(&setting_args.overrides(), host)?;
    let RunAddress { run, position: place, resume } =
        args.run_address(&settings.scope, host.now_ms())?;
    let runtime = compose::runtime(&settings, host).await?;
    compose::recover(&runtime, host).await?;
    let session = compose::open_connection(&runtime, &settings, host, "mcp")?;
    // A later connection may recall what was answered in this one, cut outputs included.
    session.keep_outputs();
    if runtime.registry().contract("skill").is_some() {
        skills::warn_of_problems(&session, host);
    }
    let shutdown = signals::stop_token()?;
    if std::io::stdin().is_terminal() {
        output::print_aside("waiting for an MCP client on standard input; Ctrl-D ends it");
    }
    let server = McpServerParts {
        runtime: runtime.clone(),
        connection: session,
        run,
        address: place,
        resume,
        clock: host.clock(),
        explain: |err| CommandError::from(err).message,
        state_key: id::random_bytes()?,
        resource_provider: None,
    };
    let served = serve_stdio(server, shutdown).await.map_err(CommandError::failed);
    runtime.shut_down().await;
    served?;
    Ok(CommandStatus::Done)
}
