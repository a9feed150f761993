//! The number and lifetime of workers.

use crate::limits::{IDLE_MS_DEFAULT, WARM_BYTES_DEFAULT, WORKERS_DEFAULT};

/// The number and lifetime of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerOptions {
    /// Worker processes of one file that run at once; further calls wait.
    pub workers_per_file: usize,
    /// Idle time after which a worker is stopped, in milliseconds.
    pub idle_ms: u64,
    /// Memory that a worker may use after a call, in bytes; a worker that uses more is replaced.
    pub warm_bytes: u64,
    /// Memory limit of a worker, in bytes, if it is lower than that of every process.
    pub memory_bytes: Option<u64>,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        Self {
            workers_per_file: WORKERS_DEFAULT,
            idle_ms: IDLE_MS_DEFAULT,
            warm_bytes: WARM_BYTES_DEFAULT,
            memory_bytes: None,
        }
    }
}
