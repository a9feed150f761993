//! One conversation as front ends hold it. It has one turn at a time, which goes on by itself until it is over or told to
//! stop; giving up waiting for it tells it to stop. What happens in a turn is not here.

use std::sync::{Arc, OnceLock};

use haft::{Run, Session};
use haft_contract::CallTime;
use haft_journal::{
    ChatFirmness, ChatId, ChatMessage, ChatPart, ChatRecord, ChatSession, ChatStatus, MessageId,
    MessageQuery,
};
use haft_model::Model;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::children::Children;
use crate::definition::AgentDefinition;
use crate::error::AgentError;
use crate::event::{AgentEvent, Happened};
use crate::host::{HostShared, Taken};
use crate::limits::PROMPT_BYTES_MAX;
use crate::narrow::Layer;
use crate::turn;

/// What a turn begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// A person says something. Calls that a process which was killed had not begun are not made any more.
    Say(String),
    /// The turn that was not finished is gone on with, or the model is told what came of subagents in the background. Where
    /// there is nothing to go on with, the last answer is the answer.
    GoOn,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// The agent has said all.
    Done {
        /// The last thing that it said.
        text: String,
    },
    /// It was told to stop.
    Aborted,
    /// The agent has answered as often as it may in one turn. It can be gone on with.
    StepsSpent,
    /// The answer reached its greatest length. It can be gone on with.
    OutputCut,
    /// The model, or a filter around it, would not answer.
    Refused {
        /// Why.
        reason: String,
    },
}

/// One conversation. It is this process's for as long as somebody has it.
pub struct Chat {
    core: Arc<ChatCore>,
    held: Held,
}

/// What a chat works with, which does not change.
pub(crate) struct ChatCore {
    pub(crate) host: Arc<HostShared>,
    pub(crate) id: ChatId,
    pub(crate) agent: Arc<AgentDefinition>,
    pub(crate) model_name: String,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) layers: Vec<Layer>,
    /// What the front end may, narrowed to what this chat may.
    pub(crate) session: Session,
    pub(crate) run: Run,
    pub(crate) depth: u32,
    pub(crate) children: Arc<Children>,
    /// The time of the call that waits for this chat, where one does.
    pub(crate) above: OnceLock<Arc<dyn CallTime>>,
    pub(crate) _taken: Taken,
}

/// Where the chat's row is: here, or with the turn that is under way.
enum Held {
    Here(Box<ChatSession>),
    InTurn(JoinHandle<Turned>),
    Lost,
}

type Turned = (Box<ChatSession>, Result<TurnEnd, AgentError>);

impl ChatCore {
    /// Tells whoever watches.
    pub(crate) fn tell(&self, happened: Happened) {
        self.host.parts.watcher.event(AgentEvent { happened, session: self.id.clone() });
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.host.now_ms()
    }
}

impl Chat {
    /// Returns the chat that this process has from now on.
    pub(crate) fn of(core: Arc<ChatCore>, row: ChatSession) -> Self {
        core.tell(Happened::Session {
            agent: row.agent.clone(),
            model: row.model.clone(),
            parent: row.parent_id.clone(),
        });
        Self { core, held: Held::Here(Box::new(row)) }
    }

    /// Says that a call waits for the chat, whose time stands while a person is asked in it.
    pub(crate) fn is_waited_for(&self, time: &Arc<dyn CallTime>) {
        // A chat is begun or opened by the call that waits for it, and given back before another one can.
        let _ = self.core.above.set(Arc::clone(time));
    }

    pub(crate) fn core(&self) -> &Arc<ChatCore> {
        &self.core
    }

    /// Returns the chat's name.
    pub fn id(&self) -> &ChatId {
        &self.core.id
    }

    /// Returns the name of the agent.
    pub fn agent(&self) -> &str {
        &self.core.agent.name
    }

    /// Returns the name of the model.
    pub fn model(&self) -> &str {
        &self.core.model_name
    }

    /// Returns the session that the agent's calls are made in, which may what the agent may.
    pub fn session(&self) -> &Session {
        &self.core.session
    }

    /// Has one turn. Cancelling stops it at the next possible moment: what was said and done until then is recorded, and
    /// so it is when the future is dropped. What follows in this chat waits for that.
    pub async fn turn(
        &mut self,
        prompt: Prompt,
        cancellation: CancellationToken,
    ) -> Result<TurnEnd, AgentError> {
        check(&prompt)?;
        let row = self.take().await?;
        if self.core.host.closing.is_cancelled() {
            self.held = Held::Here(row);
            return Err(AgentError::Closed);
        }
        let stop = self.core.host.closing.child_token();
        // Whoever drops this future stops the turn.
        let _stop_on_drop = stop.clone().drop_guard();
        let (core, mut row) = (Arc::clone(&self.core), row);
        let stopped = stop.clone();
        let turning = async move {
            let end = turn::turn(&core, &mut row, prompt, stopped).await;
            (row, end)
        };
        self.held = Held::InTurn(self.core.host.tasks.spawn(turning));
        let Held::InTurn(turned) = &mut self.held else { return Err(AgentError::Panicked) };
        let turned = tokio::select! {
            biased;
            () = cancellation.cancelled() => {
                stop.cancel();
                turned.await
            }
            turned = &mut *turned => turned,
        };
        self.put_back(turned.ok())
    }

    fn put_back(&mut self, turned: Option<Turned>) -> Result<TurnEnd, AgentError> {
        let Some((row, end)) = turned else {
            self.held = Held::Lost;
            return Err(AgentError::Panicked);
        };
        self.held = Held::Here(row);
        end
    }

    /// Takes the row once no turn is under way.
    async fn take(&mut self) -> Result<Box<ChatSession>, AgentError> {
        self.settled().await?;
        match std::mem::replace(&mut self.held, Held::Lost) {
            Held::Here(row) => Ok(row),
            held @ (Held::InTurn(_) | Held::Lost) => {
                self.held = held;
                Err(AgentError::Panicked)
            }
        }
    }

    /// Waits until no turn is under way, and returns the row.
    pub(crate) async fn settled(&mut self) -> Result<&mut ChatSession, AgentError> {
        if let Held::InTurn(turned) = &mut self.held {
            let turned = turned.await.ok();
            // Nobody waited for that turn, so nobody is told how it ended.
            let _ = self.put_back(turned);
        }
        match &mut self.held {
            Held::Here(row) => Ok(row),
            Held::InTurn(_) | Held::Lost => Err(AgentError::Panicked),
        }
    }

    /// Stops what the chat waits for between its turns: subagents in the background.
    pub(crate) async fn give_up(&mut self) -> Result<TurnEnd, AgentError> {
        self.core.children.stop_all();
        self.settled().await?.status = ChatStatus::Aborted;
        self.record().await.map(|()| TurnEnd::Aborted)
    }

    /// Returns the chat's row.
    pub async fn row(&mut self) -> Result<ChatSession, AgentError> {
        self.settled().await.cloned()
    }

    /// Records the row.
    pub(crate) async fn record(&self) -> Result<(), AgentError> {
        let Held::Here(row) = &self.held else { return Ok(()) };
        let records = vec![ChatRecord::Session((**row).clone())];
        Ok(self.core.run.record_chat(records, ChatFirmness::Durable).await?)
    }

    /// Gives the chat a title.
    pub async fn rename(&mut self, title: String) -> Result<(), AgentError> {
        self.settled().await?.title = Some(title);
        self.record().await
    }

    /// Sets a message and all that followed aside, and returns how many they are: the model does not read them any more.
    /// Nothing is deleted, and nothing that was done is undone.
    pub async fn rewind(&mut self, from: &MessageId) -> Result<u64, AgentError> {
        self.settled().await?;
        Ok(self.core.run.rewind_chat(from, self.core.now_ms()).await?)
    }

    /// Returns what was said, the oldest first, without what was set aside.
    pub async fn history(&self) -> Result<Vec<(ChatMessage, Vec<ChatPart>)>, AgentError> {
        let journal = self.core.host.parts.runtime.journal();
        let mut history: Vec<(ChatMessage, Vec<ChatPart>)> = Vec::new();
        loop {
            let after = history.last().map(|(message, _)| message.id.clone());
            let query = MessageQuery { after, ..MessageQuery::default() };
            let page = journal.chat_messages(&self.core.id, query).await?;
            if page.is_empty() {
                return Ok(history);
            }
            history.extend(page);
        }
    }

    /// Waits until the end of a subagent in the background is there to be told; the next turn tells it to the model, and
    /// [`Prompt::GoOn`] is a turn for that alone. Returns whether there is one: where no subagent is in the background, there
    /// is none to wait for.
    pub async fn next_background(&self) -> bool {
        self.core.children.next_end().await
    }

    /// Stops the subagents that are in the background, and returns how many they were, once they and all that they had
    /// begun have ended. The next turn tells the model of it.
    pub async fn stop_background(&self) -> usize {
        self.core.children.end_all().await
    }
}

fn check(prompt: &Prompt) -> Result<(), AgentError> {
    match prompt {
        Prompt::Say(text) if text.trim().is_empty() => Err(AgentError::EmptyPrompt),
        Prompt::Say(text) if text.len() > PROMPT_BYTES_MAX => {
            Err(AgentError::PromptTooLong { found: text.len(), bytes_max: PROMPT_BYTES_MAX })
        }
        Prompt::Say(_) | Prompt::GoOn => Ok(()),
    }
}
