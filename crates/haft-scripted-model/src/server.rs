//! The server: its listener and its end. `connection` serves a single connection, and `shared` is
//! the state that all connections share.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::connection;
use crate::requests::RecordedModelRequest;
use crate::script::{ModelScript, ScriptedReply};
use crate::shared::{ReplySlot, ScriptedServerShared, ScriptedServerState};

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
        let shared = Arc::new(ScriptedServerShared::new(replies, piece_chars));
        let listening = {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    if shared.is_over() {
                        return;
                    }
                    let Ok(stream) = stream else { continue };
                    // Small pieces must arrive as they are sent.
                    let _ = stream.set_nodelay(true);
                    let Ok(kept) = stream.try_clone() else { continue };
                    let served = Arc::clone(&shared);
                    let thread = std::thread::spawn(move || connection::serve(stream, &served));
                    shared.change(|state| {
                        state.connections.retain(|(_, thread)| !thread.is_finished());
                        state.connections.push((kept, thread));
                    });
                }
            })
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
