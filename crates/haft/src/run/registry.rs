//! The runs in which this process makes calls. The first call of a run takes its lease; the registry renews the lease
//! during use, and releases it afterwards.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use haft_contract::RunId;
use haft_journal::{Journal, JournalError, Lease, LeaseRequest, NewRun, RunQuery, RunRow};
use tokio::task::JoinSet;

use super::lease::{HeldLease, LeaseView, ReleaseLease, RunDriver};
use super::tracker::RunTracker;
use crate::limits::{LEASE_MS, LEASE_RENEW_MS};
use crate::pipeline::{PriorCalls, check_files_of_calls};
use crate::run_error::RunError;
use crate::runtime_event::RuntimeEvent;
use crate::shared::{RuntimeParts, RuntimeShared};

/// The runs that this process makes calls in.
pub(crate) struct RunRegistry {
    /// The state of the runtime.
    shared: Arc<RuntimeShared>,
    /// The trackers of runs with live handles. Two handles of a run share a tracker, so that no two calls get the same
    /// number. Written when a run is begun or resumed.
    trackers: Mutex<HashMap<RunId, Weak<RunTracker>>>,
    /// Held while a lease is taken or released, because both wait for the journal and must not overlap.
    pub(crate) opening: tokio::sync::Mutex<()>,
    /// Held while the runs of dead processes are recovered. Calls wait for that; what makes no calls does not.
    pub(crate) recovering: Arc<tokio::sync::Mutex<()>>,
    /// Leases that are being released; shutdown waits for them.
    releases: Mutex<JoinSet<()>>,
}

impl RunRegistry {
    /// Returns a registry without runs.
    pub(crate) fn new(shared: Arc<RuntimeShared>) -> Self {
        let (trackers, opening, recovering, releases) = Default::default();
        Self { shared, trackers, opening, recovering, releases }
    }

    /// Returns the state that all calls of the runtime share.
    pub(crate) fn shared(&self) -> &Arc<RuntimeShared> {
        &self.shared
    }

    /// Returns the journal of the runtime.
    fn journal(&self) -> &dyn Journal {
        &*self.shared.parts.journal
    }

    /// Returns the tracker of a run, the same one for all handles.
    pub(super) fn run_tracker(&self, run: &RunId) -> Arc<RunTracker> {
        let mut attempts = self.trackers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = attempts.get(run).and_then(Weak::upgrade) {
            return shared;
        }
        attempts.retain(|_, counters| counters.strong_count() > 0);
        let counters = Arc::default();
        attempts.insert(run.clone(), Arc::downgrade(&counters));
        counters
    }

    /// Returns the runs in which this process makes calls.
    fn live_run_trackers(&self) -> Vec<(RunId, Arc<RunTracker>)> {
        let attempts = self.trackers.lock().unwrap_or_else(PoisonError::into_inner);
        let live = |(run, attempts): (&RunId, &Weak<RunTracker>)| {
            attempts.upgrade().map(|attempts| (run.clone(), attempts))
        };
        attempts.iter().filter_map(live).collect()
    }

    /// Returns the lease of the run, and takes it if this process does not have it yet. Releases the lease at once if
    /// this process may make no calls in the run. Front ends may make no calls in the run of a plan, and no process may
    /// use a run of another workspace.
    pub(super) async fn acquire_lease(
        self: &Arc<Self>,
        tracker: &RunTracker,
        new_run: impl Fn() -> NewRun,
    ) -> Result<LeaseView, RunError> {
        if let Some(tenure) = tracker.held_lease_view() {
            return Ok(tenure);
        }
        drop(self.recovering.lock().await);
        // No lease is released while this lock is held. The lease taken here therefore stays, and no other call takes
        // it too.
        let _opening = self.opening.lock().await;
        if let Some(tenure) = tracker.held_lease_view() {
            return Ok(tenure);
        }
        let run = new_run();
        let (front_end, here) = (run.front_end.clone(), run.root.clone());
        let RuntimeParts { journal, owner, is_gone, .. } = &self.shared.parts;
        // If the former owner is gone, its open calls become in doubt. An owner that is known to live keeps the lease,
        // even if it was silent for long, because its machine slept or its clock was set.
        let holders = journal.lease_holders().await?.into_iter();
        let other = holders
            .filter(|holder| holder.run == run.id && holder.owner.id != owner.id)
            .find_map(|holder| is_gone(&holder.owner).map(|is_gone| (holder, is_gone)));
        let left = match other {
            Some((holder, true)) => journal.abandon_run(holder).await?,
            Some((holder, false)) => {
                return Err(JournalError::LeaseHeld { holder: Box::new(holder) }.into());
            }
            None => Vec::new(),
        };
        let lease = journal.open_run(run, self.lease_request()).await?;
        let settled = check_files_of_calls(&self.shared, &left).await?;
        let in_doubt: Vec<_> = left.into_iter().filter(|call| !settled.contains(call)).collect();
        if !in_doubt.is_empty() {
            self.shared.parts.report_event(RuntimeEvent::InDoubt(in_doubt)).await;
        }
        // No other process adds to the record of the run any more.
        let query = RunQuery { run: Some(lease.run.clone()), ..RunQuery::default() };
        let begun = self.journal().runs(query).await?.pop();
        let begun = begun.ok_or_else(|| JournalError::UnknownRun { run: lease.run.clone() })?;
        // A run that was recorded without a workspace belongs to any.
        if !begun.root.is_empty() && begun.root != here {
            release_lease(self.journal(), lease).await;
            let RunRow { id: run, root, .. } = begun;
            return Err(RunError::OtherWorkspace { run, root, here });
        }
        let history = if begun.calls == 0 { PriorCalls::None } else { PriorCalls::Some };
        let plan = match history {
            PriorCalls::None => RunDriver::of(&front_end),
            PriorCalls::Some => RunDriver::of(&begun.front_end),
        };
        let tenure =
            LeaseView { fencing_token: lease.fencing_token, prior_calls: history, driver: plan };
        if !plan.admits(&front_end) {
            release_lease(self.journal(), lease).await;
            return Ok(tenure);
        }
        let renewing =
            tokio::spawn(renew_lease(Arc::downgrade(self), lease.clone())).abort_handle();
        tracker.set_lease(HeldLease::new(lease, tenure, renewing, self.release_on_drop()));
        Ok(tenure)
    }

    /// Returns the callback that releases a lease once nothing in this process uses the run.
    fn release_on_drop(self: &Arc<Self>) -> ReleaseLease {
        let (runs, journal) = (Arc::downgrade(self), Arc::clone(&self.shared.parts.journal));
        Box::new(move |lease| {
            // Without an async runtime this process cannot wait for the journal. Others later find out that this
            // process is gone.
            let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
            let Some(runs) = runs.upgrade() else {
                runtime.spawn(async move {
                    release_lease(&*journal, lease).await;
                });
                return;
            };
            // Shutdown waits for this task.
            let giver = Arc::clone(&runs);
            let giving = async move {
                let _opening = giver.opening.lock().await;
                // This process may make calls in the run again.
                if !giver.live_run_trackers().iter().any(|(run, _)| *run == lease.run) {
                    giver.end_run(lease).await;
                }
            };
            let mut releases = runs.releases.lock().unwrap_or_else(PoisonError::into_inner);
            while releases.try_join_next().is_some() {}
            releases.spawn_on(giving, &runtime);
        })
    }

    /// Returns a request for a lease that begins now and lasts [`LEASE_MS`].
    pub(crate) fn lease_request(&self) -> LeaseRequest {
        LeaseRequest {
            owner: self.shared.parts.owner.clone(),
            now_ms: self.shared.parts.clock.now_ms(),
            lasts_ms: LEASE_MS,
        }
    }

    /// Releases all leases of this process.
    pub(crate) async fn release_all_leases(&self) {
        let returns =
            std::mem::take(&mut *self.releases.lock().unwrap_or_else(PoisonError::into_inner));
        returns.join_all().await;
        let _opening = self.opening.lock().await;
        for lease in self.held_leases() {
            self.end_run(lease).await;
        }
    }

    /// Releases the lease of a run that this process made calls in, and reports the end of the run.
    async fn end_run(&self, lease: Lease) {
        let parts = &self.shared.parts;
        let query = RunQuery { run: Some(lease.run.clone()), ..RunQuery::default() };
        if !release_lease(self.journal(), lease).await || parts.events.is_none() {
            return;
        }
        // A journal that failed meanwhile was reported by the calls.
        if let Ok(Some(row)) = self.journal().runs(query).await.map(|mut rows| rows.pop()) {
            parts.report_event(RuntimeEvent::RunEnded(Box::new(row))).await;
        }
    }

    /// Drops the lease of a run that another process took.
    fn drop_lease(&self, lease: &Lease) {
        for (_, attempts) in self.live_run_trackers().iter().filter(|(run, _)| *run == lease.run) {
            attempts.drop_lease(lease.fencing_token);
        }
    }

    /// Returns whether this process has the lease of a run.
    pub(crate) fn has_lease(&self, run: &RunId) -> bool {
        self.held_leases().iter().any(|lease| lease.run == *run)
    }

    /// Returns the leases of all runs with live handles.
    fn held_leases(&self) -> Vec<Lease> {
        let held = |(_, attempts): (RunId, Arc<RunTracker>)| attempts.held_lease();
        self.live_run_trackers().into_iter().filter_map(held).collect()
    }
}

/// Renews a lease until it is lost or the registry is gone.
async fn renew_lease(runs: Weak<RunRegistry>, lease: Lease) {
    loop {
        tokio::time::sleep(Duration::from_millis(LEASE_RENEW_MS)).await;
        let Some(runs) = runs.upgrade() else { return };
        match runs.journal().renew_lease(lease.clone(), runs.lease_request()).await {
            Ok(()) => {}
            Err(err @ JournalError::Fenced { .. }) => {
                tracing::warn!(run = %lease.run, %err, "another process owns the run now");
                runs.drop_lease(&lease);
                return;
            }
            // The lease has not ended yet, and the next renewal may succeed.
            Err(err) => {
                tracing::warn!(run = %lease.run, %err, "the run could not be held for longer")
            }
        }
    }
}

/// Gives a lease back, and returns whether this process still had it. If that fails, a warning is logged, and the lease
/// expires by itself.
async fn release_lease(journal: &dyn Journal, lease: Lease) -> bool {
    let run = lease.run.clone();
    match journal.close_run(lease).await {
        Ok(()) => true,
        Err(JournalError::Fenced { .. }) => false,
        Err(err) => {
            tracing::warn!(%run, %err, "the run could not be given back; its time will run out");
            false
        }
    }
}
