//! `haft agent`: one turn of an agent for a prompt, or a conversation at the terminal. The agent crate runs the turns and
//! defines their events.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use haft_agent::{AgentError, NewSession, SessionChanges, TurnEnd, TurnPrompt};
use haft_journal::SessionId;

use super::conversation::TerminalConversation;
use super::conversation_work::ConversationWork;
use super::paced_models::PacedModels;
use super::turn::{ShutdownSignals, TurnRunner, can_continue, turn_status, unfinished_note};
use super::view::{SessionView, SessionViewOptions};
use super::{AgentAsker, asker, asker_or_waiting};
use crate::agent_error::agent_command_error;
use crate::arguments::cli_context::CliContext;
use crate::arguments::hint;
use crate::arguments::input;
use crate::arguments::latest::find_session;
use crate::arguments::setting_args::SettingArgs;
use crate::commands::agent::AgentArgs;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::views::output;
use haft_app::compose;
use haft_app::compose::agent::{AgentFrontEnd, ComposedAgent};
use haft_app::manifest::AskPolicy;
use haft_app::named_models;
use haft_app::settings::EffectiveSettings;

/// The result of the work of one command.
enum AgentCommandEnd {
    TurnOver(SessionId, TurnEnd),
    /// The turn failed after it began; its events have reported the failure.
    Failed(CommandError),
    ConversationOver,
}

/// Runs the command.
pub(crate) async fn run(args: AgentArgs, cx: &CliContext) -> CommandResult {
    let is_json = cx.setting_args.json;
    let (is_stdin_terminal, is_resumed) = (io::stdin().is_terminal(), args.resume.is_some());
    let has_screen = is_stdin_terminal && io::stdout().is_terminal() && io::stderr().is_terminal();
    let is_conversation = args.prompt.is_none() && has_screen && !is_json;
    let text = match &args.prompt {
        Some(given) => input::read_text(given, "prompt")?,
        None if is_stdin_terminal => String::new(),
        None => input::read_text("-", "prompt")?,
    };
    // An unusable prompt is reported before a session begins for it.
    let prompt = match (text.trim().is_empty(), args.prompt.is_some()) {
        _ if is_conversation => None,
        (false, _) => Some(TurnPrompt::Message(text.into())),
        (true, true) => return Err(agent_command_error(AgentError::EmptyPrompt)),
        (true, false) if is_resumed => Some(TurnPrompt::Continue),
        (true, false) => {
            let message = "there is no prompt, and no terminal to have a conversation on: say what is to be done";
            let err = CommandError::usage(message);
            return Err(err.hint("haft agent 'What is this project about?'"));
        }
    };
    let settings = cx.resolve_settings()?;
    let roots = compose::roots(&settings)?;
    let is_plain = args.plain || output::is_dumb_terminal();
    let context_tokens = settings.agent.bounds().context_tokens;
    let prices = settings.model.prices();
    let options = SessionViewOptions { is_json, is_plain, context_tokens, prices };
    let view = SessionView::begin(options)?;
    let asker = asker(&settings.project, view.screen(), args.headless);
    let policy = if args.headless { AskPolicy::Deny } else { settings.asks };
    let models = named_models(args.model.choice(), &settings, &cx.host);
    let front = AgentFrontEnd {
        models: Arc::new(PacedModels { models, backlog: view.backlog() }),
        agent: args.agent.as_deref(),
        asker: asker_or_waiting(asker.as_ref(), view.screen(), policy),
        watcher: view.watcher(roots),
    };
    let composed = compose::agent_host(front, &settings, &cx.host).await?;
    let session = AgentSessionSetup {
        args: &args,
        cx,
        settings: &settings,
        composed: &composed,
        view: &view,
        asker,
    };
    let mut turns = None;
    let done = session.execute(prompt, &mut turns).await;
    let mut end = ShutdownSignals::from_turns(turns)?;
    end.wait_or_exit(
        CommandStatus::InDoubt,
        "ended while the last of it was being stopped",
        composed.close(),
    )
    .await;
    // The hosts are gone, so no further event comes: the view shows the rest.
    drop(composed);
    let unread = "ended before all of it was read: haft sessions show has the rest";
    end.wait_or_exit(CommandStatus::Failed, unread, view.finish()).await;
    let (done, setting_args) = (done?, cx.setting_args.clone());
    // Standard output may take nothing, so this wait ends at a signal too.
    let printed = tokio::task::spawn_blocking(move || print_end(done, &setting_args));
    end.wait_or_exit(CommandStatus::Failed, unread, printed).await.map_err(CommandError::failed)?
}

/// The parts that a session needs.
struct AgentSessionSetup<'a> {
    args: &'a AgentArgs,
    cx: &'a CliContext,
    settings: &'a EffectiveSettings,
    composed: &'a ComposedAgent,
    view: &'a SessionView,
    asker: Option<std::sync::Arc<AgentAsker>>,
}

impl AgentSessionSetup<'_> {
    /// Has the one turn of a prompt, or a conversation. `turns` keeps the runner for the end of the command.
    async fn execute(
        self,
        prompt: Option<TurnPrompt>,
        turns: &mut Option<TurnRunner>,
    ) -> Result<AgentCommandEnd, CommandError> {
        let ComposedAgent { host, runtime, agents, agent } = self.composed;
        let has_own_model =
            |name: &str| agents.get(name).is_some_and(|agent| agent.model.is_some());
        let model = &self.args.model;
        let mut chat = match &self.args.resume {
            None => {
                if !has_own_model(agent) {
                    model.check_named(self.settings)?;
                }
                let new = NewSession { agent: agent.clone(), ..NewSession::default() };
                host.begin(new).await.map_err(agent_command_error)?
            }
            Some(named) => {
                let root = runtime.roots().workspace().to_string_lossy().into_owned();
                let id = find_session(named, &root, &**runtime.journal()).await?;
                let changes =
                    SessionChanges { model: model.named_in_command(), ..SessionChanges::default() };
                let chat = host.open_with(&id, &changes).await.map_err(agent_command_error)?;
                let note = model.kept_model_note(chat.model());
                if let Some(note) = note.filter(|_| !has_own_model(chat.agent())) {
                    self.view.screen().show_note(note);
                }
                chat
            }
        };
        let runner = TurnRunner::new(self.view.screen(), self.asker, &self.cx.setting_args)?;
        let turns = turns.insert(runner);
        let Some(prompt) = prompt else {
            let work = ConversationWork {
                composed: self.composed,
                settings: self.settings,
                cx: self.cx,
                is_plain: self.args.plain || output::is_dumb_terminal(),
            };
            TerminalConversation::begin(work, chat, turns).await?.run_loop().await?;
            return Ok(AgentCommandEnd::ConversationOver);
        };
        let err = match turns.run_turns(&mut chat, prompt).await {
            Ok(end) => return Ok(AgentCommandEnd::TurnOver(chat.id().clone(), end)),
            Err(err @ (AgentError::EmptyPrompt | AgentError::PromptTooLong { .. })) => {
                return Err(agent_command_error(err));
            }
            Err(err) => err,
        };
        // After a failure of the model, resuming the session tries the turn again.
        let is_of_model = matches!(err, AgentError::Model(_) | AgentError::Summary(_));
        let err = agent_command_error(err);
        Ok(AgentCommandEnd::Failed(match err.hint.is_none() && is_of_model {
            true => err.hint(format!("haft agent --resume {}", chat.id())),
            false => err,
        }))
    }
}

/// Prints the answer unless the view has shown it, and says why a turn is not done.
fn print_end(done: AgentCommandEnd, settings: &SettingArgs) -> CommandResult {
    let (session, end) = match done {
        AgentCommandEnd::TurnOver(session, end) => (session, end),
        AgentCommandEnd::ConversationOver => return Ok(CommandStatus::Done),
        AgentCommandEnd::Failed(err) if settings.json => {
            // The last event has reported it to programs.
            let hint = err.hint.as_deref();
            let hint = hint.map(|hint| {
                hint::with_journal_options(&haft_contract::escape_controls(hint), settings)
            });
            output::print_error(&haft_contract::escape_controls(&err.message), hint.as_deref());
            return Ok(err.status);
        }
        AgentCommandEnd::Failed(err) => return Err(err),
    };
    let is_read = settings.json || io::stdout().is_terminal();
    if let TurnEnd::Done { text } = &end
        && !is_read
    {
        output::write_data(text.trim_end())?;
    }
    if let Some(note) = unfinished_note(&end) {
        let hint = can_continue(&end).then(|| {
            hint::with_journal_options(&format!("haft agent --resume {session}"), settings)
        });
        output::print_error(&note, hint.as_deref());
    }
    Ok(turn_status(&end))
}
