//! One session that is open: its chat, the turn that goes on in it, and the agent that was chosen for it. A choice is never
//! lost: it is seen by the turn that goes on before that is over, or else there is none.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_agent::AgentSession;
use haft_journal::SessionId;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// One session that is open.
pub(crate) struct OpenSession {
    pub(crate) id: SessionId,
    // The turn that goes on has it; nothing while another agent takes over, or if that failed.
    pub(crate) agent_session: tokio::sync::Mutex<Option<AgentSession>>,
    // Written by requests and by the end of a turn; each holds the lock for a look.
    state: Mutex<OpenSessionState>,
    /// Told when an agent is chosen.
    pub(crate) agent_chosen: Notify,
}

struct OpenSessionState {
    /// Stops the turn that goes on.
    stop: Option<CancellationToken>,
    /// The agent that works here from the next moment on at which another one can take over.
    agent: String,
}

/// A turn that is about to be had. While it is there, no other one is.
pub(crate) struct SessionTurn {
    pub(crate) session: Arc<OpenSession>,
    pub(crate) stop: CancellationToken,
    has_ended: bool,
}

impl OpenSession {
    pub(crate) fn new(chat: AgentSession) -> Self {
        Self {
            id: chat.id().clone(),
            state: Mutex::new(OpenSessionState { stop: None, agent: chat.agent().to_owned() }),
            agent_session: tokio::sync::Mutex::new(Some(chat)),
            agent_chosen: Notify::new(),
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, OpenSessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the agent that was chosen.
    pub(crate) fn agent(&self) -> String {
        self.lock_state().agent.clone()
    }

    /// Chooses the agent, and returns whether a turn goes on, which sees to it that this one takes over.
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

    /// Begins a turn; there is none if another one goes on.
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
    /// Ends the turn, unless another agent than this one was chosen meanwhile. Returns whether it has ended.
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
