//! The attempts of one run, and the call numbers that this process gives in them. All callers in the run share them.
//! Numbers from other processes are loaded from the journal once, and again when this process takes the run back.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{AttemptAddress, CallKey, RunId};
use haft_journal::{AttemptState, CallRow, Journal, JournalError};
use tokio::sync::{OnceCell, OwnedMutexGuard};
use tokio::time::Instant;

use super::earlier_effects::EarlierAttempts;
use super::repeat_index::RepeatIndices;

/// The attempts of one run.
#[derive(Default)]
pub(crate) struct AttemptTrackers {
    /// The counters of each attempt. Each call takes the lock to find its attempt, and counts under the attempt's own
    /// lock. A channel to one counting task would cost every call a switch between tasks.
    by_scope: Mutex<HashMap<AttemptAddress, Arc<AttemptTracker>>>,
    /// Set once the journal has counted that this process answered a call from its record.
    is_recall_counted: AtomicBool,
}

/// Whether calls of the run were recorded before this process took its lease. If there were none, this process made all
/// calls, and the journal need not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PriorCalls {
    /// No calls were recorded before, so the journal need not be read.
    None,
    /// Calls were recorded before, and the journal must be read.
    Some,
}

/// One attempt.
#[derive(Default)]
pub(crate) struct AttemptTracker {
    /// Loaded with the first call of the attempt in this process.
    counters: OnceCell<AttemptCounters>,
    /// The effects of earlier attempts, for the second and later attempts.
    pub(crate) earlier: OnceCell<EarlierAttempts>,
    /// Set once the driver got the warning about earlier attempts.
    is_driver_warned: AtomicBool,
    /// The driver's ids of calls that are executing; locked to add or remove one.
    driver_call_ids: Mutex<HashSet<String>>,
}

/// The counters of an attempt.
struct AttemptCounters {
    /// Locked to number one call.
    numbers: Mutex<CallNumbers>,
    /// The numbers of unacknowledged calls, by their first key. A call that repeats one of them holds the lock of its
    /// first key until it is done. Entries are never removed, and few are ever added.
    unacknowledged: Mutex<HashMap<String, Arc<tokio::sync::Mutex<VecDeque<u32>>>>>,
    /// Whether a held-back call already told the driver about earlier attempts.
    warning_state: Mutex<RetryWarningState>,
}

/// The numbers that were given to calls of the attempt.
struct CallNumbers {
    /// The greatest number so far, or 0 before the first call.
    last_seq: u32,
    /// The repeat indices of the calls, by first key.
    repeat_indices: RepeatIndices,
}

/// Whether a held-back call already told the driver about the effects of earlier attempts.
#[derive(Clone, Copy)]
enum RetryWarningState {
    /// No call was held back yet.
    NotWarned,
    /// This process sent the warning at this time.
    WarnedAt(Instant),
    /// Another process sent the warning.
    WarnedEarlier,
}

/// The number of a call in its attempt, and its repeat index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallNumbering {
    /// The number of the call in its attempt, from 1.
    pub(crate) seq: u32,
    /// The number of earlier calls with the same first key.
    pub(crate) repeat_index: u32,
}

/// The driver's id of a call that is executing. Dropping the guard frees the id.
pub(crate) struct DriverCallIdGuard {
    /// The driver's id of the call.
    id: String,
    /// The attempt in which the id is in use.
    attempt: Arc<AttemptTracker>,
}

impl Drop for DriverCallIdGuard {
    fn drop(&mut self) {
        let ids = &self.attempt.driver_call_ids;
        ids.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

/// The unacknowledged calls with one first key, locked while one of them is made again. Other such calls wait.
pub(crate) struct UnacknowledgedCalls {
    /// The numbers of the calls, the first one first.
    seqs: OwnedMutexGuard<VecDeque<u32>>,
}

impl UnacknowledgedCalls {
    /// Returns the number of the first unacknowledged call.
    pub(in crate::pipeline) fn first(&self) -> Option<u32> {
        self.seqs.front().copied()
    }

    /// Adds an unacknowledged call.
    pub(crate) fn add_call(&mut self, seq: u32) {
        self.seqs.push_back(seq);
    }

    /// Removes a call: the driver receives its outcome, or the call is executed again.
    pub(crate) fn acknowledge(&mut self, seq: u32) {
        self.seqs.retain(|unheard| *unheard != seq);
    }
}

impl AttemptTrackers {
    /// Returns an attempt with its counters. If the run has no prior calls, the journal is not read.
    pub(in crate::pipeline) async fn attempt(
        &self,
        journal: &dyn Journal,
        scope: &AttemptAddress,
        history: PriorCalls,
    ) -> Result<Arc<AttemptTracker>, JournalError> {
        let attempt = {
            let mut attempts = self.by_scope.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(attempts.entry(scope.clone()).or_default())
        };
        let load = || async {
            Ok(AttemptCounters::from(match history {
                PriorCalls::None => AttemptState::default(),
                PriorCalls::Some => journal.attempt_state(scope).await?,
            }))
        };
        attempt.counters.get_or_try_init(load).await?;
        Ok(attempt)
    }

    /// Counts a recalled answer as progress of the run, once while this process has the lease. Without that, a driver that
    /// starts over and is killed each time could not go on for good.
    pub(super) async fn count_recall(&self, journal: &dyn Journal, run: &RunId) {
        if self.is_recall_counted.swap(true, Ordering::Relaxed) {
            return;
        }
        // The recorded answer holds in any case.
        if let Err(err) = journal.count_progress(run).await {
            tracing::warn!(%run, %err, "the progress of the run could not be counted");
        }
    }

    /// Forgets all attempts, because other processes may have made calls in them since.
    pub(crate) fn clear(&self) {
        self.is_recall_counted.store(false, Ordering::Relaxed);
        self.by_scope.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl From<AttemptState> for AttemptCounters {
    fn from(state: AttemptState) -> Self {
        let mut unheard: HashMap<String, VecDeque<u32>> = HashMap::new();
        for call in state.unacknowledged {
            unheard.entry(call.first_key).or_default().push_back(call.seq);
        }
        let shared = |(key, seqs)| (key, Arc::new(tokio::sync::Mutex::new(seqs)));
        let warned = if state.was_held_back {
            RetryWarningState::WarnedEarlier
        } else {
            RetryWarningState::NotWarned
        };
        let numbers = CallNumbers {
            last_seq: state.last_seq,
            repeat_indices: RepeatIndices::from_recorded(state.calls),
        };
        Self {
            numbers: Mutex::new(numbers),
            unacknowledged: Mutex::new(unheard.into_iter().map(shared).collect()),
            warning_state: Mutex::new(warned),
        }
    }
}

impl AttemptTracker {
    /// Returns the counters, which are loaded before the attempt is handed out.
    fn counters(&self) -> &AttemptCounters {
        self.counters.get().expect("an attempt is handed out once its counters are loaded")
    }

    /// Locks the numbers for one update.
    fn update_numbers<T>(&self, count: impl FnOnce(&mut CallNumbers) -> T) -> T {
        count(&mut self.counters().numbers.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns whether a call of the attempt was ever numbered, by this process or by another one.
    pub(in crate::pipeline) fn is_begun(&self) -> bool {
        self.update_numbers(|numbers| numbers.last_seq > 0)
    }

    /// Returns the number that the next call would get now.
    pub(in crate::pipeline) fn next_seq(&self) -> u32 {
        self.update_numbers(|numbers| numbers.last_seq.saturating_add(1))
    }

    /// Numbers a call that follows all calls made before.
    pub(in crate::pipeline) fn number_call(&self, first_key: CallKey) -> CallNumbering {
        self.update_numbers(|numbers| {
            numbers.last_seq += 1;
            CallNumbering {
                seq: numbers.last_seq,
                repeat_index: numbers.repeat_indices.take_next(first_key),
            }
        })
    }

    /// Numbers a call whose repeat index is known.
    pub(crate) fn number_call_as(&self, first_key: CallKey, occurrence: u32) -> CallNumbering {
        self.update_numbers(|numbers| {
            numbers.repeat_indices.take(first_key, occurrence);
            numbers.last_seq += 1;
            CallNumbering { seq: numbers.last_seq, repeat_index: occurrence }
        })
    }

    /// Returns the repeat index of a recorded call, found by its key. Drivers with their own call ids may make calls in
    /// any order. `guess` is tried first.
    pub(in crate::pipeline) fn repeat_index_of(
        &self,
        row: &CallRow,
        first_key: CallKey,
        guess: u32,
    ) -> u32 {
        let made = self.update_numbers(|numbers| numbers.repeat_indices.upper_bound(first_key));
        let is_it =
            |earlier: &u32| first_key.with_repeat_index(*earlier).to_string() == row.call_key;
        std::iter::once(guess).chain(0..made).find(is_it).unwrap_or(guess)
    }

    /// Frees the repeat index of a call that was held back. When the call comes again, it is still the same one.
    pub(crate) fn roll_back_repeat_index(&self, first_key: CallKey, occurrence: u32) {
        self.update_numbers(|numbers| numbers.repeat_indices.give_back(first_key, occurrence));
    }

    /// Waits for and locks the unacknowledged calls with this first key; returns `None` if there are none.
    pub(in crate::pipeline) async fn lock_unacknowledged(
        &self,
        first_key: CallKey,
    ) -> Option<UnacknowledgedCalls> {
        let of_kind = {
            let unheard =
                self.counters().unacknowledged.lock().unwrap_or_else(PoisonError::into_inner);
            // The map is nearly always empty, and then the key need not be formatted.
            if unheard.is_empty() {
                return None;
            }
            Arc::clone(unheard.get(&first_key.to_string())?)
        };
        let seqs = of_kind.lock_owned().await;
        (!seqs.is_empty()).then_some(UnacknowledgedCalls { seqs })
    }

    /// Marks a call as unacknowledged, because its outcome could not be recorded.
    pub(crate) async fn mark_unacknowledged(&self, first_key: CallKey, seq: u32) {
        let of_kind = {
            let mut unheard =
                self.counters().unacknowledged.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(unheard.entry(first_key.to_string()).or_default())
        };
        of_kind.lock().await.push_back(seq);
    }

    /// Reserves the driver's id of a call until the call is done; returns `None` if the id is in use.
    pub(in crate::pipeline) fn claim_driver_call_id(
        self: &Arc<Self>,
        id: &str,
    ) -> Option<DriverCallIdGuard> {
        let mut claimed = self.driver_call_ids.lock().unwrap_or_else(PoisonError::into_inner);
        // Made only for a new id, because dropping a guard frees its id.
        let guard = || DriverCallIdGuard { id: id.to_owned(), attempt: Arc::clone(self) };
        claimed.insert(id.to_owned()).then(guard)
    }

    /// Returns whether the driver still needs the warning about earlier attempts; true only once.
    pub(in crate::pipeline) fn take_driver_warning(&self) -> bool {
        !self.is_driver_warned.swap(true, Ordering::Relaxed)
    }

    /// Returns whether to hold back a call that arrived then, because its driver cannot have read the warning.
    pub(crate) fn is_unwarned(&self, arrived: Instant) -> bool {
        match *self.counters().warning_state.lock().unwrap_or_else(PoisonError::into_inner) {
            RetryWarningState::NotWarned => true,
            RetryWarningState::WarnedAt(warned) => arrived <= warned,
            RetryWarningState::WarnedEarlier => false,
        }
    }

    /// Records that the answer with the warning is about to leave.
    pub(crate) fn mark_warned(&self) {
        let mut warned =
            self.counters().warning_state.lock().unwrap_or_else(PoisonError::into_inner);
        if let RetryWarningState::NotWarned = *warned {
            *warned = RetryWarningState::WarnedAt(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_cannot_have_read_the_warning_is_held_back() {
        let loaded = |was_held_back| AttemptTracker {
            counters: OnceCell::new_with(Some(AttemptCounters::from(AttemptState {
                was_held_back,
                ..AttemptState::default()
            }))),
            ..AttemptTracker::default()
        };
        let attempt = loaded(false);
        let early = Instant::now();
        assert!(attempt.is_unwarned(early));
        attempt.mark_warned();
        let late = Instant::now() + std::time::Duration::from_nanos(1);
        attempt.mark_warned();
        assert!(attempt.is_unwarned(early));
        assert!(!attempt.is_unwarned(late.max(early + std::time::Duration::from_secs(1))));
        assert!(!loaded(true).is_unwarned(early));
    }
}
