//! The position of a driver that starts an attempt over. haft matches a new call to a recorded one by its key and
//! repeat index, never by its order.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::{AttemptAddress, CallKey};
use haft_journal::{Journal, JournalError, RecordedCall};

use super::attempt::AttemptTracker;
use super::repeat_index::RepeatIndices;

/// The position in each attempt of a driver that starts a run over.
#[derive(Default)]
pub(crate) struct ReplayCursors {
    /// Each cursor with the fencing token under which it was loaded. Each call takes the lock to find its cursor.
    by_scope: Mutex<HashMap<AttemptAddress, (u64, Arc<ReplayCursor>)>>,
}

impl ReplayCursors {
    /// Returns the cursor of an attempt. Recorded calls are loaded again under each fencing token, because other
    /// processes may have made calls in between.
    pub(super) async fn cursor(
        &self,
        journal: &dyn Journal,
        scope: &AttemptAddress,
        fencing_token: u64,
        attempt: &AttemptTracker,
    ) -> Result<Arc<ReplayCursor>, JournalError> {
        let known = |cursors: &HashMap<AttemptAddress, (u64, Arc<ReplayCursor>)>| match cursors
            .get(scope)
        {
            Some((loaded_under, cursor)) if *loaded_under >= fencing_token => {
                Some(Arc::clone(cursor))
            }
            _ => None,
        };
        if let Some(cursor) = known(&self.by_scope.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(cursor);
        }
        let recorded =
            if attempt.is_begun() { journal.recorded_calls(scope).await? } else { Vec::new() };
        let mut cursors = self.by_scope.lock().unwrap_or_else(PoisonError::into_inner);
        // Another call may have inserted a cursor during loading; its counts must not be lost.
        if let Some(cursor) = known(&cursors) {
            return Ok(cursor);
        }
        let earlier = cursors.get(scope).map(|(_, cursor)| cursor);
        let cursor = Arc::new(ReplayCursor::new(recorded, earlier.map(Arc::as_ref)));
        cursors.insert(scope.clone(), (fencing_token, Arc::clone(&cursor)));
        Ok(cursor)
    }

    /// Counts a call as not made. When the driver makes the call again, it is still the same one.
    pub(in crate::pipeline) fn roll_back(
        &self,
        scope: &AttemptAddress,
        first_key: CallKey,
        counted: u32,
    ) {
        let cursors = self.by_scope.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, cursor)) = cursors.get(scope) {
            cursor.give_back(first_key, counted);
        }
    }
}

/// One pass over a recorded attempt.
pub(super) struct ReplayCursor {
    /// The number of the latest row of each call key.
    recorded: HashMap<String, u32>,
    /// The greatest call number when the pass began, or 0 without calls.
    last_seq: u32,
    /// The calls made in this pass; locked for one look-up.
    repeat_indices: Mutex<RepeatIndices>,
}

impl ReplayCursor {
    /// Begins a pass over these calls, which are in the order of their numbers, or continues the pass `begun`.
    pub(super) fn new(calls: Vec<RecordedCall>, begun: Option<&Self>) -> Self {
        let last_seq = calls.last().map_or(0, |call| call.seq);
        // A call that was executed again has a second row. The later row counts.
        let recorded = calls.into_iter().map(|call| (call.call_key, call.seq)).collect();
        let made = begun.map(|begun| std::mem::take(&mut *begun.repeat_indices()));
        Self { recorded, last_seq, repeat_indices: Mutex::new(made.unwrap_or_default()) }
    }

    /// Locks the repeat indices for one look-up.
    fn repeat_indices(&self) -> MutexGuard<'_, RepeatIndices> {
        self.repeat_indices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call, and returns its repeat index in this pass.
    pub(super) fn next_repeat_index(&self, first_key: CallKey) -> u32 {
        self.repeat_indices().take_next(first_key)
    }

    /// Counts a call as not made.
    pub(super) fn give_back(&self, first_key: CallKey, occurrence: u32) {
        self.repeat_indices().give_back(first_key, occurrence);
    }

    /// Returns the number of the recorded call of that key.
    pub(super) fn recorded_seq(&self, key: CallKey) -> Option<u32> {
        // In a new attempt the map is empty, and the key need not be formatted.
        if self.recorded.is_empty() { None } else { self.recorded.get(&key.to_string()).copied() }
    }

    /// Returns whether no recorded call has the key with this repeat index.
    pub(super) fn is_free(&self, first_key: CallKey, occurrence: u32) -> bool {
        self.recorded_seq(first_key.with_repeat_index(occurrence)).is_none()
    }

    /// Returns the greatest call number of the attempt when the pass began, or 0 if the attempt had no calls.
    pub(super) fn last_seq(&self) -> u32 {
        self.last_seq
    }
}
