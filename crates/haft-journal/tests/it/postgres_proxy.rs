//! A relay between a journal and its server that cuts connections where a test says: before the server has heard what is
//! sent, in the middle of it, or before its answer arrives.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Where a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The server never hears what is sent next.
    BeforeRequest,
    /// The server hears half of what is sent next.
    InsideRequest,
    /// The server hears what is sent next, and its answer is lost.
    BeforeAnswer,
}

/// The relay.
pub(crate) struct Proxy {
    port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Written by the test, counted down by whichever connection is used, and taken by the one that is used then.
    next: Mutex<Option<(Cut, u32)>>,
    cuts: AtomicUsize,
}

impl Proxy {
    /// Starts a relay to a port of this machine.
    pub(crate) fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // While the server is down, the proxy accepts no connection.
                if let Ok(server) = TcpStream::connect(("127.0.0.1", server)) {
                    relay(client, server, &shared);
                }
            }
        });
        Self { port, state }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Cuts the connection that is used next.
    pub(crate) fn cut_next(&self, cut: Cut) {
        self.cut_after(cut, 0);
    }

    /// Cuts the connection that is used after so many uses.
    pub(crate) fn cut_after(&self, cut: Cut, uses: u32) {
        *self.state.next.lock().unwrap() = Some((cut, uses));
    }

    /// Returns how many connections were cut.
    pub(crate) fn cuts(&self) -> usize {
        self.state.cuts.load(Ordering::SeqCst)
    }
}

impl State {
    /// Counts a use, and returns where this one is cut.
    fn use_connection(&self) -> Option<Cut> {
        let mut next = self.next.lock().unwrap();
        match &mut *next {
            Some((_, uses)) if *uses > 0 => {
                *uses -= 1;
                None
            }
            _ => next.take().map(|(cut, _)| cut),
        }
    }
}

fn relay(client: TcpStream, server: TcpStream, state: &Arc<State>) {
    for stream in [&client, &server] {
        stream.set_nodelay(true).unwrap();
    }
    let is_deaf = Arc::new(AtomicBool::new(false));
    let (to_server, from_server) = (server.try_clone().unwrap(), server);
    let (to_client, from_client) = (client.try_clone().unwrap(), client);
    let (deaf, requests) = (Arc::clone(&is_deaf), Arc::clone(state));
    std::thread::spawn(move || relay_requests(from_client, to_server, &requests, &deaf));
    let answers = Arc::clone(state);
    std::thread::spawn(move || relay_answers(from_server, to_client, &answers, &is_deaf));
}

fn relay_requests(mut from: TcpStream, mut to: TcpStream, state: &State, is_deaf: &AtomicBool) {
    let mut buffer = [0; 64 * 1024];
    while let Ok(count) = from.read(&mut buffer) {
        let request = &buffer[..count];
        let cut = if count > 0 { state.use_connection() } else { None };
        let heard = match cut {
            None => request,
            Some(Cut::BeforeRequest) => &[],
            Some(Cut::InsideRequest) => &request[..count / 2],
            Some(Cut::BeforeAnswer) => {
                is_deaf.store(true, Ordering::SeqCst);
                request
            }
        };
        let is_sent = to.write_all(heard).is_ok();
        let is_cut = matches!(cut, Some(Cut::BeforeRequest | Cut::InsideRequest));
        state.cuts.fetch_add(usize::from(is_cut), Ordering::SeqCst);
        if count == 0 || !is_sent || is_cut {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

fn relay_answers(mut from: TcpStream, mut to: TcpStream, state: &State, is_deaf: &AtomicBool) {
    let mut buffer = [0; 64 * 1024];
    while let Ok(count) = from.read(&mut buffer) {
        let is_lost = is_deaf.load(Ordering::SeqCst);
        state.cuts.fetch_add(usize::from(is_lost), Ordering::SeqCst);
        if count == 0 || is_lost || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
