//! `haft agent`: one turn of an agent for a prompt, or a conversation at the terminal. Which events there are and what
//! happens in a turn is the agent crate's business.

use std::io::{self, IsTerminal as _};

use clap::Args;
use haft_agent::{AgentError, Changes, Chat, NewChat, Prompt, TurnEnd};
use haft_journal::ChatId;

use crate::agent_run::{
    AgentAsker, Conversation, Look, Turns, View, WindingDown, asker, failure, goes_on, note_of,
    or_headless, status_of,
};
use crate::cli::SettingArgs;
use crate::compose::agent::{AgentFront, AgentWork};
use crate::error::{CommandError, Status};
use crate::latest::named_session;
use crate::model::ModelArgs;
use crate::settings::Settings;
use crate::state::State;
use crate::{compose, hint, input, output, settings};

/// Talk to an agent that works in this directory
///
/// With a prompt the agent has one turn: it is asked, makes the calls that it wants, and its last answer is printed; what
/// happens meanwhile is said on standard error. Without one, on a terminal, a conversation begins: /help shows what can be
/// typed there. Text that is piped in is the prompt.
///
/// Every call is checked, journaled and confined as by haft call. What is to be asked is asked on the terminal; where nobody
/// can be asked it is refused. Ctrl-C stops the turn, a second one ends haft; what was said and done is kept either way, and a
/// session is gone on with by --resume: calls that were made before are not made again.
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
    /// What is to be done, @FILE to read it from a file, or - for standard input
    prompt: Option<String>,
    /// Agent to talk to: build, unless the manifest names another one ([agent] default)
    ///
    /// A session that is gone on with keeps the agent that it was begun with.
    #[arg(long, value_name = "NAME", conflicts_with = "resume")]
    agent: Option<String>,
    /// Session to go on with, as haft sessions list shows it, or last for the one used last in this workspace
    ///
    /// A turn that was interrupted is gone on with unless a prompt is given. The session keeps its model, unless --model
    /// names another one here: that one answers from then on.
    #[arg(long, value_name = "SESSION")]
    resume: Option<String>,
    /// Ask nobody, also on a terminal: what would be asked is refused
    #[arg(long)]
    headless: bool,
    #[command(flatten)]
    model: ModelArgs,
}

/// What is to be done in a session.
enum Work {
    Turn(Prompt),
    Conversation,
}

/// What came of it.
enum Done {
    Ended(ChatId, TurnEnd),
    /// The turn began, and its end was told with all that happened in it.
    Failed(CommandError),
    Talked,
}

/// Runs the command.
pub(crate) async fn run(
    args: AgentArgs,
    setting_args: &SettingArgs,
    state: &State,
) -> Result<Status, CommandError> {
    let work = work(&args, setting_args)?;
    let settings = settings::resolve(setting_args, state)?;
    let look = if setting_args.json { Look::Json } else { Look::Text };
    let roots = compose::roots(&settings)?;
    let view = View::begin(look)?;
    let asker = asker(&settings.project, view.screen(), args.headless);
    let front = AgentFront {
        model: &args.model,
        agent: args.agent.as_deref(),
        asker: or_headless(asker.as_ref()),
        watcher: view.watcher(roots),
        backlog: Some(view.backlog()),
    };
    let host = compose::agent_host(front, &settings, state).await?;
    let session =
        Session { args: &args, setting_args, settings: &settings, host: &host, view: &view, asker };
    let mut turns = None;
    let done = match work {
        Work::Turn(prompt) => session.turn(prompt, &mut turns).await,
        Work::Conversation => session.conversation(state, &mut turns).await.map(|()| Done::Talked),
    };
    let mut end = WindingDown::after(turns)?;
    end.or_exit(Status::InDoubt, "ended while the last of it was being stopped", host.close())
        .await;
    // Once nobody tells it anything more, what it was told is shown.
    drop(host);
    let unread = "ended before all of it was read: haft sessions show has the rest";
    end.or_exit(Status::Failed, unread, view.end()).await;
    let (done, setting_args) = (done?, setting_args.clone());
    // Also the answer is written to something that may take nothing.
    let told = tokio::task::spawn_blocking(move || tell(done, &setting_args));
    end.or_exit(Status::Failed, unread, told).await.map_err(CommandError::failed)?
}

fn work(args: &AgentArgs, setting_args: &SettingArgs) -> Result<Work, CommandError> {
    if let Some(given) = &args.prompt {
        let text = input::read_text(given, "prompt")?;
        // Before a session is begun for it.
        return match text.trim().is_empty() {
            true => Err(failure(AgentError::EmptyPrompt)),
            false => Ok(Work::Turn(Prompt::Say(text))),
        };
    }
    if io::stdin().is_terminal() {
        let is_whole = io::stdout().is_terminal() && io::stderr().is_terminal();
        return match (is_whole && !setting_args.json, args.resume.is_some()) {
            (true, _) => Ok(Work::Conversation),
            (false, true) => Ok(Work::Turn(Prompt::GoOn)),
            (false, false) => Err(no_prompt()),
        };
    }
    let text = input::read_text("-", "prompt")?;
    match (text.trim().is_empty(), args.resume.is_some()) {
        (false, _) => Ok(Work::Turn(Prompt::Say(text))),
        (true, true) => Ok(Work::Turn(Prompt::GoOn)),
        (true, false) => Err(no_prompt()),
    }
}

fn no_prompt() -> CommandError {
    let message =
        "there is no prompt, and no terminal to have a conversation on: say what is to be done";
    CommandError::usage(message).hint("haft agent 'What is this project about?'")
}

/// What a session is had with.
struct Session<'a> {
    args: &'a AgentArgs,
    setting_args: &'a SettingArgs,
    settings: &'a Settings,
    host: &'a AgentWork,
    view: &'a View,
    asker: Option<std::sync::Arc<AgentAsker>>,
}

impl Session<'_> {
    /// Begins the session, or opens the one that is gone on with.
    async fn open(&self) -> Result<Chat, CommandError> {
        let Some(named) = &self.args.resume else {
            let agent = self.host.agent.clone();
            let has_model = self.host.agents.get(&agent).is_some_and(|agent| agent.model.is_some());
            if !has_model {
                self.args.model.check_named(&self.settings.model)?;
            }
            let new = NewChat { agent, ..NewChat::default() };
            return self.host.host.begin(new).await.map_err(failure);
        };
        let journal = self.host.runtime.journal();
        let root = self.host.runtime.roots().workspace().to_string_lossy().into_owned();
        let id = named_session(named, &root, &**journal).await?;
        let changes = Changes { model: self.args.model.in_command(), ..Changes::default() };
        let chat = self.host.host.open_with(&id, &changes).await.map_err(failure)?;
        let chooses = self.host.agents.get(chat.agent()).is_some_and(|agent| agent.model.is_some());
        if let Some(note) = self.args.model.note_of_kept(chat.model()).filter(|_| !chooses) {
            self.view.screen().note(note);
        }
        Ok(chat)
    }

    /// Begins to have turns, and leaves them to what comes after the last.
    fn turns<'t>(&self, turns: &'t mut Option<Turns>) -> Result<&'t mut Turns, CommandError> {
        let begun = Turns::new(self.view.screen(), self.asker.clone(), self.setting_args)?;
        Ok(turns.insert(begun))
    }

    async fn turn(self, prompt: Prompt, turns: &mut Option<Turns>) -> Result<Done, CommandError> {
        let mut chat = self.open().await?;
        let turns = self.turns(turns)?;
        match turns.have_all(&mut chat, prompt).await {
            Ok(end) => Ok(Done::Ended(chat.id().clone(), end)),
            Err(err @ (AgentError::EmptyPrompt | AgentError::PromptTooLong { .. })) => {
                Err(failure(err))
            }
            Err(err) => Ok(Done::Failed(failed(err, chat.id()))),
        }
    }

    async fn conversation(
        self,
        state: &State,
        turns: &mut Option<Turns>,
    ) -> Result<(), CommandError> {
        let chat = self.open().await?;
        let turns = self.turns(turns)?;
        Conversation::new(self.host, chat, turns, state.agent_history())?.hold().await
    }
}

/// Returns why a turn failed. One that failed at the model is tried again by going on with the session.
fn failed(err: AgentError, session: &ChatId) -> CommandError {
    let is_of_model = matches!(err, AgentError::Model(_) | AgentError::Summary(_));
    let err = failure(err);
    match err.hint.is_none() && is_of_model {
        true => err.hint(format!("haft agent --resume {session}")),
        false => err,
    }
}

/// Prints the answer where it was not read while it came, and says why a turn is not done.
fn tell(done: Done, settings: &SettingArgs) -> Result<Status, CommandError> {
    let (session, end) = match done {
        Done::Ended(session, end) => (session, end),
        Done::Talked => return Ok(Status::Done),
        Done::Failed(err) if settings.json => {
            // Programs were told by the last event.
            let hint = err.hint.as_deref();
            let hint = hint.map(|hint| hint::in_same_journal(&output::visible(hint), settings));
            output::error(&output::visible(&err.message), hint.as_deref());
            return Ok(err.status);
        }
        Done::Failed(err) => return Err(err),
    };
    let is_read = settings.json || io::stdout().is_terminal();
    if let TurnEnd::Done { text } = &end
        && !is_read
    {
        output::data(text.trim_end())?;
    }
    if let Some(note) = note_of(&end) {
        let hint = goes_on(&end)
            .then(|| hint::in_same_journal(&format!("haft agent --resume {session}"), settings));
        output::error(&note, hint.as_deref());
    }
    Ok(status_of(&end))
}
