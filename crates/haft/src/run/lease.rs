//! The right to advance a run: taken with the first call, renewed while somebody makes calls, given back when nobody
//! does. Of a run there is at most one holder among all processes, and in this process at most one that is not on its
//! way out.

use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use haft_contract::RunId;
use haft_journal::{Claim, Journal, JournalError, Lease, NewRun, RunQuery, RunRow};
use tokio::task::AbortHandle;

use super::RunError;
use super::attempts::Attempts;
use crate::limits::{LEASE_MS, LEASE_RENEW_MS};
use crate::recover;
use crate::runtime::Shared;
use crate::session::PLAN_FRONT_END;

/// A run that this process has. Dropping it gives the run back.
pub(super) struct Held {
    lease: Lease,
    history: History,
    plan: OfPlan,
    journal: Arc<dyn Journal>,
    shared: Weak<Shared>,
    renewing: AbortHandle,
}

/// What a call has to know of the lease that it is made under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tenure {
    pub(super) epoch: u64,
    pub(super) history: History,
    pub(super) plan: OfPlan,
}

/// Whether calls of the run were recorded before this process took it. If there were none, all that there are were made
/// here, and no attempt need be looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum History {
    None,
    Some,
}

/// Whether the calls of the run are the nodes of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OfPlan {
    Yes,
    No,
}

impl OfPlan {
    fn of(begun_by: &str) -> Self {
        if begun_by == PLAN_FRONT_END { Self::Yes } else { Self::No }
    }

    /// Returns whether a front end may make calls in the run.
    pub(super) fn admits(self, front_end: &str) -> bool {
        self == Self::No || front_end == PLAN_FRONT_END
    }
}

impl Held {
    pub(super) fn lease(&self) -> &Lease {
        &self.lease
    }

    pub(super) fn tenure(&self) -> Tenure {
        Tenure { epoch: self.lease.epoch, history: self.history, plan: self.plan }
    }
}

impl Attempts {
    /// Returns what is to be known of the lease of the run, taking it if this process does not have it yet. A run in which
    /// whoever takes it may make no calls is given back at once: that of a plan to a front end, that of another workspace to
    /// everybody, since this process has one.
    pub(super) async fn tenure(
        &self,
        shared: &Arc<Shared>,
        new_run: impl Fn() -> NewRun,
    ) -> Result<Tenure, RunError> {
        if let Some(tenure) = self.tenure_held() {
            return Ok(tenure);
        }
        // While it is held nobody gives a run back, so the one taken here stays, and nobody takes it twice.
        let _opening = shared.opening.lock().await;
        if let Some(tenure) = self.tenure_held() {
            return Ok(tenure);
        }
        let run = new_run();
        let (front_end, here) = (run.front_end.clone(), run.root.clone());
        let lease = take(shared, run).await?;
        let begun = begun(&*shared.parts.journal, &lease.run).await?;
        if !is_of_root(&begun, &here) {
            give_back(&*shared.parts.journal, lease).await;
            let RunRow { id: run, root, .. } = begun;
            return Err(RunError::OfOtherRoot { run, root, here });
        }
        let history = if begun.calls == 0 { History::None } else { History::Some };
        let plan = match history {
            History::None => OfPlan::of(&front_end),
            History::Some => OfPlan::of(&begun.front_end),
        };
        let tenure = Tenure { epoch: lease.epoch, history, plan };
        if !plan.admits(&front_end) {
            give_back(&*shared.parts.journal, lease).await;
            return Ok(tenure);
        }
        let renewing = tokio::spawn(renew(Arc::downgrade(shared), lease.clone())).abort_handle();
        let journal = Arc::clone(&shared.parts.journal);
        let shared = Arc::downgrade(shared);
        self.hold(Held { lease, history, plan, journal, shared, renewing });
        Ok(tenure)
    }
}

/// Returns how a run that was just taken was begun, and what is recorded of it, to which nobody else adds any more.
async fn begun(journal: &dyn Journal, run: &RunId) -> Result<RunRow, JournalError> {
    let named = RunQuery { run: Some(run.clone()), ..RunQuery::default() };
    let row = journal.runs(named).await?.pop();
    row.ok_or_else(|| JournalError::UnknownRun { run: run.clone() })
}

/// Returns whether a run was begun in this workspace. One that was recorded without a workspace goes on anywhere.
fn is_of_root(begun: &RunRow, here: &str) -> bool {
    begun.root.is_empty() || begun.root == here
}

/// Takes a run; from a process that is gone too, whose open calls are in doubt from then on. One that is seen to live keeps
/// it, however long it was not heard of: a machine that slept, or whose clock was set, has lost nothing.
async fn take(shared: &Shared, run: NewRun) -> Result<Lease, JournalError> {
    let journal = &shared.parts.journal;
    let holders = journal.holders().await?.into_iter();
    let other = holders
        .filter(|holder| holder.run == run.id && holder.owner.id != shared.parts.owner.id)
        .find_map(|holder| (shared.parts.is_gone)(&holder.owner).map(|is_gone| (holder, is_gone)));
    let left = match other {
        Some((holder, true)) => journal.abandon(holder).await?,
        Some((holder, false)) => return Err(JournalError::Held { holder: Box::new(holder) }),
        None => Vec::new(),
    };
    let lease = journal.open_run(run, shared.claim()).await?;
    recover::look_at_calls(shared, &left).await?;
    Ok(lease)
}

/// Renews a lease until it is lost, or nobody is left to renew it for.
async fn renew(shared: Weak<Shared>, lease: Lease) {
    loop {
        tokio::time::sleep(Duration::from_millis(LEASE_RENEW_MS)).await;
        let Some(shared) = shared.upgrade() else { return };
        match shared.parts.journal.renew(lease.clone(), shared.claim()).await {
            Ok(()) => {}
            Err(err @ JournalError::Fenced { .. }) => {
                tracing::warn!(run = %lease.run, %err, "the run is somebody else's now");
                shared.lose(&lease);
                return;
            }
            // The time is not over yet, and the next try may fare better.
            Err(err) => {
                tracing::warn!(run = %lease.run, %err, "the run could not be held for longer")
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.renewing.abort();
        // Without a runtime nobody could wait for the journal; others then find out that this process is gone.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (lease, journal) = (self.lease.clone(), Arc::clone(&self.journal));
        let Some(shared) = self.shared.upgrade() else {
            runtime.spawn(async move { give_back(&*journal, lease).await });
            return;
        };
        // Whoever shuts the runtime down waits for it.
        let giver = Arc::clone(&shared);
        let giving = async move { give_back_unused(&giver, lease).await };
        let mut returns = shared.returns.lock().unwrap_or_else(PoisonError::into_inner);
        while returns.try_join_next().is_some() {}
        returns.spawn_on(giving, &runtime);
    }
}

/// Gives a run back, unless somebody in this process makes calls in it again.
async fn give_back_unused(shared: &Shared, lease: Lease) {
    let _opening = shared.opening.lock().await;
    if !shared.is_in_use(&lease.run) {
        give_back(&*shared.parts.journal, lease).await;
    }
}

async fn give_back(journal: &dyn Journal, lease: Lease) {
    let run = lease.run.clone();
    match journal.close_run(lease).await {
        Ok(()) | Err(JournalError::Fenced { .. }) => {}
        Err(err) => {
            tracing::warn!(%run, %err, "the run could not be given back; its time will run out")
        }
    }
}

impl Shared {
    pub(crate) fn claim(&self) -> Claim {
        Claim {
            owner: self.parts.owner.clone(),
            now_ms: self.parts.clock.now_ms(),
            lasts_ms: LEASE_MS,
        }
    }

    /// Gives all runs back that this process has.
    pub(crate) async fn give_back_all(&self) {
        let returns =
            std::mem::take(&mut *self.returns.lock().unwrap_or_else(PoisonError::into_inner));
        returns.join_all().await;
        let _opening = self.opening.lock().await;
        for lease in self.leases() {
            give_back(&*self.parts.journal, lease).await;
        }
    }

    /// Says that a run was taken away under this lease.
    fn lose(&self, lease: &Lease) {
        for (_, attempts) in self.live_attempts().iter().filter(|(run, _)| *run == lease.run) {
            attempts.lose(lease.epoch);
        }
    }

    /// Returns whether this process has a run.
    pub(crate) fn holds(&self, run: &RunId) -> bool {
        self.leases().iter().any(|lease| lease.run == *run)
    }

    fn is_in_use(&self, run: &RunId) -> bool {
        self.live_attempts().iter().any(|(id, _)| id == run)
    }

    fn leases(&self) -> Vec<Lease> {
        let held = |(_, attempts): (RunId, Arc<Attempts>)| attempts.lease_held();
        self.live_attempts().into_iter().filter_map(held).collect()
    }
}
