//! The bounds of one proxy, each with its unit. They bound what a confined process can make its launching process hold
//! and wait for; they deliberately do not bound how much is transferred, which ends with the call.

#[cfg(test)]
mod tests;

use std::time::Duration;

/// Bytes of a request's or a response's head.
pub const HEAD_BYTES_MAX: usize = 65_536;
/// Connections served at one time; further ones wait in the kernel's queue.
pub const CONNECTIONS_MAX: usize = 128;
/// Connections recorded one by one; further ones are counted.
pub const RECORDED_MAX: usize = 1_000;
/// Milliseconds in which a client says where it wants to go.
pub const HANDSHAKE_MS: u64 = 30_000;
/// Milliseconds for resolving a name and connecting to one of its addresses.
pub const DIAL_MS: u64 = 15_000;
/// Milliseconds without a byte in either direction after which a connection may be ended.
pub const IDLE_MS: u64 = 600_000;

/// What one proxy holds and waits for at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Bytes of a request's or a response's head.
    pub head_bytes_max: usize,
    /// Connections served at one time.
    pub connections_max: usize,
    /// Connections recorded one by one.
    pub recorded_max: usize,
    /// Milliseconds in which a client says where it wants to go.
    pub handshake_ms: u64,
    /// Milliseconds for resolving a name and connecting.
    pub dial_ms: u64,
    /// Milliseconds of silence after which a connection is ended; it may take twice as long.
    pub idle_ms: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            head_bytes_max: HEAD_BYTES_MAX,
            connections_max: CONNECTIONS_MAX,
            recorded_max: RECORDED_MAX,
            handshake_ms: HANDSHAKE_MS,
            dial_ms: DIAL_MS,
            idle_ms: IDLE_MS,
        }
    }
}

impl Limits {
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
