//! The server: its listener, the recorded requests and releases, and its end. `connection` serves a
//! single connection.

use std::collections::BTreeSet;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::connection;
use crate::requests::{RecordedModelRequest, ReplyCriteria, ReplyEnd};
use crate::script::{ModelScript, ScriptedReply};

/// A scripted server. Dropping it stops the server and all its replies.
///
/// Besides the protocols it serves `GET /requests`, which returns the recorded requests;
/// `POST /release/NAME`, which releases current and later waits for that name; and
/// `GET /held/NAME`, which answers as soon as a reply waits for that name.
#[derive(Debug)]
pub struct ScriptedServer {
    address: SocketAddr,
    shared: Arc<ScriptedServerShared>,
    listening: Option<JoinHandle<()>>,
}

/// The state that connections and the owner of the server share.
#[derive(Debug)]
pub(crate) struct ScriptedServerShared {
    pub(crate) piece_chars: usize,
    // Each connection has a thread, as does the test; all of them wait for changes here.
    state: Mutex<ScriptedServerState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct ScriptedServerState {
    replies: Vec<ReplySlot>,
    requests: Vec<RecordedModelRequest>,
    released: BTreeSet<String>,
    held_names: BTreeSet<String>,
    calls: usize,
    is_over: bool,
    connections: Vec<(TcpStream, JoinHandle<()>)>,
}

#[derive(Debug)]
struct ReplySlot {
    reply: ScriptedReply,
    is_used: bool,
}

/// A reply that was chosen for a request.
pub(crate) struct ChosenReply {
    /// The index of the request.
    pub(crate) request: usize,
    /// The reply, or the error message if none matches.
    pub(crate) reply: Result<ScriptedReply, String>,
}

impl ScriptedServer {
    /// Starts a server on any free port of this machine.
    pub fn start(script: ModelScript) -> io::Result<Self> {
        Self::start_on(script, 0)
    }

    /// Starts a server on a port of this machine.
    pub fn start_on(script: ModelScript, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        let address = listener.local_addr()?;
        let ModelScript { replies, piece_chars } = script;
        let replies =
            replies.into_iter().map(|reply| ReplySlot { reply, is_used: false }).collect();
        let state = Mutex::new(ScriptedServerState { replies, ..ScriptedServerState::default() });
        let shared = Arc::new(ScriptedServerShared { piece_chars, state, changed: Condvar::new() });
        let listening = {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || listen(&listener, &shared))
        };
        Ok(Self { address, shared, listening: Some(listening) })
    }

    /// Returns its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the base URL for clients of any protocol.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Adds a reply after the existing ones.
    pub fn add(&self, reply: ScriptedReply) {
        self.shared.state().replies.push(ReplySlot { reply, is_used: false });
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<RecordedModelRequest> {
        self.shared.state().requests.clone()
    }

    /// Waits until `count` requests have arrived.
    pub fn wait_for_requests(&self, count: usize) {
        self.shared.wait(|state| state.requests.len() >= count);
    }

    /// Waits until `count` replies have ended, sent or not.
    pub fn wait_for_ends(&self, count: usize) {
        let ended = |state: &ScriptedServerState| {
            state.requests.iter().filter(|one| one.ended.is_some()).count()
        };
        self.shared.wait(|state| ended(state) >= count);
    }

    /// Waits until a reply waits for this name.
    pub fn wait_until_held(&self, name: &str) {
        self.shared.wait_until_held(name);
    }

    /// Releases current and later waits of replies for this name.
    pub fn release(&self, name: &str) {
        self.shared.release(name);
    }

    /// Waits until the server ends; it does not end without a cause.
    pub fn join(mut self) {
        if let Some(listening) = self.listening.take() {
            // A thread that panicked has already reported it.
            let _ = listening.join();
        }
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.shared.change(|state| state.is_over = true);
        // Connecting wakes the listening thread.
        let _ = TcpStream::connect(self.address);
        if let Some(listening) = self.listening.take() {
            let _ = listening.join();
        }
        for (stream, thread) in self.shared.change(|state| std::mem::take(&mut state.connections)) {
            let _ = stream.shutdown(Shutdown::Both);
            let _ = thread.join();
        }
    }
}

impl ScriptedServerShared {
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

    /// Returns the number of the next call, from 1.
    pub(crate) fn next_call(&self) -> usize {
        self.change(|state| {
            state.calls += 1;
            state.calls
        })
    }

    pub(crate) fn set_reply_end(&self, request: usize, ended: ReplyEnd) {
        self.change(|state| {
            if let Some(request) = state.requests.get_mut(request) {
                request.ended = Some(ended);
            }
        });
    }

    pub(crate) fn requests_json(&self) -> String {
        serde_json::to_string(&self.state().requests).unwrap_or_else(|err| err.to_string())
    }

    pub(crate) fn mark_held(&self, name: &str) {
        self.change(|state| state.held_names.insert(name.to_owned()));
    }

    pub(crate) fn wait_until_held(&self, name: &str) {
        self.wait(|state| state.held_names.contains(name));
    }

    pub(crate) fn release(&self, name: &str) {
        self.change(|state| state.released.insert(name.to_owned()));
    }

    pub(crate) fn is_released(&self, name: &str) -> bool {
        self.state().released.contains(name)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state().is_over
    }

    fn state(&self) -> MutexGuard<'_, ScriptedServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut ScriptedServerState) -> T) -> T {
        let changed = change(&mut self.state());
        self.changed.notify_all();
        changed
    }

    /// Waits until a condition is true or the server ends.
    fn wait(&self, holds: impl Fn(&ScriptedServerState) -> bool) {
        let waits = |state: &mut ScriptedServerState| !state.is_over && !holds(state);
        drop(self.changed.wait_while(self.state(), waits).unwrap_or_else(PoisonError::into_inner));
    }
}

fn listen(listener: &TcpListener, shared: &Arc<ScriptedServerShared>) {
    for stream in listener.incoming() {
        if shared.is_over() {
            return;
        }
        let Ok(stream) = stream else { continue };
        // Small pieces must arrive as they are sent.
        let _ = stream.set_nodelay(true);
        let Ok(kept) = stream.try_clone() else { continue };
        let served = Arc::clone(shared);
        let thread = std::thread::spawn(move || connection::serve(stream, &served));
        shared.change(|state| {
            state.connections.retain(|(_, thread)| !thread.is_finished());
            state.connections.push((kept, thread));
        });
    }
}
