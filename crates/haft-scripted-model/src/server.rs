//! The server: who listens, what was asked and released so far, and how all of it ends. What happens on one connection is
//! in `serving.rs`.

use std::collections::BTreeSet;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::requests::{Asked, Ended, Request};
use crate::script::{Reply, Script};
use crate::serving;

/// A server that is a script. It ends, with all that it was saying, when it is dropped.
///
/// Besides the wires it answers `GET /requests` with what it was asked, `POST /release/NAME` by releasing what waits for
/// that name, now or later, and `GET /held/NAME` as soon as a reply has come to where it waits for that name.
#[derive(Debug)]
pub struct ScriptedServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

/// What connections and the owner of the server see together.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) piece_chars: usize,
    // Each connection has a thread, and the test is another; all of them wait for changes here.
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    replies: Vec<Held>,
    requests: Vec<Request>,
    released: BTreeSet<String>,
    held: BTreeSet<String>,
    calls: usize,
    is_over: bool,
    connections: Vec<(TcpStream, JoinHandle<()>)>,
}

#[derive(Debug)]
struct Held {
    reply: Reply,
    is_used: bool,
}

/// A reply that was chosen for a request.
pub(crate) struct Chosen {
    /// The request's place.
    pub(crate) request: usize,
    /// The reply, or what to say because there is none.
    pub(crate) reply: Result<Reply, String>,
}

impl ScriptedServer {
    /// Starts a server on any free port of this machine.
    pub fn start(script: Script) -> io::Result<Self> {
        Self::start_on(script, 0)
    }

    /// Starts a server on a port of this machine.
    pub fn start_on(script: Script, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        let address = listener.local_addr()?;
        let Script { replies, piece_chars } = script;
        let replies = replies.into_iter().map(|reply| Held { reply, is_used: false }).collect();
        let state = Mutex::new(State { replies, ..State::default() });
        let shared = Arc::new(Shared { piece_chars, state, changed: Condvar::new() });
        let listening = {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || listen(&listener, &shared))
        };
        Ok(Self { address, shared, listening: Some(listening) })
    }

    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the base URL for clients of any of the wires.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Adds a reply, after those that there are.
    pub fn add(&self, reply: Reply) {
        self.shared.state().replies.push(Held { reply, is_used: false });
    }

    /// Returns what the model was asked so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.state().requests.clone()
    }

    /// Waits until so many requests came.
    pub fn wait_for_requests(&self, count: usize) {
        self.shared.wait(|state| state.requests.len() >= count);
    }

    /// Waits until so many replies have ended, sent or not.
    pub fn wait_for_ends(&self, count: usize) {
        let ended = |state: &State| state.requests.iter().filter(|one| one.ended.is_some()).count();
        self.shared.wait(|state| ended(state) >= count);
    }

    /// Waits until a reply has come to where it waits for this name.
    pub fn wait_until_held(&self, name: &str) {
        self.shared.wait_until_held(name);
    }

    /// Lets replies go on that wait for this name, now or later.
    pub fn release(&self, name: &str) {
        self.shared.release(name);
    }

    /// Waits until the server ends, which it does not by itself.
    pub fn join(mut self) {
        if let Some(listening) = self.listening.take() {
            // A thread that panicked has said so.
            let _ = listening.join();
        }
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.shared.change(|state| state.is_over = true);
        // Whoever accepts connections looks up when there is one.
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

impl Shared {
    /// Takes a request in and chooses its reply.
    pub(crate) fn choose(&self, request: Request, asked: &Asked) -> Chosen {
        self.change(|state| {
            let suits = |held: &Held| !held.is_used && asked.suits(&held.reply.when);
            let place = state.replies.iter().position(suits);
            let reply = place.and_then(|place| state.replies.get_mut(place)).map(|held| {
                held.is_used = !held.reply.repeat;
                held.reply.clone()
            });
            state.requests.push(Request { reply: place, ..request });
            let none = || format!("the script has no reply for this request: {}", asked.words());
            Chosen { request: state.requests.len() - 1, reply: reply.ok_or_else(none) }
        })
    }

    /// Returns the number of the next call, from 1.
    pub(crate) fn next_call(&self) -> usize {
        self.change(|state| {
            state.calls += 1;
            state.calls
        })
    }

    pub(crate) fn ended(&self, request: usize, ended: Ended) {
        self.change(|state| {
            if let Some(request) = state.requests.get_mut(request) {
                request.ended = Some(ended);
            }
        });
    }

    pub(crate) fn requests_json(&self) -> String {
        serde_json::to_string(&self.state().requests).unwrap_or_else(|err| err.to_string())
    }

    pub(crate) fn hold(&self, name: &str) {
        self.change(|state| state.held.insert(name.to_owned()));
    }

    pub(crate) fn wait_until_held(&self, name: &str) {
        self.wait(|state| state.held.contains(name));
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state());
        self.changed.notify_all();
        changed
    }

    /// Waits until something holds, or the server ends.
    fn wait(&self, holds: impl Fn(&State) -> bool) {
        let waits = |state: &mut State| !state.is_over && !holds(state);
        drop(self.changed.wait_while(self.state(), waits).unwrap_or_else(PoisonError::into_inner));
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.is_over() {
            return;
        }
        let Ok(stream) = stream else { continue };
        // Small pieces are to arrive as they are sent.
        let _ = stream.set_nodelay(true);
        let Ok(kept) = stream.try_clone() else { continue };
        let served = Arc::clone(shared);
        let thread = std::thread::spawn(move || serving::serve(stream, &served));
        shared.change(|state| {
            state.connections.retain(|(_, thread)| !thread.is_finished());
            state.connections.push((kept, thread));
        });
    }
}
