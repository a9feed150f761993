//! One open session: its agent session, its turn and its chosen agent. No choice is lost: a turn that runs applies it before the turn
//! ends.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_agent::AgentSession;
use haft_journal::SessionId;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// One open session.
pub(crate) struct OpenSession {
    pub(crate) id: SessionId,
    // The turn that runs locks it. It is empty while another agent takes over, or if that failed.
    pub(crate) agent_session: tokio::sync::Mutex<Option<AgentSession>>,
    // Requests and the end of a turn write it. The lock is never held for long.
    state: Mutex<OpenSessionState>,
    /// Notified when an agent is chosen.
    pub(crate) agent_chosen: Notify,
}

struct OpenSessionState {
    /// Stops the turn that runs.
    stop: Option<CancellationToken>,
    /// The chosen agent.
    agent: String,
}

/// A turn. While it exists, no other turn begins.
pub(crate) struct SessionTurn {
    pub(crate) session: Arc<OpenSession>,
    pub(crate) stop: CancellationToken,
    has_ended: bool,
}

impl OpenSession {
    pub(crate) fn new(session: AgentSession) -> Self {
        Self {
            id: session.id().clone(),
            state: Mutex::new(OpenSessionState { stop: None, agent: session.agent().to_owned() }),
            agent_session: tokio::sync::Mutex::new(Some(session)),
            agent_chosen: Notify::new(),
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, OpenSessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the chosen agent.
    pub(crate) fn agent(&self) -> String {
        self.lock_state().agent.clone()
    }

    /// Chooses the agent. Returns whether a turn runs, which then lets the agent take over.
    pub(crate) fn choose_agent(&self, agent: &str) -> bool {
        let mut state = self.lock_state();
        agent.clone_into(&mut state.agent);
        self.agent_chosen.notify_waiters();
        state.stop.is_some()
    }

    /// Stops the turn, if there is one.
    pub(crate) fn cancel_turn(&self) {
        if let Some(stop) = &self.lock_state().stop {
            stop.cancel();
        }
    }

    /// Begins a turn, or returns `None` if another one runs.
    pub(crate) fn begin_turn(self: &Arc<Self>) -> Option<SessionTurn> {
        let mut state = self.lock_state();
        if state.stop.is_some() {
            return None;
        }
        let stop = CancellationToken::new();
        state.stop = Some(stop.clone());
        Some(SessionTurn { session: Arc::clone(self), stop, has_ended: false })
    }
}

impl SessionTurn {
    /// Ends the turn if `agent` is still the chosen one. Returns whether the turn ended.
    pub(crate) fn end_turn(&mut self, agent: &str) -> bool {
        let mut state = self.session.lock_state();
        if state.agent != agent {
            return false;
        }
        state.stop = None;
        self.has_ended = true;
        true
    }
}

impl Drop for SessionTurn {
    fn drop(&mut self) {
        if !self.has_ended {
            self.session.lock_state().stop = None;
        }
    }
}
