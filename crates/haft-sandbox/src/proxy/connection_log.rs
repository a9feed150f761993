//! The outcome of each connection, for the call's record. It records a limited number of
//! connections and counts the rest. It deliberately stores neither paths nor contents, only the
//! destination and the number of bytes.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Maximum number of characters shown of an invalid host.
pub(crate) const TEXT_CHARS_MAX: usize = 300;

/// All connections that a proxy was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyConnections {
    /// The first connections, in the order of their requests.
    pub recorded: Vec<ProxyConnection>,
    /// Connections that were admitted and made, including unrecorded ones.
    pub admitted: u64,
    /// Connections that were refused, including unrecorded ones.
    pub refused: u64,
    /// Connections that failed, including unrecorded ones.
    pub failed: u64,
    /// Connections to the proxy without a valid request. They are never recorded.
    pub malformed: u64,
}

/// A requested connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyConnection {
    /// The host in canonical spelling, or the client's text if it is not a host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The protocol of the request.
    pub protocol: ProxyProtocol,
    /// The outcome.
    pub outcome: ProxyOutcome,
    /// Bytes sent to the host.
    pub sent_bytes: u64,
    /// Bytes received from the host.
    pub received_bytes: u64,
}

/// The protocol of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProxyProtocol {
    /// HTTP CONNECT: a tunnel.
    Connect,
    /// A plain HTTP request that is forwarded.
    Http,
    /// SOCKS5 CONNECT: a tunnel.
    Socks5,
}

/// The outcome of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProxyOutcome {
    /// It was admitted and made.
    Admitted {
        /// The address of the host.
        address: SocketAddr,
    },
    /// The host is not granted.
    Refused {
        /// The answer to the client.
        reason: String,
    },
    /// The host is granted but could not be reached before the call ended.
    Failed {
        /// The answer to the client.
        reason: String,
    },
}

/// The log of a running proxy.
///
/// Each connection writes its own entry, and the proxy's owner reads them all when the proxy stops.
/// The log is shared instead of sent over a channel because connections are ended from outside, and
/// their bytes until then must count.
#[derive(Debug)]
pub(super) struct ConnectionLog {
    recorded_max: usize,
    state: Mutex<ConnectionLogState>,
}

#[derive(Debug, Default)]
struct ConnectionLogState {
    /// By the number of the connection.
    entries: BTreeMap<u64, ConnectionLogEntry>,
    /// Connections started so far, so that every number is unique.
    started_count: u64,
    started: u64,
    /// The counts, without recorded connections.
    counts: ProxyConnections,
}

#[derive(Debug)]
struct ConnectionLogEntry {
    host: String,
    port: u16,
    protocol: ProxyProtocol,
    outcome: Option<ProxyOutcome>,
    traffic: Arc<ConnectionTraffic>,
}

/// The number of bytes that a connection has carried.
#[derive(Debug, Default)]
pub(super) struct ConnectionTraffic {
    sent_bytes: AtomicU64,
    received_bytes: AtomicU64,
}

/// A connection whose outcome is not known yet.
#[derive(Debug)]
pub(super) struct ConnectionAttempt {
    record: Arc<ConnectionLog>,
    number: u64,
    traffic: Arc<ConnectionTraffic>,
}

impl ConnectionLog {
    pub(super) fn new(recorded_max: usize) -> ConnectionLog {
        ConnectionLog { recorded_max, state: Mutex::default() }
    }

    /// Starts the entry of a connection to a host in canonical spelling, or to [`printable_text`]
    /// text.
    pub(super) fn start_attempt(
        self: &Arc<ConnectionLog>,
        host: &str,
        port: u16,
        protocol: ProxyProtocol,
    ) -> ConnectionAttempt {
        let traffic = Arc::new(ConnectionTraffic::default());
        let mut state = self.lock();
        state.started += 1;
        state.started_count += 1;
        let number = state.started_count;
        if state.entries.len() < self.recorded_max {
            let traffic = Arc::clone(&traffic);
            let entry = ConnectionLogEntry {
                host: host.to_owned(),
                port,
                protocol,
                outcome: None,
                traffic,
            };
            state.entries.insert(number, entry);
        }
        drop(state);
        ConnectionAttempt { record: Arc::clone(self), number, traffic }
    }

    pub(super) fn count_malformed(&self) {
        self.lock().counts.malformed += 1;
    }

    /// Returns the final entries. A connection without an outcome has failed, because it is no
    /// longer served.
    pub(super) fn close(&self) -> ProxyConnections {
        let state = self.lock();
        let mut connections = state.counts.clone();
        connections.failed += state.started.saturating_sub(state.settled());
        connections.recorded = state.entries.values().map(ConnectionLogEntry::close).collect();
        connections
    }

    /// Takes the entries that have an outcome. Bytes that such a connection carries from now on are
    /// not recorded.
    pub(super) fn take_finished(&self) -> ProxyConnections {
        let mut state = self.lock();
        state.started = state.started.saturating_sub(state.settled());
        let entries = std::mem::take(&mut state.entries);
        let (settled, open) = entries.into_iter().partition(|(_, entry)| entry.outcome.is_some());
        state.entries = open;
        let settled: BTreeMap<u64, ConnectionLogEntry> = settled;
        ProxyConnections {
            recorded: settled.values().map(ConnectionLogEntry::close).collect(),
            ..std::mem::take(&mut state.counts)
        }
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionLogState> {
        // Each change is complete in itself, even if its thread panicked afterwards.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionLogState {
    /// Returns the number of connections with an outcome.
    fn settled(&self) -> u64 {
        self.counts.admitted + self.counts.refused + self.counts.failed
    }
}

impl ConnectionLogEntry {
    fn close(&self) -> ProxyConnection {
        let unsettled =
            || ProxyOutcome::Failed { reason: "the call ended before it was connected".into() };
        ProxyConnection {
            host: self.host.clone(),
            port: self.port,
            protocol: self.protocol,
            outcome: self.outcome.clone().unwrap_or_else(unsettled),
            sent_bytes: self.traffic.sent_bytes.load(Ordering::Relaxed),
            received_bytes: self.traffic.received_bytes.load(Ordering::Relaxed),
        }
    }
}

impl ConnectionAttempt {
    /// Sets the outcome, and returns the counter for the bytes from now on.
    pub(super) fn set_outcome(self, outcome: ProxyOutcome) -> Arc<ConnectionTraffic> {
        let mut state = self.record.lock();
        match outcome {
            ProxyOutcome::Admitted { .. } => state.counts.admitted += 1,
            ProxyOutcome::Refused { .. } => state.counts.refused += 1,
            ProxyOutcome::Failed { .. } => state.counts.failed += 1,
        }
        // A connection beyond the maximum has no entry.
        if let Some(entry) = state.entries.get_mut(&self.number) {
            entry.outcome = Some(outcome);
        }
        drop(state);
        self.traffic
    }
}

impl ConnectionTraffic {
    pub(super) fn count_sent(&self, bytes: usize) {
        count(&self.sent_bytes, bytes);
    }

    pub(super) fn count_received(&self, bytes: usize) {
        count(&self.received_bytes, bytes);
    }

    /// Returns when no byte has moved in either direction for `idle`, or up to twice as long.
    pub(super) async fn wait_until_idle(&self, idle: Duration) {
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

/// Returns an external text in printable form: on one line, with limited length.
pub(super) fn printable_text(text: &str) -> String {
    text.chars().take(TEXT_CHARS_MAX).flat_map(char::escape_debug).collect()
}
