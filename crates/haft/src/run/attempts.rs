//! The attempts of one run as this process counts them, shared by all who make calls in it. What was counted before this
//! process came is loaded from the journal once, and again when the run comes back from somebody else.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{CallKey, Scope};
use haft_journal::{AttemptState, CallRow, Journal, JournalError, Lease};
use tokio::sync::{OnceCell, OwnedMutexGuard};
use tokio::time::Instant;

use super::earlier::Earlier;
use super::lease::{Held, History, Tenure};
use super::occurrences::Occurrences;

/// The attempts of one run.
#[derive(Default)]
pub(crate) struct Attempts {
    // Each attempt's counters. Whoever makes a call takes the lock to find its attempt; counting happens under the
    // attempt's own lock. A channel to one counting task would cost every call a switch between tasks.
    by_scope: Mutex<HashMap<Scope, Arc<Attempt>>>,
    // Set while this process has the run; locked to look at it, to set it, and to take it away.
    held: Mutex<Option<Arc<Held>>>,
}

/// One attempt.
#[derive(Default)]
pub(crate) struct Attempt {
    counters: OnceCell<Counters>,
    /// What earlier attempts did, for the second and later ones.
    pub(crate) earlier: OnceCell<Earlier>,
    /// Set once the driver was told what earlier attempts did.
    told: AtomicBool,
    // The names of calls that are on their way; locked to add or remove one.
    driver_ids: Arc<Mutex<HashSet<String>>>,
}

/// What was counted of an attempt.
struct Counters {
    // Locked to number one call.
    numbers: Mutex<Numbers>,
    /// The numbers of calls that nobody heard the end of, by their first key. Whoever makes such a call again has the lock
    /// of its kind until that is done; no kind is ever removed, few are ever added.
    unheard: Mutex<HashMap<String, Arc<tokio::sync::Mutex<VecDeque<u32>>>>>,
    warned: Mutex<Warned>,
}

struct Numbers {
    last_seq: u32,
    occurrences: Occurrences,
}

/// Whether somebody was told, by a call that was held back, what earlier attempts did.
#[derive(Clone, Copy)]
enum Warned {
    No,
    /// When the answer that says so left.
    At(Instant),
    /// By another process.
    Before,
}

/// What the attempt says of one call: its number, and how often this very call was made before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub(crate) seq: u32,
    pub(crate) occurrence: u32,
}

/// The name of a call that is on its way.
pub(crate) struct DriverId {
    id: String,
    under_way: Arc<Mutex<HashSet<String>>>,
}

impl Drop for DriverId {
    fn drop(&mut self) {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

/// The calls of one kind that nobody heard the end of, while one of them is made again. Others of that kind wait.
pub(crate) struct Unheard {
    seqs: OwnedMutexGuard<VecDeque<u32>>,
}

impl Unheard {
    /// Returns the number of the first of them.
    pub(super) fn first(&self) -> Option<u32> {
        self.seqs.front().copied()
    }

    /// Says that nobody hears the end of one more.
    pub(crate) fn leave(&mut self, seq: u32) {
        self.seqs.push_back(seq);
    }

    /// Says that the driver hears how a call ended, or that it is executed again.
    pub(crate) fn heard(&mut self, seq: u32) {
        self.seqs.retain(|unheard| *unheard != seq);
    }
}

impl Attempts {
    /// Returns an attempt with what was counted of it. Of a run without a history all was counted here.
    pub(super) async fn attempt(
        &self,
        journal: &dyn Journal,
        scope: &Scope,
        history: History,
    ) -> Result<Arc<Attempt>, JournalError> {
        let attempt = {
            let mut attempts = self.by_scope.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(attempts.entry(scope.clone()).or_default())
        };
        let load = || async {
            let state = match history {
                History::None => AttemptState::default(),
                History::Some => journal.attempt(scope).await?,
            };
            Ok(Counters::of(state))
        };
        attempt.counters.get_or_try_init(load).await?;
        Ok(attempt)
    }

    /// Returns the lease that this process has, if it has the run.
    pub(crate) fn lease_held(&self) -> Option<Lease> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().map(|held| held.lease().clone())
    }

    /// Returns what is to be known of the lease that this process has, if it has the run.
    pub(super) fn tenure_held(&self) -> Option<Tenure> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().map(|held| held.tenure())
    }

    /// Says that this process has the run.
    pub(super) fn hold(&self, held: Held) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(held));
    }

    /// Says that the run was taken away under this epoch. Others may have made calls since, so nothing that was counted
    /// holds any more; the next call takes the run anew.
    pub(crate) fn lose(&self, epoch: u64) {
        let lost = {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            let lost = held.take_if(|held| held.lease().epoch == epoch);
            if lost.is_some() {
                self.by_scope.lock().unwrap_or_else(PoisonError::into_inner).clear();
            }
            lost
        };
        drop(lost);
    }
}

impl Counters {
    fn of(state: AttemptState) -> Self {
        let mut unheard: HashMap<String, VecDeque<u32>> = HashMap::new();
        for call in state.unheard {
            unheard.entry(call.first_key).or_default().push_back(call.seq);
        }
        let shared = |(key, seqs)| (key, Arc::new(tokio::sync::Mutex::new(seqs)));
        let warned = if state.was_held_back { Warned::Before } else { Warned::No };
        let numbers =
            Numbers { last_seq: state.last_seq, occurrences: Occurrences::of(state.calls) };
        Self {
            numbers: Mutex::new(numbers),
            unheard: Mutex::new(unheard.into_iter().map(shared).collect()),
            warned: Mutex::new(warned),
        }
    }
}

impl Attempt {
    fn counters(&self) -> &Counters {
        self.counters.get().expect("an attempt is handed out once its counters are loaded")
    }

    fn counting<T>(&self, count: impl FnOnce(&mut Numbers) -> T) -> T {
        count(&mut self.counters().numbers.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns whether a call of it was ever numbered, here or by those before.
    pub(super) fn is_begun(&self) -> bool {
        self.counting(|numbers| numbers.last_seq > 0)
    }

    /// Numbers a call that follows all those made before.
    pub(super) fn number(&self, first_key: CallKey) -> Numbered {
        self.counting(|numbers| {
            numbers.last_seq += 1;
            Numbered { seq: numbers.last_seq, occurrence: numbers.occurrences.next(first_key) }
        })
    }

    /// Numbers a call of which it is known how often it was made before.
    pub(crate) fn number_as(&self, first_key: CallKey, occurrence: u32) -> Numbered {
        self.counting(|numbers| {
            numbers.occurrences.take(first_key, occurrence);
            numbers.last_seq += 1;
            Numbered { seq: numbers.last_seq, occurrence }
        })
    }

    /// Returns how many calls like a recorded one were made before it, by its key: whoever names its calls may make them
    /// in any order. `guess` is looked at first.
    pub(super) fn occurrence_of(&self, row: &CallRow, first_key: CallKey, guess: u32) -> u32 {
        let made = self.counting(|numbers| numbers.occurrences.bound(first_key));
        let is_it = |earlier: &u32| first_key.occurrence(*earlier).to_string() == row.call_key;
        std::iter::once(guess).chain(0..made).find(is_it).unwrap_or(guess)
    }

    /// Counts a call as not made: it was held back, and when it comes again it is still the same one.
    pub(crate) fn take_back(&self, first_key: CallKey, occurrence: u32) {
        self.counting(|numbers| numbers.occurrences.give_back(first_key, occurrence));
    }

    /// Returns the calls of that kind that nobody heard the end of, once nobody makes one of them; `None` if there are none.
    pub(super) async fn unheard(&self, first_key: CallKey) -> Option<Unheard> {
        let of_kind = {
            let unheard = self.counters().unheard.lock().unwrap_or_else(PoisonError::into_inner);
            // As good as always, and then the key need not be written out.
            if unheard.is_empty() {
                return None;
            }
            Arc::clone(unheard.get(&first_key.to_string())?)
        };
        let seqs = of_kind.lock_owned().await;
        (!seqs.is_empty()).then_some(Unheard { seqs })
    }

    /// Says that nobody hears how a call ended, because that could not be recorded.
    pub(crate) async fn leave_unheard(&self, first_key: CallKey, seq: u32) {
        let of_kind = {
            let mut unheard =
                self.counters().unheard.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(unheard.entry(first_key.to_string()).or_default())
        };
        of_kind.lock().await.push_back(seq);
    }

    /// Takes the name of a call until it is done, unless one of that name is on its way.
    pub(super) fn claim(&self, id: &str) -> Option<DriverId> {
        let mut under_way = self.driver_ids.lock().unwrap_or_else(PoisonError::into_inner);
        under_way
            .insert(id.to_owned())
            .then(|| DriverId { id: id.to_owned(), under_way: Arc::clone(&self.driver_ids) })
    }

    /// Returns whether the driver still has to be told what earlier attempts did; true once.
    pub(crate) fn tell(&self) -> bool {
        !self.told.swap(true, Ordering::Relaxed)
    }

    /// Returns whether a call that arrived then has to be held back: whoever made it cannot have read the warning.
    pub(crate) fn is_unwarned(&self, arrived: Instant) -> bool {
        match *self.counters().warned.lock().unwrap_or_else(PoisonError::into_inner) {
            Warned::No => true,
            Warned::At(warned) => arrived <= warned,
            Warned::Before => false,
        }
    }

    /// Says that the answer which warns is about to leave.
    pub(crate) fn warned(&self) {
        let mut warned = self.counters().warned.lock().unwrap_or_else(PoisonError::into_inner);
        if let Warned::No = *warned {
            *warned = Warned::At(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_cannot_have_read_the_warning_is_held_back() {
        let loaded = |was_held_back| Attempt {
            counters: OnceCell::new_with(Some(Counters::of(AttemptState {
                was_held_back,
                ..AttemptState::default()
            }))),
            ..Attempt::default()
        };
        let attempt = loaded(false);
        let early = Instant::now();
        assert!(attempt.is_unwarned(early));
        attempt.warned();
        let late = Instant::now() + std::time::Duration::from_nanos(1);
        attempt.warned();
        assert!(attempt.is_unwarned(early));
        assert!(!attempt.is_unwarned(late.max(early + std::time::Duration::from_secs(1))));
        assert!(!loaded(true).is_unwarned(early));
    }
}
