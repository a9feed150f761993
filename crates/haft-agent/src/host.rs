//! The host of agents: it begins, opens and forks sessions. The modules of these names do the work.

use std::sync::Arc;

use haft::Asker;
use haft_contract::Subagents;
use haft_journal::{MessageId, SessionId, SessionRow};
use tokio_util::sync::DropGuard;

use crate::delegate;
use crate::error::AgentError;
use crate::fork;
use crate::host_parts::AgentHostParts;
use crate::open::{self, SessionChanges};
use crate::plan_node::PlanNodeSubagents;
use crate::restrictions::AgentRestrictions;
use crate::run_task::RunTaskSubagents;
use crate::session::AgentSession;
use crate::session_context::AgentHostShared;

/// A session to begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewSession {
    /// The agent.
    pub agent: String,
    /// The model, instead of the agent's.
    pub model: Option<String>,
    /// The title. Without one, the first prompt becomes the title.
    pub title: Option<String>,
}

/// Begins and opens sessions. Dropping it stops their turns, as cancelling does. [`close`](Self::close) also waits until that is
/// recorded.
pub struct AgentHost {
    shared: Arc<AgentHostShared>,
    _closing: DropGuard,
}

impl AgentHost {
    /// Returns a host with these parts.
    pub fn new(parts: AgentHostParts) -> Self {
        let shared = AgentHostShared::new(parts, delegate::subagents_of_call);
        let closing = shared.closing.clone().drop_guard();
        Self { shared: Arc::new(shared), _closing: closing }
    }

    /// Begins a session with an agent that a person can talk to.
    pub async fn begin(&self, new: NewSession) -> Result<AgentSession, AgentError> {
        let agent = self.shared.primary_agent(&new.agent)?;
        let layers = vec![AgentRestrictions::from_agent(&agent)];
        let row = self.shared.new_row(&agent, new.model.as_deref(), &layers)?;
        let row = SessionRow { title: new.title, ..row };
        open::begin_session(&self.shared, row, agent, &layers).await
    }

    /// Opens a session and takes its lease. Fails if another process has the lease. An answer that a killed process left incomplete
    /// is ended now, and the next turn settles its calls.
    pub async fn open(&self, id: &SessionId) -> Result<AgentSession, AgentError> {
        open::open_session(&self.shared, id, &SessionChanges::default()).await
    }

    /// Opens a session like [`open`](Self::open), and changes its agent, its model or both. A subagent's session keeps its agent.
    /// The background subagents of the former agent are stopped.
    pub async fn open_with(
        &self,
        id: &SessionId,
        changes: &SessionChanges,
    ) -> Result<AgentSession, AgentError> {
        open::open_session(&self.shared, id, changes).await
    }

    /// Begins a session with a copy of the messages of another one, up to a message or all of them. No call is repeated, and the
    /// other session does not change. A model that is unavailable only fails the next turn.
    pub async fn fork(
        &self,
        id: &SessionId,
        through: Option<&MessageId>,
    ) -> Result<AgentSession, AgentError> {
        fork::fork_session(&self.shared, id, through).await
    }

    /// Returns the agents that do the work of a plan's agent nodes. The connection of this host must be one of the front end that
    /// drives the plan, because the calls of these agents belong to the run of the plan.
    pub fn plan_subagents(&self) -> Arc<dyn Subagents> {
        Arc::new(PlanNodeSubagents { host: Arc::clone(&self.shared) })
    }

    /// Returns the subagents that do the task of one call of a client which is no agent. `asker` asks the person behind the client,
    /// in place of the asker of this host.
    pub fn call_subagents(&self, asker: Option<Arc<dyn Asker>>) -> Arc<dyn Subagents> {
        Arc::new(RunTaskSubagents { host: Arc::clone(&self.shared), asker })
    }

    /// Stops the turns of all sessions, and waits until that is recorded.
    pub async fn close(&self) {
        self.shared.closing.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }
}
