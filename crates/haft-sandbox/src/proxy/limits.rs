//! The limits of one proxy, with their units. They limit how much a confined process can make the
//! launching process store, and how long it can make it wait. The amount of data is deliberately
//! not limited; transfers end with the call.

#[cfg(test)]
mod tests;

use std::time::Duration;

/// Largest head of an HTTP request or response of a command, in bytes.
///
/// Limit (commands): the request is answered with 431 or 502.
pub const HEAD_BYTES_MAX: usize = 65_536;
/// Network connections of one command at the same time.
///
/// Limit (commands): further connections wait.
pub const CONNECTIONS_MAX: usize = 128;
/// Connections that are recorded; others are only counted.
pub const RECORDED_MAX: usize = 1_000;
/// Milliseconds in which a client says where it wants to go.
pub const HANDSHAKE_MS: u64 = 30_000;
/// Time for a command's connection to be made, in milliseconds.
///
/// Limit (commands): the connection fails.
pub const DIAL_MS: u64 = 15_000;
/// Idle time of a command's connection, in milliseconds.
///
/// Limit (commands): the connection is closed.
pub const IDLE_MS: u64 = 600_000;

/// The limits of one proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProxyLimits {
    /// Maximum size of a request's or a response's head, in bytes.
    pub head_bytes_max: usize,
    /// Connections served at one time.
    pub connections_max: usize,
    /// Connections that are recorded.
    pub recorded_max: usize,
    /// Time for a client to send its request, in milliseconds.
    pub handshake_ms: u64,
    /// Time for resolving a name and connecting, in milliseconds.
    pub dial_ms: u64,
    /// Time of silence after which a connection is ended, in milliseconds; it may take twice as
    /// long.
    pub idle_ms: u64,
}

impl Default for ProxyLimits {
    fn default() -> ProxyLimits {
        ProxyLimits {
            head_bytes_max: HEAD_BYTES_MAX,
            connections_max: CONNECTIONS_MAX,
            recorded_max: RECORDED_MAX,
            handshake_ms: HANDSHAKE_MS,
            dial_ms: DIAL_MS,
            idle_ms: IDLE_MS,
        }
    }
}

impl ProxyLimits {
    pub(super) fn handshake(&self) -> Duration {
        Duration::from_millis(self.handshake_ms)
    }

    pub(super) fn dial(&self) -> Duration {
        Duration::from_millis(self.dial_ms)
    }

    pub(super) fn idle(&self) -> Duration {
        Duration::from_millis(self.idle_ms)
    }
}
