//! What became of each connection, for the call's record. It keeps a bounded number of them one by one and counts the
//! rest, and deliberately knows neither paths nor contents: of a connection it holds where it led and how much it carried.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Characters that are shown of what a client sent as a host and is none.
pub(crate) const TEXT_CHARS_MAX: usize = 300;

/// All that a proxy was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// The first ones, in the order in which they were asked for.
    pub recorded: Vec<Connection>,
    /// How many were admitted and connected, with those that are not recorded.
    pub admitted: u64,
    /// How many were refused, with those that are not recorded.
    pub refused: u64,
    /// How many were neither, with those that are not recorded.
    pub failed: u64,
    /// Connections to the proxy that asked for nothing that it understands. They are never recorded.
    pub malformed: u64,
}

/// A connection that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The host in its canonical spelling, or what was sent if it is no host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// How it was asked for.
    pub protocol: Protocol,
    /// What became of it.
    pub outcome: Outcome,
    /// Bytes that went to the host.
    pub sent_bytes: u64,
    /// Bytes that came from the host.
    pub received_bytes: u64,
}

/// How a connection was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// CONNECT of HTTP: a tunnel.
    Connect,
    /// A request of plain HTTP that is forwarded.
    Http,
    /// CONNECT of SOCKS5: a tunnel.
    Socks5,
}

/// What became of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was admitted and connected.
    Admitted {
        /// Where to.
        address: SocketAddr,
    },
    /// It is not granted.
    Refused {
        /// What the client was told.
        reason: String,
    },
    /// It is granted, and the host could not be reached before the call ended.
    Failed {
        /// What the client was told.
        reason: String,
    },
}

/// The record of a proxy that is running.
///
/// Each connection writes its own entry, and the owner of the proxy reads them all when it is stopped. It is shared and
/// not sent over a channel because connections are ended from outside, and what they carried until then counts.
#[derive(Debug)]
pub(super) struct Record {
    recorded_max: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By the number of the connection.
    entries: BTreeMap<u64, Entry>,
    /// How many were ever started, so that no number is given twice.
    numbered: u64,
    started: u64,
    admitted: u64,
    refused: u64,
    failed: u64,
    malformed: u64,
}

#[derive(Debug)]
struct Entry {
    host: String,
    port: u16,
    protocol: Protocol,
    outcome: Option<Outcome>,
    traffic: Arc<Traffic>,
}

/// How much a connection has carried.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    sent_bytes: AtomicU64,
    received_bytes: AtomicU64,
}

/// A connection whose outcome is not known yet.
#[derive(Debug)]
pub(super) struct Attempt {
    record: Arc<Record>,
    number: u64,
    traffic: Arc<Traffic>,
}

impl Record {
    pub(super) fn new(recorded_max: usize) -> Record {
        Record { recorded_max, state: Mutex::default() }
    }

    /// Starts the entry of a connection to a host in its canonical spelling, or to [`shown`] text.
    pub(super) fn start(self: &Arc<Record>, host: &str, port: u16, protocol: Protocol) -> Attempt {
        let traffic = Arc::new(Traffic::default());
        let mut state = self.lock();
        state.started += 1;
        state.numbered += 1;
        let number = state.numbered;
        if state.entries.len() < self.recorded_max {
            let traffic = Arc::clone(&traffic);
            let entry = Entry { host: host.to_owned(), port, protocol, outcome: None, traffic };
            state.entries.insert(number, entry);
        }
        drop(state);
        Attempt { record: Arc::clone(self), number, traffic }
    }

    pub(super) fn count_malformed(&self) {
        self.lock().malformed += 1;
    }

    /// Returns what is known by now. Connections without an outcome have failed, for nobody serves them any more.
    pub(super) fn close(&self) -> Connections {
        let state = self.lock();
        let settled = state.admitted + state.refused + state.failed;
        Connections {
            recorded: state.entries.values().map(Entry::close).collect(),
            admitted: state.admitted,
            refused: state.refused,
            failed: state.failed + state.started.saturating_sub(settled),
            malformed: state.malformed,
        }
    }

    /// Takes out what has an outcome by now. What such a connection carries from now on is not recorded.
    pub(super) fn take_settled(&self) -> Connections {
        let mut state = self.lock();
        let settled = state.admitted + state.refused + state.failed;
        state.started = state.started.saturating_sub(settled);
        let entries = std::mem::take(&mut state.entries);
        let (settled, open) = entries.into_iter().partition(|(_, entry)| entry.outcome.is_some());
        state.entries = open;
        let settled: BTreeMap<u64, Entry> = settled;
        Connections {
            recorded: settled.values().map(Entry::close).collect(),
            admitted: std::mem::take(&mut state.admitted),
            refused: std::mem::take(&mut state.refused),
            failed: std::mem::take(&mut state.failed),
            malformed: std::mem::take(&mut state.malformed),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is complete in itself, also if the one who made it panicked afterwards.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn close(&self) -> Connection {
        let unsettled =
            || Outcome::Failed { reason: "the call ended before it was connected".into() };
        Connection {
            host: self.host.clone(),
            port: self.port,
            protocol: self.protocol,
            outcome: self.outcome.clone().unwrap_or_else(unsettled),
            sent_bytes: self.traffic.sent_bytes.load(Ordering::Relaxed),
            received_bytes: self.traffic.received_bytes.load(Ordering::Relaxed),
        }
    }
}

impl Attempt {
    /// Ends the wait for an outcome, and returns what counts the bytes from now on.
    pub(super) fn settle(self, outcome: Outcome) -> Arc<Traffic> {
        let mut state = self.record.lock();
        match outcome {
            Outcome::Admitted { .. } => state.admitted += 1,
            Outcome::Refused { .. } => state.refused += 1,
            Outcome::Failed { .. } => state.failed += 1,
        }
        // One for which there was no room has none.
        if let Some(entry) = state.entries.get_mut(&self.number) {
            entry.outcome = Some(outcome);
        }
        drop(state);
        self.traffic
    }
}

impl Traffic {
    pub(super) fn count_sent(&self, bytes: usize) {
        count(&self.sent_bytes, bytes);
    }

    pub(super) fn count_received(&self, bytes: usize) {
        count(&self.received_bytes, bytes);
    }

    /// Returns once nothing has gone either way for so long, or for up to twice as long.
    pub(super) async fn quiet(&self, idle: Duration) {
        let mut before = None;
        loop {
            let total = (
                self.sent_bytes.load(Ordering::Relaxed),
                self.received_bytes.load(Ordering::Relaxed),
            );
            if before.replace(total) == Some(total) {
                return;
            }
            tokio::time::sleep(idle).await;
        }
    }
}

fn count(counter: &AtomicU64, bytes: usize) {
    counter.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// Returns a text from outside as it may be printed: on one line, and not endless.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(TEXT_CHARS_MAX).flat_map(char::escape_debug).collect()
}
