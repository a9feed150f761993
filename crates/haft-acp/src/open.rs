//! One session that is open: its chat, the turn that goes on in it, and the agent that was chosen for it. A choice is never
//! lost: it is seen by the turn that goes on before that is over, or else there is none.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_agent::Chat;
use haft_journal::ChatId;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// One session that is open.
pub(crate) struct Open {
    pub(crate) id: ChatId,
    // The turn that goes on has it; nothing while another agent takes over, or if that failed.
    pub(crate) chat: tokio::sync::Mutex<Option<Chat>>,
    // Written by requests and by the end of a turn; each holds the lock for a look.
    state: Mutex<State>,
    /// Told when an agent is chosen.
    pub(crate) chosen: Notify,
}

struct State {
    /// Stops the turn that goes on.
    stop: Option<CancellationToken>,
    /// The agent that works here from the next moment on at which another one can take over.
    agent: String,
}

/// A turn that is about to be had. While it is there, no other one is.
pub(crate) struct Turn {
    pub(crate) open: Arc<Open>,
    pub(crate) stop: CancellationToken,
    is_over: bool,
}

impl Open {
    pub(crate) fn new(chat: Chat) -> Self {
        Self {
            id: chat.id().clone(),
            state: Mutex::new(State { stop: None, agent: chat.agent().to_owned() }),
            chat: tokio::sync::Mutex::new(Some(chat)),
            chosen: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the agent that was chosen.
    pub(crate) fn agent(&self) -> String {
        self.state().agent.clone()
    }

    /// Chooses the agent, and returns whether a turn goes on, which sees to it that this one takes over.
    pub(crate) fn choose(&self, agent: &str) -> bool {
        let mut state = self.state();
        agent.clone_into(&mut state.agent);
        self.chosen.notify_waiters();
        state.stop.is_some()
    }

    /// Stops the turn, if there is one.
    pub(crate) fn cancel(&self) {
        if let Some(stop) = &self.state().stop {
            stop.cancel();
        }
    }

    /// Begins a turn; there is none if another one goes on.
    pub(crate) fn begin_turn(self: &Arc<Self>) -> Option<Turn> {
        let mut state = self.state();
        if state.stop.is_some() {
            return None;
        }
        let stop = CancellationToken::new();
        state.stop = Some(stop.clone());
        Some(Turn { open: Arc::clone(self), stop, is_over: false })
    }
}

impl Turn {
    /// Ends the turn, unless another agent than this one was chosen meanwhile. Returns whether it has ended.
    pub(crate) fn end(&mut self, agent: &str) -> bool {
        let mut state = self.open.state();
        if state.agent != agent {
            return false;
        }
        state.stop = None;
        self.is_over = true;
        true
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.is_over {
            self.open.state().stop = None;
        }
    }
}
