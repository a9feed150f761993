//! `haft acp`: agents for an editor over standard input and output. What is spoken there is the business of the ACP crate;
//! this file makes what it serves and ends with it.

use std::io::IsTerminal as _;
use std::sync::Arc;

use clap::Args;
use haft_acp::{Editor, ServeParts, serve};
use haft_agent::{AgentError, FoundAgents};

use crate::agent_run::failure;
use crate::cli::SettingArgs;
use crate::compose::agent::{AgentFront, AgentWork};
use crate::error::{CommandError, Status};
use crate::model::ModelArgs;
use crate::state::State;
use crate::time::rfc3339;
use crate::{compose, output, settings, signals};

/// Let an editor talk to agents over standard input and output, by the Agent Client Protocol
///
/// An editor that speaks ACP, such as Zed, starts this command. Each of its threads is a session of haft agent in this
/// directory: it is kept while it is had, the editor can load it again, and haft sessions and haft agent --resume know it, too.
/// What is to be asked about a call is asked in the editor. Several sessions may be had at once; when the editor goes away,
/// their turns end and what was done until then is recorded.
///
/// The editor's directory must lie within the root (--root). Files and commands are haft's own: the editor is asked for
/// neither, and MCP servers that the editor is set up with are not started.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft acp --model openai/gpt-5

In the settings of Zed:
  \"agent_servers\": {
    \"haft\": {
      \"command\": \"haft\",
      \"args\": [\"acp\", \"--root\", \"/path/of/the/project\", \"--model\", \"anthropic/claude-sonnet-4-5\"],
      \"env\": {\"ANTHROPIC_API_KEY\": \"…\"}
    }
  }")]
pub(crate) struct AcpArgs {
    /// Agent that sessions are begun with: build, unless the manifest names another one ([agent] default)
    ///
    /// The editor offers the others as modes of a session.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    #[command(flatten)]
    model: ModelArgs,
}

/// Runs the command.
pub(crate) async fn run(
    args: &AcpArgs,
    setting_args: &SettingArgs,
    state: &State,
) -> Result<Status, CommandError> {
    let settings = settings::resolve(setting_args, state)?;
    let editor = Editor::new();
    let front = AgentFront {
        model: &args.model,
        agent: args.agent.as_deref(),
        asker: editor.asker(),
        watcher: editor.watcher(),
    };
    let AgentWork { host, runtime, agents, agent } =
        compose::agent_host(front, &settings, state).await?;
    check_agent(&agents, &agent)?;
    let host = Arc::new(host);
    let shutdown = signals::stop_token()?;
    if std::io::stdin().is_terminal() {
        output::aside("waiting for an editor on standard input; Ctrl-D ends it");
    }
    let parts = ServeParts {
        host: Arc::clone(&host),
        runtime: runtime.clone(),
        agents,
        agent,
        context_tokens: settings.agent.bounds().context_tokens,
        time: rfc3339,
    };
    let served = serve(&editor, parts, tokio::io::stdin(), tokio::io::stdout(), shutdown).await;
    host.close().await;
    runtime.shut_down().await;
    served.map_err(CommandError::failed)?;
    Ok(Status::Done)
}

/// Says at once that there is no such agent, and not to whoever begins a session.
fn check_agent(agents: &FoundAgents, name: &str) -> Result<(), CommandError> {
    if agents.get(name).is_some_and(|agent| agent.mode.is_primary()) {
        return Ok(());
    }
    let offered = agents.iter().filter(|agent| agent.mode.is_primary());
    let available = offered.map(|agent| agent.name.clone()).collect();
    Err(failure(AgentError::UnknownAgent { name: name.to_owned(), available }))
}
