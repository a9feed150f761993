//! One conversation as front ends hold it. It has one turn at a time, which goes on by itself until it is over or told to
//! stop; giving up waiting for it tells it to stop. What happens in a turn is not here.

use std::sync::Arc;

use haft::Connection;
use haft_contract::CallTime;
use haft_journal::{
    MessageId, MessagePart, MessageQuery, SessionDurability, SessionId, SessionMessage,
    SessionRecord, SessionRow, SessionStatus,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::error::AgentError;
use crate::event::AgentEventKind;
use crate::limits::PROMPT_BYTES_MAX;
use crate::session_context::AgentSessionContext;
use crate::turn::{self, TurnEnd, TurnPrompt};

/// One conversation. It is this process's for as long as somebody has it.
pub struct AgentSession {
    context: Arc<AgentSessionContext>,
    row_state: SessionRowState,
}

/// Where the chat's row is: here, or with the turn that is under way.
enum SessionRowState {
    Idle(Box<SessionRow>),
    InTurn(JoinHandle<TurnTaskResult>),
    Lost,
}

type TurnTaskResult = (Box<SessionRow>, Result<TurnEnd, AgentError>);

impl AgentSession {
    /// Returns the chat that this process has from now on.
    pub(crate) fn from_row(core: Arc<AgentSessionContext>, row: SessionRow) -> Self {
        core.notify_observer(AgentEventKind::Session {
            agent: row.agent.clone(),
            model: row.model.clone(),
            parent: row.parent_id.clone(),
        });
        Self { context: core, row_state: SessionRowState::Idle(Box::new(row)) }
    }

    /// Says that a call waits for the chat, whose time stands while a person is asked in it.
    pub(crate) fn set_parent_call_time(&self, time: &Arc<dyn CallTime>) {
        // A chat is begun or opened by the call that waits for it, and given back before another one can.
        let _ = self.context.parent_call_time.set(Arc::clone(time));
    }

    pub(crate) fn context(&self) -> &Arc<AgentSessionContext> {
        &self.context
    }

    /// Returns the chat's name.
    pub fn id(&self) -> &SessionId {
        &self.context.id
    }

    /// Returns the name of the agent.
    pub fn agent(&self) -> &str {
        &self.context.agent.name
    }

    /// Returns the name of the model.
    pub fn model(&self) -> &str {
        &self.context.model_name
    }

    /// Returns the session that the agent's calls are made in, which may what the agent may.
    pub fn connection(&self) -> &Connection {
        &self.context.connection
    }

    /// Has one turn. Cancelling stops it at the next possible moment: what was said and done until then is recorded, and
    /// so it is when the future is dropped. What follows in this chat waits for that.
    pub async fn run_turn(
        &mut self,
        prompt: TurnPrompt,
        cancellation: CancellationToken,
    ) -> Result<TurnEnd, AgentError> {
        check_prompt(&prompt)?;
        let row = self.take_row().await?;
        if self.context.host.closing.is_cancelled() {
            self.row_state = SessionRowState::Idle(row);
            return Err(AgentError::Closed);
        }
        // A child token is cancelled at the same moment as its parent, also while the turn never waits.
        let stop = cancellation.child_token();
        // Dropping this future stops the turn.
        let _stop_on_drop = stop.clone().drop_guard();
        let (core, mut row) = (Arc::clone(&self.context), row);
        let turning = async move {
            let closing = core.host.closing.clone();
            let end = {
                let mut turn =
                    std::pin::pin!(turn::run_turn(&core, &mut row, prompt, stop.clone()));
                tokio::select! {
                    biased;
                    () = closing.cancelled() => {
                        stop.cancel();
                        turn.await
                    }
                    end = &mut turn => end,
                }
            };
            (row, end)
        };
        self.row_state = SessionRowState::InTurn(self.context.host.tasks.spawn(turning));
        let SessionRowState::InTurn(turned) = &mut self.row_state else {
            return Err(AgentError::Panicked);
        };
        let turned = turned.await;
        self.restore_row(turned.ok())
    }

    fn restore_row(&mut self, turned: Option<TurnTaskResult>) -> Result<TurnEnd, AgentError> {
        let Some((row, end)) = turned else {
            self.row_state = SessionRowState::Lost;
            return Err(AgentError::Panicked);
        };
        self.row_state = SessionRowState::Idle(row);
        end
    }

    /// Takes the row once no turn is under way.
    async fn take_row(&mut self) -> Result<Box<SessionRow>, AgentError> {
        self.wait_for_row().await?;
        match std::mem::replace(&mut self.row_state, SessionRowState::Lost) {
            SessionRowState::Idle(row) => Ok(row),
            held @ (SessionRowState::InTurn(_) | SessionRowState::Lost) => {
                self.row_state = held;
                Err(AgentError::Panicked)
            }
        }
    }

    /// Waits until no turn is under way, and returns the row.
    pub(crate) async fn wait_for_row(&mut self) -> Result<&mut SessionRow, AgentError> {
        if let SessionRowState::InTurn(turned) = &mut self.row_state {
            let turned = turned.await.ok();
            // Nobody waited for that turn, so nobody is told how it ended.
            let _ = self.restore_row(turned);
        }
        match &mut self.row_state {
            SessionRowState::Idle(row) => Ok(row),
            SessionRowState::InTurn(_) | SessionRowState::Lost => Err(AgentError::Panicked),
        }
    }

    /// Stops what the chat waits for between its turns: subagents in the background.
    pub(crate) async fn abort_background(&mut self) -> Result<TurnEnd, AgentError> {
        self.context.background.stop_all();
        self.wait_for_row().await?.status = SessionStatus::Aborted;
        self.record_row().await.map(|()| TurnEnd::Aborted)
    }

    /// Returns the chat's row.
    pub async fn row(&mut self) -> Result<SessionRow, AgentError> {
        self.wait_for_row().await.cloned()
    }

    /// Records the row.
    pub(crate) async fn record_row(&self) -> Result<(), AgentError> {
        let SessionRowState::Idle(row) = &self.row_state else { return Ok(()) };
        let records = vec![SessionRecord::Session((**row).clone())];
        Ok(self.context.run.record_session(records, SessionDurability::Durable).await?)
    }

    /// Gives the chat a title.
    pub async fn rename(&mut self, title: String) -> Result<(), AgentError> {
        self.wait_for_row().await?.title = Some(title);
        self.record_row().await
    }

    /// Sets a message and all that followed aside, and returns how many they are: the model does not read them any more.
    /// Nothing is deleted, and nothing that was done is undone.
    pub async fn rewind(&mut self, from: &MessageId) -> Result<u64, AgentError> {
        self.wait_for_row().await?;
        Ok(self.context.run.rewind_session(from, self.context.now_ms()).await?)
    }

    /// Returns what was said, the oldest first, without what was set aside.
    pub async fn history(&self) -> Result<Vec<(SessionMessage, Vec<MessagePart>)>, AgentError> {
        let journal = self.context.host.parts.runtime.journal();
        let mut history: Vec<(SessionMessage, Vec<MessagePart>)> = Vec::new();
        loop {
            let after = history.last().map(|(message, _)| message.id.clone());
            let query = MessageQuery { after, ..MessageQuery::default() };
            let page = journal.session_messages(&self.context.id, query).await?;
            if page.is_empty() {
                return Ok(history);
            }
            history.extend(page);
        }
    }

    /// Waits until the end of a subagent in the background is there to be told; the next turn tells it to the model, and
    /// [`TurnPrompt::Continue`] is a turn for that alone. Returns whether there is one: where no subagent is in the background, there
    /// is none to wait for.
    pub async fn wait_for_background(&self) -> bool {
        self.context.background.wait_for_end().await
    }

    /// Stops the subagents that are in the background, and returns how many they were, once they and all that they had
    /// begun have ended. The next turn tells the model of it.
    pub async fn stop_background(&self) -> usize {
        self.context.background.stop_and_wait().await
    }
}

fn check_prompt(prompt: &TurnPrompt) -> Result<(), AgentError> {
    match prompt {
        TurnPrompt::Message(text) if text.trim().is_empty() => Err(AgentError::EmptyPrompt),
        TurnPrompt::Message(text) if text.len() > PROMPT_BYTES_MAX => {
            Err(AgentError::PromptTooLong { found: text.len(), bytes_max: PROMPT_BYTES_MAX })
        }
        TurnPrompt::Message(_) | TurnPrompt::Continue => Ok(()),
    }
}
