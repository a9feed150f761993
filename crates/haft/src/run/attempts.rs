//! The attempts of one run as this process counts them, shared by all who make calls in it. What was counted before this
//! process came is loaded from the journal once.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{CallKey, Scope};
use haft_journal::{AttemptState, CallRow, EarlierEffects, Journal, JournalError, Lease};
use tokio::sync::OnceCell;

use super::lease::Held;

/// The attempts of one run.
#[derive(Default)]
pub(crate) struct Attempts {
    // Each attempt's counters. Whoever makes a call takes the lock to find its attempt; counting happens under the
    // attempt's own lock. A channel to one counting task would cost every call a switch between tasks.
    by_scope: Mutex<HashMap<Scope, Arc<Attempt>>>,
    /// Set once this process has the run.
    pub(super) held: OnceCell<Held>,
}

/// One attempt.
#[derive(Default)]
pub(crate) struct Attempt {
    counters: OnceCell<Mutex<AttemptState>>,
    /// What earlier attempts did, for the second and later ones.
    pub(crate) earlier: OnceCell<EarlierEffects>,
    /// Set once the driver was told what earlier attempts did.
    told: AtomicBool,
    /// Set once a call was held back for it.
    gated: AtomicBool,
    // The names of calls that are on their way; locked to add or remove one.
    driver_ids: Arc<Mutex<HashSet<String>>>,
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

impl Attempts {
    /// Returns an attempt with what was counted of it.
    pub(super) async fn attempt(
        &self,
        journal: &dyn Journal,
        scope: &Scope,
    ) -> Result<Arc<Attempt>, JournalError> {
        let attempt = {
            let mut attempts = self.by_scope.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(attempts.entry(scope.clone()).or_default())
        };
        let load = || async { journal.attempt(scope).await.map(Mutex::new) };
        attempt.counters.get_or_try_init(load).await?;
        Ok(attempt)
    }

    /// Returns the lease that this process has, if it has the run.
    pub(crate) fn held(&self) -> Option<&Lease> {
        self.held.get().map(Held::lease)
    }
}

impl Attempt {
    fn counting<T>(&self, count: impl FnOnce(&mut AttemptState) -> T) -> T {
        let counters =
            self.counters.get().expect("an attempt is handed out once its counters are loaded");
        count(&mut counters.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Numbers a call that follows all those made before.
    pub(super) fn number(&self, first_key: CallKey) -> Numbered {
        self.counting(|counters| {
            let made = counters.occurrences.entry(first_key.to_string()).or_default();
            let occurrence = *made;
            *made += 1;
            counters.last_seq += 1;
            Numbered { seq: counters.last_seq, occurrence }
        })
    }

    /// Numbers a call of which it is known how often it was made before.
    pub(crate) fn number_as(&self, first_key: CallKey, occurrence: u32) -> Numbered {
        self.counting(|counters| {
            let made = counters.occurrences.entry(first_key.to_string()).or_default();
            *made = (*made).max(occurrence + 1);
            counters.last_seq += 1;
            Numbered { seq: counters.last_seq, occurrence }
        })
    }

    /// Returns how many calls like a recorded one were made before it, by its key: whoever names its calls may make them
    /// in any order. `guess` is looked at first.
    pub(super) fn occurrence_of(&self, row: &CallRow, first_key: CallKey, guess: u32) -> u32 {
        let made =
            |counters: &mut AttemptState| counters.occurrences.get(&first_key.to_string()).copied();
        let made = self.counting(made).unwrap_or_default();
        let is_it = |earlier: &u32| first_key.occurrence(*earlier).to_string() == row.call_key;
        std::iter::once(guess).chain(0..made).find(is_it).unwrap_or(guess)
    }

    /// Counts a call as not made: it was held back, and when it comes again it is still the same one.
    pub(crate) fn take_back(&self, first_key: CallKey) {
        self.counting(|counters| {
            if let Some(made) = counters.occurrences.get_mut(&first_key.to_string()) {
                *made = made.saturating_sub(1);
            }
        });
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

    /// Returns whether a call has to be held back for it; true once.
    pub(crate) fn gate(&self) -> bool {
        !self.gated.swap(true, Ordering::Relaxed)
    }
}
