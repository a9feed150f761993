//! `haft mcp`: the tools for an MCP client over standard input and output. The MCP crate speaks the protocol. This file
//! builds the parts that it serves, and closes them at the end.

use std::io::IsTerminal;

use haft_mcp::{McpServerParts, serve_stdio};

use crate::arguments::cli_context::CliContext;
use crate::arguments::run_address::{RunAddress, RunAddressArgs};
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::signals;
use crate::views::output;
use crate::views::remedy::advice_for_model;
use haft_app::{compose, id, skills};

/// Runs the command.
pub(crate) async fn run(args: &RunAddressArgs, cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    let RunAddress { run, position: place, resume } =
        args.run_address(&settings.scope, cx.host.now_ms())?;
    let runtime = compose::serving_runtime(&settings, &cx.host).await?;
    // A client waits for the list of tools, which needs no recovery.
    let recovery = tokio::spawn(compose::recover_meanwhile(&runtime, &cx.host));
    let session = compose::open_connection(&runtime, &settings, &cx.host, "mcp")?;
    // A later connection may recall what was answered in this one, cut outputs included.
    session.keep_outputs();
    if runtime.registry().contract("skill").is_some() {
        skills::warn_of_problems(&session, &cx.host);
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
        clock: cx.host.clock(),
        explain: |err| CommandError::from(err).message_for_client(),
        advise: advice_for_model,
        state_key: id::random_bytes()?,
        resource_provider: None,
    };
    let served = serve_stdio(server, shutdown).await.map_err(CommandError::failed);
    // It ends with a report, and a task that panics has printed its message.
    let _ = recovery.await;
    runtime.shut_down().await;
    served?;
    Ok(CommandStatus::Done)
}
