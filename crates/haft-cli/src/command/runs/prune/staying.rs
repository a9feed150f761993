//! Runs that are due and stay, because somebody has yet to say of a call of theirs whether it happened: who does not know of
//! it makes it again. A journal removes no run that somebody holds, so they are held while the others go.

use std::collections::BTreeSet;

use haft::{Clock as _, SystemClock};
use haft_contract::RunId;
use haft_journal::limits::LEASE_MS_MAX;
use haft_journal::{
    CallOrder, CallQuery, CallRow, Claim, Journal, JournalError, Lease, NewRun, Owner, Retention,
    RunQuery, RunRow,
};

use super::super::doubt;
use crate::error::CommandError;
use crate::owner;

/// Runs that are held.
pub(super) struct Staying<'a> {
    journal: &'a dyn Journal,
    owner: Owner,
    runs: Vec<RunId>,
    leases: Vec<Lease>,
}

impl<'a> Staying<'a> {
    pub(super) fn new(journal: &'a dyn Journal) -> Result<Self, CommandError> {
        let owner = owner::this_process(SystemClock.now_ms())?;
        Ok(Self { journal, owner, runs: Vec::new(), leases: Vec::new() })
    }

    /// Takes every run with a call in doubt that would go.
    pub(super) async fn hold(&mut self, retention: Retention) -> Result<(), CommandError> {
        let mut seen = BTreeSet::new();
        loop {
            // Where one stays for which there is no room, a later one goes in its place.
            let due = self.journal.due(retention).await?;
            let doubtful = doubtful(self.journal, &due, &mut seen).await?;
            if doubtful.is_empty() {
                return Ok(());
            }
            for run in doubtful {
                if let Err(err) = self.take(run).await {
                    self.give_back().await;
                    return Err(err);
                }
            }
        }
    }

    /// Gives the runs back, and returns which they were.
    pub(super) async fn release(mut self) -> Result<Vec<RunId>, CommandError> {
        for lease in std::mem::take(&mut self.leases) {
            self.journal.close_run(lease).await?;
        }
        Ok(self.runs)
    }

    async fn take(&mut self, run: RunRow) -> Result<(), CommandError> {
        let RunRow { id, front_end, root, started_at_ms, version, settings, .. } = run;
        let run = NewRun { id: id.clone(), front_end, root, started_at_ms, version, settings };
        let now_ms = SystemClock.now_ms();
        let claim = Claim { owner: self.owner.clone(), now_ms, lasts_ms: LEASE_MS_MAX };
        match self.journal.open_run(run, claim).await {
            Ok(lease) => self.leases.push(lease),
            // It stays all the same.
            Err(JournalError::Held { .. }) => {}
            Err(JournalError::Stuck { .. }) => {
                let message = format!(
                    "nothing was removed, because run {id} has a call in doubt and cannot be held back: it was taken up \
                     too often in vain; settle the call, or remove such runs with --in-doubt"
                );
                return Err(CommandError::failed(message).hint(format!("haft runs show {id}")));
            }
            Err(err) => return Err(err.into()),
        }
        self.runs.push(id);
        Ok(())
    }

    /// Gives the runs back as far as that can be done: there is an error to tell already, and what is not given back, others
    /// take when this process is gone.
    async fn give_back(&mut self) {
        for lease in std::mem::take(&mut self.leases) {
            let _ = self.journal.close_run(lease).await;
        }
    }
}

/// Returns the runs that would go and those that would stay, without holding any.
pub(super) async fn sorted(
    journal: &dyn Journal,
    retention: Retention,
) -> Result<(Vec<RunId>, Vec<RunId>), CommandError> {
    let (mut seen, mut staying, mut staying_bytes) = (BTreeSet::new(), Vec::new(), 0);
    loop {
        // What stays takes room that others have to make.
        let room = retention.bytes_max.map(|bytes_max| bytes_max.saturating_sub(staying_bytes));
        let due = journal.due(Retention { bytes_max: room, ..retention }).await?;
        let doubtful = doubtful(journal, &due, &mut seen).await?;
        if doubtful.is_empty() {
            let going = due.into_iter().filter(|run| !staying.contains(run)).collect();
            return Ok((going, staying));
        }
        for run in doubtful {
            if retention.bytes_max.is_some() {
                staying_bytes += bytes(journal, &run.id).await?;
            }
            staying.push(run.id);
        }
    }
}

/// Returns those of the runs that have a call in doubt, without those that were looked at before.
async fn doubtful(
    journal: &dyn Journal,
    due: &[RunId],
    seen: &mut BTreeSet<RunId>,
) -> Result<Vec<RunRow>, JournalError> {
    let mut doubtful = Vec::new();
    for id in due {
        if !seen.insert(id.clone()) {
            continue;
        }
        let query = RunQuery { run: Some(id.clone()), ..RunQuery::default() };
        for run in journal.runs(query).await? {
            if !doubt::find(journal, &run).await?.is_empty() {
                doubtful.push(run);
            }
        }
    }
    Ok(doubtful)
}

/// Returns how much a run's calls hold, as a journal counts it.
pub(super) async fn bytes(journal: &dyn Journal, run: &RunId) -> Result<u64, JournalError> {
    let mut query = CallQuery { order: CallOrder::Change, ..CallQuery::of_run(run.clone()) };
    let mut bytes = 0;
    loop {
        let calls = journal.calls(query.clone()).await?;
        let Some(last) = calls.last() else { return Ok(bytes) };
        query.after_change = Some(last.change);
        bytes += calls.iter().map(call_bytes).sum::<u64>();
    }
}

fn call_bytes(call: &CallRow) -> u64 {
    let optional = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let bytes =
        call.input.len() + call.accesses.len() + optional(&call.details) + optional(&call.envelope);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
