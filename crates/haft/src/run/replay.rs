//! Where a driver that starts an attempt over has got to. Which recorded call a new one is follows from what it is and
//! how often it was made since the start, never from its order.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use haft_contract::CallKey;
use haft_journal::RecordedCall;

/// One pass over a recorded attempt.
pub(super) struct Cursor {
    /// The number of the latest row of each call.
    recorded: HashMap<String, u32>,
    last_seq: u32,
    // How often each call was made in this pass; locked for one look-up.
    made: Mutex<HashMap<CallKey, u32>>,
}

impl Cursor {
    /// Begins a pass over these calls, which come in the order of their numbers.
    pub(super) fn new(calls: Vec<RecordedCall>) -> Self {
        let last_seq = calls.last().map_or(0, |call| call.seq);
        // A call that was executed again has a second row, and that is the one that counts.
        let recorded = calls.into_iter().map(|call| (call.call_key, call.seq)).collect();
        Self { recorded, last_seq, made: Mutex::default() }
    }

    /// Counts a call, and returns how often it was made before in this pass.
    pub(super) fn next(&self, first_key: CallKey) -> u32 {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let count = made.entry(first_key).or_default();
        *count += 1;
        *count - 1
    }

    /// Returns the number of the recorded call of that key.
    pub(super) fn recorded(&self, key: CallKey) -> Option<u32> {
        self.recorded.get(&key.to_string()).copied()
    }

    /// Returns the greatest number of the attempt when the pass began, 0 if it had not begun.
    pub(super) fn last_seq(&self) -> u32 {
        self.last_seq
    }
}
