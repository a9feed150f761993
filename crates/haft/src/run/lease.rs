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
    /// The lease as the journal made it.
    lease: Lease,
    /// The facts that a call needs.
    view: LeaseView,
    /// Ends the task that renews the lease.
    renewing: AbortHandle,
    /// Releases the lease; taken when it is dropped.
    release: Option<ReleaseLease>,
}

/// The facts about its lease that a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeaseView {
    /// The fencing token, under which calls are recorded.
    pub(super) fencing_token: u64,
    /// Whether the run had calls before this lease.
    pub(super) prior_calls: PriorCalls,
    /// Whether the calls of the run are the nodes of a plan.
    pub(super) driver: RunDriver,
}

/// Whether the calls of the run are the nodes of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunDriver {
    /// A plan makes all calls.
    Plan,
    /// A front end makes the calls.
    FrontEnd,
}

impl RunDriver {
    /// Returns the driver of a run that this kind of front end began.
    pub(super) fn of(begun_by: &str) -> Self {
        if begun_by == PLAN_FRONT_END { Self::Plan } else { Self::FrontEnd }
    }

    /// Returns whether a front end may make calls in the run.
    pub(super) fn admits(self, front_end: &str) -> bool {
        self == Self::FrontEnd || front_end == PLAN_FRONT_END
    }
}

impl HeldLease {
    /// Holds a lease that was taken, together with the task that renews it.
    pub(super) fn new(
        lease: Lease,
        view: LeaseView,
        renewing: AbortHandle,
        release: ReleaseLease,
    ) -> Self {
        Self { lease, view, renewing, release: Some(release) }
    }

    /// Returns the lease as the journal made it.
    pub(super) fn lease(&self) -> &Lease {
        &self.lease
    }

    /// Returns the facts that a call needs.
    pub(super) fn view(&self) -> LeaseView {
        self.view
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
