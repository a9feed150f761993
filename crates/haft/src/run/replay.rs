//! Where a driver that starts an attempt over has got to. Which recorded call a new one is follows from what it is and
//! how often it was made since the start, never from its order.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_contract::CallKey;
use haft_journal::RecordedCall;

use super::occurrences::Occurrences;

/// One pass over a recorded attempt.
pub(super) struct Cursor {
    /// The number of the latest row of each call.
    recorded: HashMap<String, u32>,
    last_seq: u32,
    // Which calls were made in this pass; locked for one look-up.
    made: Mutex<Occurrences>,
}

impl Cursor {
    /// Begins a pass over these calls, which come in the order of their numbers, or goes on with one that was begun.
    pub(super) fn new(calls: Vec<RecordedCall>, begun: Option<&Self>) -> Self {
        let last_seq = calls.last().map_or(0, |call| call.seq);
        // A call that was executed again has a second row, and that is the one that counts.
        let recorded = calls.into_iter().map(|call| (call.call_key, call.seq)).collect();
        let made = begun.map(|begun| std::mem::take(&mut *begun.made()));
        Self { recorded, last_seq, made: Mutex::new(made.unwrap_or_default()) }
    }

    fn made(&self) -> MutexGuard<'_, Occurrences> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call, and returns how often it was made before in this pass.
    pub(super) fn next(&self, first_key: CallKey) -> u32 {
        self.made().next(first_key)
    }

    /// Counts a call as not made.
    pub(super) fn give_back(&self, first_key: CallKey, occurrence: u32) {
        self.made().give_back(first_key, occurrence);
    }

    /// Returns the number of the recorded call of that key.
    pub(super) fn recorded(&self, key: CallKey) -> Option<u32> {
        // As good as always in a new attempt, and then the key need not be written out.
        if self.recorded.is_empty() { None } else { self.recorded.get(&key.to_string()).copied() }
    }

    /// Returns whether no recorded call has that key.
    pub(super) fn is_free(&self, first_key: CallKey, occurrence: u32) -> bool {
        self.recorded(first_key.occurrence(occurrence)).is_none()
    }

    /// Returns the greatest number of the attempt when the pass began, 0 if it had not begun.
    pub(super) fn last_seq(&self) -> u32 {
        self.last_seq
    }
}
