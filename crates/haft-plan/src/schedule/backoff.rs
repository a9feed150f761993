//! How long a node waits between two attempts. The same attempt always waits for the same time: what a plan does must not
//! depend on chance, and nodes of one process that are tried again together are held apart by the bounds of their tools.

use crate::drive_limits::{RETRY_DELAY_FACTOR, RETRY_DELAY_FIRST_MS, RETRY_DELAY_MAX_MS};

/// The times between attempts, each so many times as long as the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRetryBackoff {
    /// Between the first attempt and the second, in milliseconds.
    pub first_ms: u64,
    /// How many times as long each further one is.
    pub factor: u32,
    /// The longest, in milliseconds.
    pub max_ms: u64,
}

impl Default for NodeRetryBackoff {
    fn default() -> Self {
        Self {
            first_ms: RETRY_DELAY_FIRST_MS,
            factor: RETRY_DELAY_FACTOR,
            max_ms: RETRY_DELAY_MAX_MS,
        }
    }
}

impl NodeRetryBackoff {
    /// Returns the time after attempt `attempt`, which counts from 1, in milliseconds.
    pub fn delay_ms(&self, attempt: u32) -> u64 {
        let times = u64::from(self.factor).saturating_pow(attempt.saturating_sub(1));
        self.first_ms.saturating_mul(times).min(self.max_ms)
    }
}
