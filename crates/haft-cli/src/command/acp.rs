//! `haft acp`: agents for an editor over standard input and output. What is spoken there is the business of the ACP crate;
//! this file makes what it serves and ends with it.

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;
use haft::Runtime;
use haft_acp::{Editor, Prepare, ServeParts, serve};
use haft_agent::{AgentError, AgentHost, FoundAgents};
use haft_contract::BoxFuture;

use crate::agent_run::failure;
use crate::cli::SettingArgs;
use crate::compose::agent::{AgentFront, AgentWork};
use crate::error::{CommandError, Status};
use crate::model::ModelArgs;
use crate::settings::{Settings, Withheld};
use crate::state::State;
use crate::time::rfc3339;
use crate::{compose, hint, output, settings, signals};

/// Let an editor talk to agents over standard input and output, by the Agent Client Protocol
///
/// An editor that speaks ACP, such as Zed, starts this command. Each of its threads is a session of haft agent in this
/// directory: it is kept while it is had, the editor can load it again, and haft sessions and haft agent --resume know it, too.
/// What is to be asked about a call is asked in the editor. Several sessions may be had at once; when the editor goes away,
/// their turns end and what was done until then is recorded.
///
/// The editor's directory must lie within the root (--root). Files and commands are haft's own: the editor is asked for
/// neither, and MCP servers that the editor is set up with are not started.
#[derive(Args, Clone)]
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
    let editor = Editor::new();
    let preparation = Arc::new(Preparation {
        args: args.clone(),
        settings: setting_args.clone(),
        state: state.clone(),
        editor: editor.clone(),
        prepared: Mutex::default(),
    });
    let shutdown = signals::stop_token()?;
    let is_by_hand = std::io::stdin().is_terminal();
    // No call is made yet: whoever wants haft to end while it prepares has it end.
    let parts = tokio::select! {
        biased;
        () = shutdown.cancelled() => return Ok(Status::Done),
        parts = preparation.parts() => parts,
    };
    match parts {
        Ok(parts) => preparation.prepared().parts = Some(parts),
        Err(err) if is_by_hand => return Err(err),
        // What stands on standard error few editors show, and what they are answered, all: so they are.
        Err(err) => drop(preparation.refusal(err)),
    }
    if is_by_hand {
        output::aside("waiting for an editor on standard input; Ctrl-D ends it");
    }
    let asked = Arc::clone(&preparation) as Arc<dyn Prepare>;
    let served = serve(&editor, asked, tokio::io::stdin(), tokio::io::stdout(), shutdown).await;
    let work = preparation.prepared().work.take();
    if let Some((host, runtime)) = &work {
        host.close().await;
        runtime.shut_down().await;
    }
    served.map_err(CommandError::failed)?;
    let refused = preparation.prepared().refused.take().filter(|_| work.is_none());
    Ok(refused.map_or(Status::Done, |refused| refused.status))
}

/// Puts together what an editor is served with: at once, and where that fails, with each session that the editor wants. So a
/// configuration that was put right holds without another start.
struct Preparation {
    args: AcpArgs,
    settings: SettingArgs,
    state: State,
    editor: Editor,
    // Written when parts are put together, and read at the end; each holds the lock for a look.
    prepared: Mutex<Prepared>,
}

#[derive(Default)]
struct Prepared {
    /// Parts that nobody has asked for yet.
    parts: Option<ServeParts>,
    /// What is to be closed.
    work: Option<(Arc<AgentHost>, Runtime)>,
    /// What was in the way last.
    refused: Option<Refused>,
}

struct Refused {
    status: Status,
    message: String,
}

impl Prepare for Preparation {
    fn prepare(&self) -> BoxFuture<'_, Result<ServeParts, String>> {
        Box::pin(async {
            let parts = self.prepared().parts.take();
            match parts {
                Some(parts) => Ok(parts),
                None => self.parts().await.map_err(|err| self.refusal(err)),
            }
        })
    }
}

impl Preparation {
    fn prepared(&self) -> MutexGuard<'_, Prepared> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn parts(&self) -> Result<ServeParts, CommandError> {
        let settings = settings::resolve(&self.settings, &self.state)?;
        let front = AgentFront {
            model: &self.args.model,
            agent: self.args.agent.as_deref(),
            asker: self.editor.asker(),
            watcher: self.editor.watcher(),
            backlog: None,
        };
        let work = compose::agent_host(front, &settings, &self.state).await?;
        if let Err(err) = check_agent(&work.agents, &work.agent) {
            work.close().await;
            return Err(err);
        }
        let AgentWork { host, runtime, agents, agent } = work;
        let host = Arc::new(host);
        self.prepared().work = Some((Arc::clone(&host), runtime.clone()));
        Ok(ServeParts {
            host,
            runtime,
            notices: notices(&settings, &agents),
            agents,
            agent,
            context_tokens: settings.agent.bounds().context_tokens,
            time: rfc3339,
        })
    }

    /// Says on standard error what is in the way, where it is something new, and returns it as an editor is told.
    fn refusal(&self, err: CommandError) -> String {
        let message = output::visible(&err.message);
        let hint =
            err.hint.map(|hint| hint::in_same_journal(&output::visible(&hint), &self.settings));
        let mut prepared = self.prepared();
        if prepared.refused.as_ref().is_none_or(|refused| refused.message != message) {
            output::error(&message, hint.as_deref());
        }
        prepared.refused = Some(Refused { status: err.status, message: message.clone() });
        match hint {
            Some(hint) => format!("{message}\n\nhint: {hint}"),
            None => message,
        }
    }
}

/// Returns what of the configuration is not as somebody may think, for those who do not see standard error.
fn notices(settings: &Settings, agents: &FoundAgents) -> Vec<String> {
    let withheld = settings.withheld.as_ref().map(|Withheld { message, hint }| {
        let text = format!("{message}\nhint: {hint}, and have the editor start haft again");
        output::visible(&text)
    });
    let problems = match agents.problems.len() {
        0 => None,
        1 => Some("An agent has a problem: haft agents check".to_owned()),
        problems => Some(format!("Agents have {problems} problems: haft agents check")),
    };
    withheld.into_iter().chain(problems).collect()
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
