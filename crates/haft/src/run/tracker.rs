//! The state of one run in this process: its attempts, and the lease while this process holds it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_journal::Lease;

use super::lease::{HeldLease, LeaseView};
use crate::pipeline::AttemptTrackers;

/// The state of one run in this process.
#[derive(Default)]
pub(crate) struct RunTracker {
    /// The attempts of the run that had calls in this process.
    pub(super) attempts: Arc<AttemptTrackers>,
    /// Set while this process has the lease; locked to read, set or drop it.
    held_lease: Mutex<Option<HeldLease>>,
}

impl RunTracker {
    /// Returns the lease that this process has, if it has the run.
    pub(crate) fn held_lease(&self) -> Option<Lease> {
        self.lock_lease().as_ref().map(|held| held.lease().clone())
    }

    /// Returns the view of the lease that this process has, if it has the lease.
    pub(super) fn held_lease_view(&self) -> Option<LeaseView> {
        self.lock_lease().as_ref().map(HeldLease::view)
    }

    /// Stores the lease that this process has taken.
    pub(super) fn set_lease(&self, held: HeldLease) {
        *self.lock_lease() = Some(held);
    }

    /// Drops the lease with this fencing token, which another process took over. Others may have made calls since, so
    /// all counters are dropped too. The next call takes the lease again.
    pub(crate) fn drop_lease(&self, fencing_token: u64) {
        let lost = {
            let mut held = self.lock_lease();
            let lost = held.take_if(|held| held.lease().fencing_token == fencing_token);
            if lost.is_some() {
                self.attempts.clear();
            }
            lost
        };
        drop(lost);
    }

    fn lock_lease(&self) -> MutexGuard<'_, Option<HeldLease>> {
        self.held_lease.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
