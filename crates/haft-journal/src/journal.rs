//! The trait of a journal. One suite checks its promises for every store. Which recorded call may stand in for a new one is
//! not decided here.

use haft_contract::{AttemptAddress, CallAddress, ContentDigest, RunId};

use crate::{
    AskJournal, AttemptState, CallQuery, CallRow, CommitFuture, DueRuns, EarlierEffects, Intent,
    JournalFinding, JournalFuture, LateOutcome, Lease, LeaseHolder, LeaseRequest, NewRun, Outcome,
    PlannedCall, PrunedRuns, RecordedCall, Retention, RunQuery, RunRow, SessionJournal, Settlement,
    SnapshotNote,
};

/// Records runs, calls, [asks](AskJournal) and [sessions](SessionJournal), and returns what was recorded.
///
/// If a method answers `Ok`, it has committed: the record survives the death of this process. Where a method says *durable*, the
/// record also survives the loss of power. Dropping a future does not take back a record that is already on its way.
///
/// Every record of a call carries the fencing token of its [`Lease`]. If that token is over, the record changes nothing of the
/// run and the method answers [`JournalError::Fenced`](crate::JournalError::Fenced).
///
/// A journal is a [machine](crate::JournalMachine) over a [store](crate::store::Store). Other crates can write stores, and wrap
/// journals. Only this crate makes an [`Intent`].
pub trait Journal: SessionJournal + AskJournal {
    /// Takes a run for an owner. A new run is recorded first. A known run keeps what was recorded of it, and that is durable from
    /// then on, because the new owner builds on it.
    ///
    /// If the owner has the run already, it gets its lease again, for as long as the request says. If another owner has it,
    /// the run
    /// is taken only if that lease [is expired](LeaseHolder::is_expired): the run is [abandoned](Journal::abandon_run) first.
    /// Else
    /// the answer is [`JournalError::LeaseHeld`](crate::JournalError::LeaseHeld). No fencing token is given twice, not even after a run was removed.
    ///
    /// If [`RESUMES_MAX`](crate::limits::RESUMES_MAX) owners in a row died and settled no call that they made, the answer is
    /// [`JournalError::Stuck`](crate::JournalError::Stuck). In a session, only owners count that died during a turn, and every message of the turn is
    /// progress.
    /// A settlement by an operator opens the run again, and so does [`count_progress`](Journal::count_progress). A settlement by a
    /// probe does not, because a probe finds the same each time.
    fn open_run(&self, run: NewRun, request: LeaseRequest) -> JournalFuture<'_, Lease>;

    /// Extends a lease, counted from the request's time: if the clock was set back, a lease gets shorter, never longer. An
    /// expired
    /// lease can be renewed until another owner takes the run.
    fn renew_lease(&self, lease: Lease, request: LeaseRequest) -> JournalFuture<'_, ()>;

    /// Gives a run back. Its open calls become [`Unknown`](crate::CallStatus::Unknown), because no process is left to settle
    /// them.
    /// The cost does not grow with the run. Closing a lease again does nothing, so a caller that lost the answer may retry.
    fn close_run(&self, lease: Lease) -> JournalFuture<'_, ()>;

    /// Counts the run as one that got further, so that owners who died before count for nothing: its driver received a recorded
    /// answer, or a person wants the run resumed in spite of them. This needs the run and no lease.
    fn count_progress(&self, run: &RunId) -> JournalFuture<'_, ()>;

    /// Returns the owner of each run that has one, also if the lease is expired.
    fn lease_holders(&self) -> JournalFuture<'_, Vec<LeaseHolder>>;

    /// Takes a run from an owner that is gone, durably. Its open calls become [`Unknown`](crate::CallStatus::Unknown).
    ///
    /// Returns these calls in the order of their addresses. If the lease changed since it was looked up, the answer is empty and
    /// nothing happens. The cost does not grow with the calls that are not open.
    fn abandon_run(&self, holder: LeaseHolder) -> JournalFuture<'_, Vec<CallAddress>>;

    /// Returns how far an attempt has come; a new attempt has no calls.
    fn attempt_state(&self, scope: &AttemptAddress) -> JournalFuture<'_, AttemptState>;

    /// Returns all calls of an attempt in short, in the order of their numbers, except those that were
    /// [held back](CallRow::was_held_back).
    fn recorded_calls(&self, scope: &AttemptAddress) -> JournalFuture<'_, Vec<RecordedCall>>;

    /// Returns the call of an attempt with this driver call id. If there are several, it is the one with the greatest number.
    fn by_driver_id(
        &self,
        scope: &AttemptAddress,
        driver_call_id: &str,
    ) -> JournalFuture<'_, Option<CallRow>>;

    /// Returns the `once` calls that earlier attempts of the same node and iteration made: their count, and the first
    /// `calls_max`.
    /// Calls that were refused, or are known not to have happened, do not count.
    fn earlier_effects(
        &self,
        scope: &AttemptAddress,
        calls_max: u32,
    ) -> JournalFuture<'_, EarlierEffects>;

    /// Records that a call is about to execute, and returns the permission to execute it.
    ///
    /// Durable unless the effect is [`Read`](haft_contract::Effect::Read), or the call
    /// [announces its effects](PlannedCall::announces_effects): then the first [`amend`](Self::amend) makes it durable. A read has no row before it is settled, so a
    /// conflict of
    /// its number shows only then.
    fn intend(&self, call: PlannedCall) -> JournalFuture<'_, Intent>;

    /// Adds to an intent what exactly is about to change, as a JSON object, durably: a probe can then tell later whether it
    /// happened. It replaces an earlier addition. A read has no intent and answers [`JournalError::NoOpenIntent`](crate::JournalError::NoOpenIntent).
    ///
    /// The row keeps its change number: a follower sees the addition together with the next status.
    fn amend(&self, intent: &Intent, details: String) -> JournalFuture<'_, ()>;

    /// Records how an intended call ended. Durable unless it was a read, which waits for no sync.
    ///
    /// If the fencing token is over, the outcome is kept as a [`LateOutcome`], that of a read too, and the answer is
    /// [`JournalError::Fenced`](crate::JournalError::Fenced).
    fn settle(&self, intent: Intent, outcome: Outcome) -> JournalFuture<'_, ()>;

    /// Queues an outcome like [`settle`](Journal::settle), and answers before it is recorded: as soon as no later record can be
    /// there without it. The [`CommitFuture`] answers what `settle` would have answered.
    ///
    /// Until then, the caller may use the answer of the call, but must not pass it on.
    fn settle_ahead(&self, intent: Intent, outcome: Outcome) -> JournalFuture<'_, CommitFuture> {
        Box::pin(async move {
            self.settle(intent, outcome).await?;
            Ok(Box::pin(std::future::ready(Ok(()))) as CommitFuture)
        })
    }

    /// Records a call that was refused before it was intended. The status of the outcome is
    /// [`CallStatus::Refused`](crate::CallStatus::Refused). If the fencing token is over, it is kept like any late outcome.
    fn refuse(&self, call: PlannedCall, outcome: Outcome) -> JournalFuture<'_, ()>;

    /// Records what became of a call whose status is [`Unknown`](crate::CallStatus::Unknown), durably, and returns its row. Any
    /// other call answers [`JournalError::NotInDoubt`](crate::JournalError::NotInDoubt). A call that is to be repeated stays in doubt and can be settled again.
    /// This
    /// needs no lease.
    fn resolve(&self, settlement: Settlement) -> JournalFuture<'_, CallRow>;

    /// Records that the driver received how a call in doubt ended, durably. From then on the call is not
    /// [unacknowledged](AttemptState::unacknowledged). This needs no lease.
    fn acknowledge(&self, call: CallAddress) -> JournalFuture<'_, ()>;

    /// Records which snapshots belong to a call. A second note of the same call and root replaces the first, in its place. This
    /// needs the run and no lease.
    fn note_snapshot(&self, note: SnapshotNote) -> JournalFuture<'_, ()>;

    /// Keeps a text in the content store, apart from the rows, as firmly as a later row of the run that names it.
    fn keep_content(&self, lease: &Lease, text: String) -> JournalFuture<'_, ContentDigest>;

    /// Returns a text of the run from the content store, `None` if it is not there (any longer).
    fn content(&self, run: &RunId, digest: &ContentDigest) -> JournalFuture<'_, Option<String>>;

    /// Removes all texts of the run from the content store. Its rows stay. Removing a run removes its texts, too.
    fn remove_contents(&self, lease: &Lease) -> JournalFuture<'_, ()>;

    /// Returns the snapshots of a run, or of one of its calls, in the order in which they were noted.
    fn snapshots(
        &self,
        run: &RunId,
        call: Option<&CallAddress>,
    ) -> JournalFuture<'_, Vec<SnapshotNote>>;

    /// Returns the outcomes of a run that came too late.
    fn late_outcomes(&self, run: &RunId) -> JournalFuture<'_, Vec<LateOutcome>>;

    /// Returns the recorded calls that fit the query.
    fn calls(&self, query: CallQuery) -> JournalFuture<'_, Vec<CallRow>>;

    /// Returns the recorded runs that fit the query, the newest first.
    fn runs(&self, query: RunQuery) -> JournalFuture<'_, Vec<RunRow>>;

    /// Returns the runs that the beginning of a name may stand for: it begins the [short key](fn@crate::short_key) or the id. An
    /// empty text stands for no run, and the answer has at most [`QUERY_RUNS_MAX`](crate::limits::QUERY_RUNS_MAX) runs for each
    /// of both. The cost does not depend on the number of other runs.
    fn runs_beginning_with(&self, beginning: &str) -> JournalFuture<'_, Vec<RunId>>;

    /// Returns how many characters the [short key](fn@crate::short_key) of a run has in common with that of the most similar other
    /// run, `None` if there is no other run. The cost does not depend on the number of runs.
    fn shared_key_chars(&self, run: &RunId) -> JournalFuture<'_, Option<usize>>;

    /// Returns what [`prune`](Journal::prune) would remove now, in the same order, and what it would keep.
    fn due_runs(&self, retention: Retention) -> JournalFuture<'_, DueRuns>;

    /// Removes runs with everything that belongs to them, durably, and returns them. The run that was quiet for longest goes
    /// first.
    /// A run that is used meanwhile stays. An interrupted removal is finished by the next one, or when the run is opened again.
    fn prune(&self, retention: Retention) -> JournalFuture<'_, PrunedRuns>;

    /// Returns why records and queries wait, if the store cannot be reached at this moment. Asking costs next to nothing.
    fn outage(&self) -> Option<String> {
        None
    }

    /// Gives the disk space of removed runs back, if the store keeps it for later rows and a good part of it is unused. It needs
    /// about as much free space as the remaining rows for a moment.
    fn compact(&self) -> JournalFuture<'_, ()>;

    /// Checks the journal for damage: its file, its references, and the promises about its rows. It reads everything.
    fn verify(&self) -> JournalFuture<'_, Vec<JournalFinding>>;
}
