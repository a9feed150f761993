//! `haft acp`: agents for an editor over standard input and output. The ACP crate speaks the protocol. This file builds the
//! parts that it serves, and closes them at the end.

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft::Runtime;
use haft_acp::{AcpPartsProvider, AcpServeParts, Editor, serve};
use haft_agent::{AgentError, AgentHost, AgentRegistry};
use haft_contract::BoxFuture;

use crate::agent_error::agent_command_error;
use crate::arguments::cli_context::CliContext;
use crate::arguments::hint;
use crate::commands::acp::AcpArgs;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::next_step;
use crate::signals;
use crate::views::output;
use haft_app::calendar::rfc3339;
use haft_app::compose;
use haft_app::compose::agent::{AgentFrontEnd, ComposedAgent};
use haft_app::named_models;
use haft_app::settings::EffectiveSettings;

/// Runs the command.
pub(crate) async fn run(args: &AcpArgs, cx: &CliContext) -> CommandResult {
    let editor = Editor::new();
    let preparation = Arc::new(AcpPreparation {
        args: args.clone(),
        cx: cx.clone(),
        editor: editor.clone(),
        prepared: Mutex::default(),
    });
    let shutdown = signals::stop_token()?;
    let is_by_hand = std::io::stdin().is_terminal();
    // No call has begun yet, so a signal during the preparation ends haft at once.
    let parts = tokio::select! {
        biased;
        () = shutdown.cancelled() => return Ok(CommandStatus::Done),
        parts = preparation.parts() => parts,
    };
    match parts {
        Ok(parts) => preparation.prepared().parts = Some(parts),
        Err(err) if is_by_hand => return Err(err),
        // Few editors show standard error. They do show the answer to a request, so the answer reports the failure.
        Err(err) => drop(preparation.report_failure(err)),
    }
    if is_by_hand {
        output::print_aside("waiting for an editor on standard input; Ctrl-D ends it");
    }
    let asked = Arc::clone(&preparation) as Arc<dyn AcpPartsProvider>;
    let served = serve(&editor, asked, tokio::io::stdin(), tokio::io::stdout(), shutdown).await;
    let work = preparation.prepared().work.take();
    if let Some((host, runtime)) = &work {
        host.close().await;
        runtime.shut_down().await;
    }
    served.map_err(CommandError::failed)?;
    let refused = preparation.prepared().last_error.take().filter(|_| work.is_none());
    Ok(refused.map_or(CommandStatus::Done, |(status, _)| status))
}

/// Builds the parts that an editor is served with: once at the start and, if that fails, again for each session that the
/// editor wants. After the user mends the configuration, the next session works without a restart.
struct AcpPreparation {
    args: AcpArgs,
    cx: CliContext,
    editor: Editor,
    // Written when parts are put together, and read at the end; each holds the lock for a look.
    prepared: Mutex<AcpPreparationState>,
}

#[derive(Default)]
struct AcpPreparationState {
    /// Parts for the first session, which has not asked for them yet.
    parts: Option<AcpServeParts>,
    /// The host and the runtime to close at the end.
    work: Option<(Arc<AgentHost>, Runtime)>,
    /// The status and the message of the latest failure.
    last_error: Option<(CommandStatus, String)>,
}

impl AcpPartsProvider for AcpPreparation {
    fn prepare(&self) -> BoxFuture<'_, Result<AcpServeParts, String>> {
        Box::pin(async {
            let parts = self.prepared().parts.take();
            match parts {
                Some(parts) => Ok(parts),
                None => self.parts().await.map_err(|err| self.report_failure(err)),
            }
        })
    }
}

impl AcpPreparation {
    fn prepared(&self) -> MutexGuard<'_, AcpPreparationState> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn parts(&self) -> Result<AcpServeParts, CommandError> {
        let settings = self.cx.resolve_settings()?;
        let front = AgentFrontEnd {
            models: named_models(self.args.model.choice(), &settings, &self.cx.host),
            agent: self.args.agent.as_deref(),
            asker: self.editor.asker(),
            watcher: self.editor.watcher(),
        };
        let work = compose::agent_host(front, &settings, &self.cx.host).await?;
        // An unknown agent is reported now, and not when the first session begins.
        if !work.agents.get(&work.agent).is_some_and(|agent| agent.mode.is_primary()) {
            let offered = work.agents.iter().filter(|agent| agent.mode.is_primary());
            let available = offered.map(|agent| agent.name.clone()).collect();
            let name = work.agent.clone();
            work.close().await;
            return Err(agent_command_error(AgentError::UnknownAgent { name, available }));
        }
        let ComposedAgent { host, runtime, agents, agent } = work;
        let host = Arc::new(host);
        self.prepared().work = Some((Arc::clone(&host), runtime.clone()));
        Ok(AcpServeParts {
            host,
            runtime,
            notices: notices(&settings, &agents),
            agents,
            agent,
            context_tokens: settings.agent.bounds().context_tokens,
            format_time: rfc3339,
        })
    }

    /// Prints a failure on standard error, unless it is the same as the last one. Returns its text for the editor.
    fn report_failure(&self, err: CommandError) -> String {
        let message = haft_contract::escape_controls(&err.message);
        let hint = err.hint.map(|hint| {
            hint::with_journal_options(
                &haft_contract::escape_controls(&hint),
                &self.cx.setting_args,
            )
        });
        let mut prepared = self.prepared();
        if prepared.last_error.as_ref().is_none_or(|(_, known)| *known != message) {
            output::print_error(&message, hint.as_deref());
        }
        prepared.last_error = Some((err.status, message.clone()));
        match hint {
            Some(hint) => format!("{message}\n\nhint: {hint}"),
            None => message,
        }
    }
}

/// Returns notices about the configuration for the person at the editor, who does not see standard error.
fn notices(settings: &EffectiveSettings, agents: &AgentRegistry) -> Vec<String> {
    let withheld = settings.untrusted.iter().map(|untrusted| {
        let (message, hint) = (&untrusted.message, next_step::command_of(&untrusted.next()));
        let text = format!("{message}\nhint: {hint}, and have the editor start haft again");
        haft_contract::escape_controls(&text)
    });
    let problems = match agents.problems.len() {
        0 => None,
        1 => Some("An agent has a problem: haft agents check".to_owned()),
        problems => Some(format!("Agents have {problems} problems: haft agents check")),
    };
    withheld.chain(problems).collect()
}
