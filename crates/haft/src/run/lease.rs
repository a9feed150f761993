//! The lease of a run, while this process holds it. Among all processes a run has at most one holder, and in this
//! process at most one lease that is not being released.

use haft_journal::Lease;
use tokio::task::AbortHandle;

use crate::connection_state::PLAN_FRONT_END;
use crate::pipeline::PriorCalls;

/// Releases a lease.
pub(super) type ReleaseLease = Box<dyn FnOnce(Lease) + Send + Sync>;

/// A lease that this process holds. Dropping it releases the lease.
pub(super) struct HeldLease {
    lease: Lease,
    prior_calls: PriorCalls,
    driver: RunDriver,
    renewing: AbortHandle,
    release: Option<ReleaseLease>,
}

/// The facts about its lease that a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeaseView {
    pub(super) fencing_token: u64,
    pub(super) prior_calls: PriorCalls,
    pub(super) driver: RunDriver,
}

/// Whether the calls of the run are the nodes of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunDriver {
    Plan,
    FrontEnd,
}

impl RunDriver {
    pub(super) fn of(begun_by: &str) -> Self {
        if begun_by == PLAN_FRONT_END { Self::Plan } else { Self::FrontEnd }
    }

    /// Returns whether a front end may make calls in the run.
    pub(super) fn admits(self, front_end: &str) -> bool {
        self == Self::FrontEnd || front_end == PLAN_FRONT_END
    }
}

impl HeldLease {
    pub(super) fn new(
        lease: Lease,
        view: LeaseView,
        renewing: AbortHandle,
        release: ReleaseLease,
    ) -> Self {
        let LeaseView { prior_calls, driver, .. } = view;
        Self { lease, prior_calls, driver, renewing, release: Some(release) }
    }

    pub(super) fn lease(&self) -> &Lease {
        &self.lease
    }

    pub(super) fn view(&self) -> LeaseView {
        LeaseView {
            fencing_token: self.lease.fencing_token,
            prior_calls: self.prior_calls,
            driver: self.driver,
        }
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        self.renewing.abort();
        if let Some(release) = self.release.take() {
            release(self.lease.clone());
        }
    }
}
