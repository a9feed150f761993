//! `haft mcp`: the tools for an MCP client over standard input and output. The MCP crate speaks the protocol. This file
//! builds the parts that it serves, and closes them at the end.

use std::io::IsTerminal;
use std::sync::Arc;

use haft_mcp::{McpServerParts, McpTaskHost, serve_stdio};

use crate::arguments::cli_context::CliContext;
use crate::arguments::run_address::{RunAddress, RunAddressArgs};
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::model::model_of_environment;
use crate::plan_run::ModelOpener;
use crate::programs;
use crate::signals;
use crate::views::output;
use crate::views::remedy::advice_for_model;
use haft_app::compose::task_agents::TaskAgents;
use haft_app::{compose, id, skills};

/// Runs the command. Without models, a server whose clients can give tasks to agents is handed to the program that has them.
pub(crate) async fn run(
    args: &RunAddressArgs,
    cx: &CliContext,
    models: Option<ModelOpener>,
) -> CommandResult {
    let settings = cx.resolve_settings()?;
    let choice = model_of_environment(&cx.host);
    let is_model_named = choice.is_named(&settings.model);
    if is_model_named && models.is_none() && programs::is_installed(programs::AGENT, &cx.host) {
        return programs::replace_with(programs::AGENT, &cx.host);
    }
    let RunAddress { run, position: place, resume } =
        args.run_address(&settings.scope, cx.host.now_ms())?;
    let journal = &settings.durability.journal;
    if journal.is_missing() && !std::io::stderr().is_terminal() {
        // A client may start haft with fewer variables than its user has. Its log then says where the calls are.
        output::print_note(format_args!("this begins a new journal, {journal}"));
    }
    let runtime = compose::serving_runtime(&settings, &cx.host).await?;
    // A client waits for the list of tools, which needs no recovery.
    let recovery = tokio::spawn(compose::recover_meanwhile(&runtime, &cx.host));
    let models = models.filter(|_| is_model_named).map(|open| open(choice, &settings, &cx.host));
    let agents = models.map(|models| TaskAgents::find(models, &runtime, &settings, &cx.host));
    let subagents = agents.as_ref().map(|agents| agents.subagents()).unwrap_or_default();
    let session = compose::open_mcp_connection(&runtime, &settings, &cx.host, subagents)?;
    let agents = agents.map(|agents| agents.of_connection(&session));
    // A later connection may recall what was answered in this one, cut outputs included.
    session.keep_outputs();
    if runtime.registry().contract("skill").is_some() {
        skills::warn_of_problems(&session, &cx.host);
    }
    let shutdown = signals::stop_token()?;
    if std::io::stdin().is_terminal() {
        output::print_aside(
            "waiting for an MCP client on standard input; Ctrl-D ends it (haft connect sets a client up)",
        );
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
        ask_pages: Some(compose::ask_page_finder(&settings, &cx.host)),
        task_host: agents.clone().map(|agents| agents as Arc<dyn McpTaskHost>),
    };
    let served = serve_stdio(server, shutdown).await.map_err(CommandError::failed);
    // It ends with a report, and a task that panics has printed its message.
    let _ = recovery.await;
    if let Some(agents) = agents {
        agents.close().await;
    }
    runtime.shut_down().await;
    served?;
    Ok(CommandStatus::Done)
}
