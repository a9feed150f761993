//! A session as front ends use it. It runs one turn at a time, in a task of the host. Dropping the future of a turn stops the turn.
//! The module of turns says what happens in one.

use std::sync::Arc;

use haft::{Asker, Connection};
use haft_contract::CallTime;
use haft_journal::{
    MessageId, MessagePart, SessionDurability, SessionId, SessionMessage, SessionRecord,
    SessionRow, SessionStatus,
};
use haft_model::UserMessage;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::compaction;
use crate::error::AgentError;
use crate::event::AgentEventKind;
use crate::limits::PROMPT_BYTES_MAX;
use crate::session_context::AgentSessionContext;
use crate::session_log::SessionLog;
use crate::stored_session::load_entries;
use crate::turn::{self, AgentTurnEnd, TurnEnd, TurnPrompt};

/// An open session. While it exists, no other process can open the session.
pub struct AgentSession {
    context: Arc<AgentSessionContext>,
    row_state: SessionRowState,
}

/// The place of the session's row: here, or in the task of the turn that runs. A panic in a turn loses the row.
enum SessionRowState {
    Idle(Box<SessionRow>),
    InTurn(JoinHandle<(Box<SessionRow>, Result<AgentTurnEnd, AgentError>)>),
    Lost,
}

impl AgentSession {
    /// Returns the session of a row whose lease this process has taken.
    pub(crate) fn from_row(context: Arc<AgentSessionContext>, row: SessionRow) -> Self {
        context.notify_observer(AgentEventKind::Session {
            agent: row.agent.clone(),
            model: row.model.clone(),
            parent: row.parent_id.clone(),
        });
        Self { context, row_state: SessionRowState::Idle(Box::new(row)) }
    }

    /// Sets the time of the call that waits for this session. It stops while the session asks a person.
    pub(crate) fn set_parent_call_time(&self, time: &Arc<dyn CallTime>) {
        // The call that opens the session sets it once and closes the session again.
        let _ = self.context.parent_call_time.set(Arc::clone(time));
    }

    /// Sets the asker of the call that the session works for, if the call has its own.
    pub(crate) fn set_call_asker(&self, asker: Option<&Arc<dyn Asker>>) {
        if let Some(asker) = asker {
            // The call that opens the session sets it once and closes the session again.
            let _ = self.context.call_asker.set(Arc::clone(asker));
        }
    }

    pub(crate) fn context(&self) -> &Arc<AgentSessionContext> {
        &self.context
    }

    /// Returns the id of the session.
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

    /// Returns the connection of the agent's calls, which has the agent's restrictions.
    pub fn connection(&self) -> &Connection {
        &self.context.connection
    }

    /// Runs one turn of the present agent. Cancelling the token or dropping the future stops the turn at the next possible moment,
    /// and haft records what was done until then. The next operation on this session waits for that.
    pub(crate) async fn run_one_turn(
        &mut self,
        prompt: TurnPrompt,
        cancellation: CancellationToken,
    ) -> Result<AgentTurnEnd, AgentError> {
        match &prompt {
            TurnPrompt::Message(UserMessage { text, images })
                if text.trim().is_empty() && images.is_empty() =>
            {
                return Err(AgentError::EmptyPrompt);
            }
            TurnPrompt::Message(UserMessage { text, .. }) if text.len() > PROMPT_BYTES_MAX => {
                let (found, bytes_max) = (text.len(), PROMPT_BYTES_MAX);
                return Err(AgentError::PromptTooLong { found, bytes_max });
            }
            TurnPrompt::Message(_) | TurnPrompt::Continue => {}
        }
        self.wait_for_row().await?;
        if self.context.host.closing.is_cancelled() {
            return Err(AgentError::Closed);
        }
        let SessionRowState::Idle(mut row) =
            std::mem::replace(&mut self.row_state, SessionRowState::Lost)
        else {
            return Err(AgentError::Panicked);
        };
        // A child token is cancelled at the same moment as its parent, also while the turn never waits.
        let stop = cancellation.child_token();
        // Dropping this future stops the turn.
        let _stop_on_drop = stop.clone().drop_guard();
        let context = Arc::clone(&self.context);
        let turn = async move {
            let end = {
                let closing = context.host.closing.clone();
                let mut turn =
                    std::pin::pin!(turn::run_turn(&context, &mut row, prompt, stop.clone()));
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
        self.row_state = SessionRowState::InTurn(self.context.host.tasks.spawn(turn));
        self.join_turn().await
    }

    /// Waits for the turn that runs, takes its row back and returns how the turn ended.
    async fn join_turn(&mut self) -> Result<AgentTurnEnd, AgentError> {
        let SessionRowState::InTurn(turn) = &mut self.row_state else {
            return Err(AgentError::Panicked);
        };
        let Ok((row, end)) = turn.await else {
            self.row_state = SessionRowState::Lost;
            return Err(AgentError::Panicked);
        };
        self.row_state = SessionRowState::Idle(row);
        end
    }

    /// Waits until no turn runs, and returns the row.
    pub(crate) async fn wait_for_row(&mut self) -> Result<&mut SessionRow, AgentError> {
        if matches!(self.row_state, SessionRowState::InTurn(_)) {
            // The future of that turn was dropped, so its end has no receiver.
            let _ = self.join_turn().await;
        }
        match &mut self.row_state {
            SessionRowState::Idle(row) => Ok(row),
            SessionRowState::InTurn(_) | SessionRowState::Lost => Err(AgentError::Panicked),
        }
    }

    /// Stops the session's background subagents between two turns.
    pub(crate) async fn abort_background(&mut self) -> Result<TurnEnd, AgentError> {
        self.context.background.stop_all();
        self.wait_for_row().await?.status = SessionStatus::Aborted;
        self.record_row().await.map(|()| TurnEnd::Aborted)
    }

    /// Returns the row of the session.
    pub async fn row(&mut self) -> Result<SessionRow, AgentError> {
        self.wait_for_row().await.cloned()
    }

    async fn record_row(&mut self) -> Result<(), AgentError> {
        let records = vec![SessionRecord::Session(self.row().await?)];
        Ok(self.context.run.record_session(records, SessionDurability::Durable).await?)
    }

    /// Sets the title of the session.
    pub async fn rename(&mut self, title: String) -> Result<(), AgentError> {
        self.wait_for_row().await?.title = Some(title);
        self.record_row().await
    }

    /// Hides a message and all later ones from the model, and returns their number. Nothing is deleted, and no effect is undone.
    pub async fn rewind(&mut self, from: &MessageId) -> Result<u64, AgentError> {
        self.wait_for_row().await?;
        Ok(self.context.run.rewind_session(from, self.context.now_ms()).await?)
    }

    /// Has the model read a summary instead of the older messages from now on. Returns `false` if there is nothing to summarise
    /// yet, or if the token is cancelled before the summary is there.
    pub async fn compact(&mut self, stop: &CancellationToken) -> Result<bool, AgentError> {
        let row = self.row().await?;
        let mut log = SessionLog::load(&self.context, row).await?;
        let before = log.entries.len();
        let compacted = compaction::compact_session(&mut log, stop).await;
        let is_compacted = log.entries.len() > before;
        self.row_state = SessionRowState::Idle(Box::new(log.row));
        compacted.map(|_| is_compacted)
    }

    /// Returns the messages of the session, oldest first, without the rewound ones.
    pub async fn history(&self) -> Result<Vec<(SessionMessage, Vec<MessagePart>)>, AgentError> {
        let entries = load_entries(&self.context.host, &self.context.id).await?;
        Ok(entries.into_iter().map(|entry| (entry.message, entry.parts)).collect())
    }

    /// Waits until a background subagent has ended that the model has no notice of. [`TurnPrompt::Continue`] delivers the notice.
    /// Returns `false` if no subagent runs in the background and no notice is due.
    pub async fn wait_for_background(&self) -> bool {
        self.context.background.wait_for_end().await
    }

    /// Stops the background subagents, waits until they and all subagents below them have ended, and returns their number. The
    /// next turn notifies the model.
    pub async fn stop_background(&self) -> usize {
        self.context.background.stop_and_wait().await
    }
}
