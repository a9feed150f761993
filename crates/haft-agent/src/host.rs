//! The host of agents: it begins sessions, opens them again and forks them. The work of each is done by the modules of these
//! names.

use std::sync::Arc;

use haft_journal::{MessageId, SessionId, SessionRow};
use tokio_util::sync::DropGuard;

use crate::delegate;
use crate::error::AgentError;
use crate::fork;
use crate::host_parts::AgentHostParts;
use crate::open::{self, SessionChanges};
use crate::restrictions::AgentRestrictions;
use crate::session::AgentSession;
use crate::session_context::AgentHostShared;

/// A chat that is to be begun.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewSession {
    /// The agent.
    pub agent: String,
    /// The model, in place of the agent's own.
    pub model: Option<String>,
    /// What it is about. Without one, the first prompt gives it.
    pub title: Option<String>,
}

/// Begins and opens chats. Dropping it stops what is done in them, as a cancelled turn does; [`close`](Self::close) also waits
/// until that is recorded.
pub struct AgentHost {
    shared: Arc<AgentHostShared>,
    _closing: DropGuard,
}

impl AgentHost {
    /// Returns a host of these parts.
    pub fn new(parts: AgentHostParts) -> Self {
        let shared = AgentHostShared::new(parts, delegate::subagents_of_call);
        let closing = shared.closing.clone().drop_guard();
        Self { shared: Arc::new(shared), _closing: closing }
    }

    /// Begins a chat with an agent that can be talked to.
    pub async fn begin(&self, new: NewSession) -> Result<AgentSession, AgentError> {
        let agent = self.shared.primary_agent(&new.agent)?;
        let layers = vec![AgentRestrictions::from_agent(&agent)];
        let row = self.shared.new_row(&agent, new.model.as_deref(), &layers)?;
        let row = SessionRow { title: new.title, ..row };
        open::begin_session(&self.shared, row, agent, &layers).await
    }

    /// Opens a chat, to go on with it. It is this process's from then on: where another process has it, that is an error that
    /// says so. What a process that was killed left half done is settled, but for its calls: those are settled by
    /// the next turn.
    pub async fn open(&self, id: &SessionId) -> Result<AgentSession, AgentError> {
        open::open_session(&self.shared, id, &SessionChanges::default()).await
    }

    /// Opens a chat as [`open`](Self::open) does, and goes on with it by another agent, another model or both, from then on. A
    /// subagent's chat stays that subagent's; what its former agent had in the background is stopped.
    pub async fn open_with(
        &self,
        id: &SessionId,
        changes: &SessionChanges,
    ) -> Result<AgentSession, AgentError> {
        open::open_session(&self.shared, id, changes).await
    }

    /// Begins a chat that shares the beginning of another, through a message or all of it. Nothing that was done is done
    /// again, and the other chat stays as it is. A model that is gone is not missed until somebody says something.
    pub async fn fork(
        &self,
        id: &SessionId,
        through: Option<&MessageId>,
    ) -> Result<AgentSession, AgentError> {
        fork::fork_session(&self.shared, id, through).await
    }

    /// Stops what is done in all chats, and waits until that is recorded.
    pub async fn close(&self) {
        self.shared.closing.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }
}
