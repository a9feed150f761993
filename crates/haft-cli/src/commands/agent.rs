//! `haft agent`: one turn of an agent for a prompt, or a conversation at the terminal. The agent crate runs the turns and
//! defines their events.

use std::io::{self, IsTerminal as _};

use clap::Args;
use haft_agent::{AgentError, AgentSession, NewSession, SessionChanges, TurnEnd, TurnPrompt};
use haft_journal::SessionId;

use crate::agent_run::{
    AgentAsker, ShutdownSignals, TerminalConversation, TurnRunner, agent_command_error, asker,
    asker_or_headless, can_continue, turn_status, unfinished_note,
};
use crate::arguments::hint;
use crate::arguments::input;
use crate::arguments::latest::find_session;
use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandStatus};
use crate::model::ModelArgs;
use crate::views::output;
use crate::views::session::SessionView;
use haft_app::compose::agent::{AgentFrontEnd, ComposedAgent};
use haft_app::host::AppHost;
use haft_app::providers::named_models;
use haft_app::settings::EffectiveSettings;
use haft_app::{compose, settings};

/// Talk to an agent that works in this directory
///
/// With a prompt, the agent has one turn: it reads the prompt, makes calls and answers. haft prints the last answer, and
/// shows the progress on standard error. Without a prompt, a conversation begins on a terminal: /help shows what can be
/// typed there. Text that is piped in is the prompt.
///
/// Every call is checked, journaled and confined as by haft call. Questions are asked on the terminal; without one, the call
/// is refused. Ctrl-C stops the turn, and a second one ends haft. The session is kept either way, and --resume continues it:
/// calls that were made before are not made again.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft agent --model openai/gpt-5
  haft agent 'Fix the failing test'
  haft agent --agent plan 'Where are rules decided?'
  cargo test 2>&1 | haft agent
  haft agent --resume last 'Now the other one'
  haft agent --headless --json 'Update the changelog' | jq -c .type

In haft.toml:
  [agent]
  default = \"build\"          # the agent that is talked to
  context_tokens = 128000    # what the model can read
  output_tokens = 8000       # the longest answer; left to the provider unless set
  max_steps = 200            # answers of the model in one turn

The status is 0 if the agent said all that it had to say, 1 if the turn failed or was stopped, and 4 if it is
not known whether an effect happened.")]
pub(crate) struct AgentArgs {
    /// The task, @FILE to read it from a file, or - for standard input
    prompt: Option<String>,
    /// Agent to talk to: build, unless the manifest names another one ([agent] default)
    ///
    /// A session that --resume names keeps the agent that it was begun with.
    #[arg(long, value_name = "NAME", conflicts_with = "resume")]
    agent: Option<String>,
    /// Session to resume, as haft sessions list shows it, or last for the one used last in this workspace
    ///
    /// Without a prompt, an interrupted turn continues. The session keeps its model, unless --model names another one here:
    /// that model answers from then on.
    #[arg(long, value_name = "SESSION")]
    resume: Option<String>,
    /// Ask no questions, not even on a terminal: refuse each call that would need an answer
    #[arg(long)]
    headless: bool,
    #[command(flatten)]
    model: ModelArgs,
}

/// The work of one command.
enum AgentCommandWork {
    Turn(TurnPrompt),
    Conversation,
}

/// The result of that work.
enum AgentCommandEnd {
    TurnOver(SessionId, TurnEnd),
    /// The turn failed after it began; its events have reported the failure.
    Failed(CommandError),
    ConversationOver,
}

/// Runs the command.
pub(crate) async fn run(
    args: AgentArgs,
    setting_args: &SettingArgs,
    host: &AppHost,
) -> Result<CommandStatus, CommandError> {
    let work = read_work(&args, setting_args)?;
    let settings = settings::resolve(&setting_args.overrides(), host)?;
    let roots = compose::roots(&settings)?;
    let view = SessionView::begin(setting_args.json)?;
    let asker = asker(&settings.project, view.screen(), args.headless);
    let front = AgentFrontEnd {
        models: view.backlog().pace_models(named_models(args.model.choice(), &settings, host)),
        agent: args.agent.as_deref(),
        asker: asker_or_headless(asker.as_ref()),
        watcher: view.watcher(roots),
    };
    let composed = compose::agent_host(front, &settings, host).await?;
    let session = AgentSessionSetup {
        args: &args,
        setting_args,
        settings: &settings,
        composed: &composed,
        view: &view,
        asker,
    };
    let mut turns = None;
    let done = match work {
        AgentCommandWork::Turn(prompt) => session.run_turn(prompt, &mut turns).await,
        AgentCommandWork::Conversation => session
            .run_conversation(host, &mut turns)
            .await
            .map(|()| AgentCommandEnd::ConversationOver),
    };
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
    let (done, setting_args) = (done?, setting_args.clone());
    // Also the answer is written to something that may take nothing.
    let told = tokio::task::spawn_blocking(move || print_end(done, &setting_args));
    end.wait_or_exit(CommandStatus::Failed, unread, told).await.map_err(CommandError::failed)?
}

fn read_work(
    args: &AgentArgs,
    setting_args: &SettingArgs,
) -> Result<AgentCommandWork, CommandError> {
    if let Some(given) = &args.prompt {
        let text = input::read_text(given, "prompt")?;
        // Before a session is begun for it.
        return match text.trim().is_empty() {
            true => Err(agent_command_error(AgentError::EmptyPrompt)),
            false => Ok(AgentCommandWork::Turn(TurnPrompt::Message(text))),
        };
    }
    if io::stdin().is_terminal() {
        let is_whole = io::stdout().is_terminal() && io::stderr().is_terminal();
        return match (is_whole && !setting_args.json, args.resume.is_some()) {
            (true, _) => Ok(AgentCommandWork::Conversation),
            (false, true) => Ok(AgentCommandWork::Turn(TurnPrompt::Continue)),
            (false, false) => Err(no_prompt_error()),
        };
    }
    let text = input::read_text("-", "prompt")?;
    match (text.trim().is_empty(), args.resume.is_some()) {
        (false, _) => Ok(AgentCommandWork::Turn(TurnPrompt::Message(text))),
        (true, true) => Ok(AgentCommandWork::Turn(TurnPrompt::Continue)),
        (true, false) => Err(no_prompt_error()),
    }
}

fn no_prompt_error() -> CommandError {
    let message =
        "there is no prompt, and no terminal to have a conversation on: say what is to be done";
    CommandError::usage(message).hint("haft agent 'What is this project about?'")
}

/// The parts that a session needs.
struct AgentSessionSetup<'a> {
    args: &'a AgentArgs,
    setting_args: &'a SettingArgs,
    settings: &'a EffectiveSettings,
    composed: &'a ComposedAgent,
    view: &'a SessionView,
    asker: Option<std::sync::Arc<AgentAsker>>,
}

impl AgentSessionSetup<'_> {
    /// Begins a session, or opens the one to resume.
    async fn open(&self) -> Result<AgentSession, CommandError> {
        let Some(named) = &self.args.resume else {
            let agent = self.composed.agent.clone();
            let has_model =
                self.composed.agents.get(&agent).is_some_and(|agent| agent.model.is_some());
            if !has_model {
                self.args.model.check_named(&self.settings.model)?;
            }
            let new = NewSession { agent, ..NewSession::default() };
            return self.composed.host.begin(new).await.map_err(agent_command_error);
        };
        let journal = self.composed.runtime.journal();
        let root = self.composed.runtime.roots().workspace().to_string_lossy().into_owned();
        let id = find_session(named, &root, &**journal).await?;
        let changes = SessionChanges {
            model: self.args.model.named_in_command(),
            ..SessionChanges::default()
        };
        let chat =
            self.composed.host.open_with(&id, &changes).await.map_err(agent_command_error)?;
        let chooses =
            self.composed.agents.get(chat.agent()).is_some_and(|agent| agent.model.is_some());
        if let Some(note) = self.args.model.kept_model_note(chat.model()).filter(|_| !chooses) {
            self.view.screen().show_note(note);
        }
        Ok(chat)
    }

    /// Begins to receive signals for turns. `turns` keeps the runner for the end of the command.
    fn start_turns<'t>(
        &self,
        turns: &'t mut Option<TurnRunner>,
    ) -> Result<&'t mut TurnRunner, CommandError> {
        let begun = TurnRunner::new(self.view.screen(), self.asker.clone(), self.setting_args)?;
        Ok(turns.insert(begun))
    }

    async fn run_turn(
        self,
        prompt: TurnPrompt,
        turns: &mut Option<TurnRunner>,
    ) -> Result<AgentCommandEnd, CommandError> {
        let mut chat = self.open().await?;
        let turns = self.start_turns(turns)?;
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

    async fn run_conversation(
        self,
        host: &AppHost,
        turns: &mut Option<TurnRunner>,
    ) -> Result<(), CommandError> {
        let chat = self.open().await?;
        let turns = self.start_turns(turns)?;
        let history = host.state().agent_history();
        TerminalConversation::begin(self.composed, chat, turns, history).await?.run_loop().await
    }
}

/// Prints the answer unless the view has shown it, and says why a turn is not done.
fn print_end(done: AgentCommandEnd, settings: &SettingArgs) -> Result<CommandStatus, CommandError> {
    let (session, end) = match done {
        AgentCommandEnd::TurnOver(session, end) => (session, end),
        AgentCommandEnd::ConversationOver => return Ok(CommandStatus::Done),
        AgentCommandEnd::Failed(err) if settings.json => {
            // The last event has reported it to programs.
            let hint = err.hint.as_deref();
            let hint = hint
                .map(|hint| hint::with_journal_options(&output::escape_controls(hint), settings));
            output::print_error(&output::escape_controls(&err.message), hint.as_deref());
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
