//! The state that the server and its connections share: unused replies, recorded requests, releases
//! and open connections. This module neither reads nor sends anything.

use std::collections::BTreeSet;
use std::net::TcpStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::requests::{RecordedModelRequest, ReplyCriteria};
use crate::script::ScriptedReply;

/// The state that connections and the owner of the server share.
#[derive(Debug)]
pub(crate) struct ScriptedServerShared {
    pub(crate) piece_chars: usize,
    // Each connection has a thread, as does the test; all of them wait for changes here.
    state: Mutex<ScriptedServerState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
pub(crate) struct ScriptedServerState {
    pub(crate) replies: Vec<ReplySlot>,
    pub(crate) requests: Vec<RecordedModelRequest>,
    pub(crate) released: BTreeSet<String>,
    pub(crate) held_names: BTreeSet<String>,
    /// The number of calls in replies so far.
    pub(crate) calls: usize,
    pub(crate) is_over: bool,
    pub(crate) connections: Vec<(TcpStream, JoinHandle<()>)>,
}

#[derive(Debug)]
pub(crate) struct ReplySlot {
    pub(crate) reply: ScriptedReply,
    pub(crate) is_used: bool,
}

/// A reply that was chosen for a request.
pub(crate) struct ChosenReply {
    /// The index of the request.
    pub(crate) request: usize,
    /// The reply, or the error message if none matches.
    pub(crate) reply: Result<ScriptedReply, String>,
}

impl ScriptedServerShared {
    pub(crate) fn new(replies: Vec<ScriptedReply>, piece_chars: usize) -> Self {
        let replies =
            replies.into_iter().map(|reply| ReplySlot { reply, is_used: false }).collect();
        let state = Mutex::new(ScriptedServerState { replies, ..ScriptedServerState::default() });
        Self { piece_chars, state, changed: Condvar::new() }
    }

    /// Records a request and chooses its reply.
    pub(crate) fn choose_reply(
        &self,
        request: RecordedModelRequest,
        criteria: &ReplyCriteria,
    ) -> ChosenReply {
        self.change(|state| {
            let suits = |slot: &ReplySlot| !slot.is_used && criteria.matches(&slot.reply.when);
            let place = state.replies.iter().position(suits);
            let reply = place.and_then(|place| state.replies.get_mut(place)).map(|slot| {
                slot.is_used = !slot.reply.repeat;
                slot.reply.clone()
            });
            state.requests.push(RecordedModelRequest { reply: place, ..request });
            let none =
                || format!("the script has no reply for this request: {}", criteria.describe());
            ChosenReply { request: state.requests.len() - 1, reply: reply.ok_or_else(none) }
        })
    }

    pub(crate) fn wait_until_held(&self, name: &str) {
        self.wait(|state| state.held_names.contains(name));
    }

    pub(crate) fn release(&self, name: &str) {
        self.change(|state| state.released.insert(name.to_owned()));
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state().is_over
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, ScriptedServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut ScriptedServerState) -> T) -> T {
        let changed = change(&mut self.state());
        self.changed.notify_all();
        changed
    }

    /// Waits until a condition is true or the server ends.
    pub(crate) fn wait(&self, holds: impl Fn(&ScriptedServerState) -> bool) {
        let waits = |state: &mut ScriptedServerState| !state.is_over && !holds(state);
        drop(self.changed.wait_while(self.state(), waits).unwrap_or_else(PoisonError::into_inner));
    }
}
