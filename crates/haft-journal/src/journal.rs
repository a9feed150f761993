//! The trait that every backend fulfils. What its methods promise is checked by one conformance suite that runs on
//! all of them. Which recorded call may stand in for a new one is not decided here.

use haft_contract::{BoxFuture, CallId, RunId, Scope};

use crate::{
    AttemptState, CallQuery, CallRow, Chats, Claim, Due, EarlierEffects, Finding, Holder, Intent,
    JournalError, LateOutcome, Lease, NewRun, Outcome, PlannedCall, Pruned, RecordedCall,
    Retention, RunQuery, RunRow, Settlement, SnapshotNote,
};

/// What a method of a journal answers.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, JournalError>>;

/// What becomes of a record that is on its way: whether it was made, as firmly as it was promised.
pub type Settled = BoxFuture<'static, Result<(), JournalError>>;

/// Records runs and calls, and answers what was recorded; what was said in [chats](Chats), too.
///
/// A method that has answered `Ok` has committed: the record survives the death of this process. Where it
/// says *durable*, it survives the loss of power too. Dropping a future does not take back a record that was
/// already on its way.
///
/// Every record of a call carries the epoch of the [`Lease`] that it is made under. Under an epoch that is over nothing
/// of the run is changed: the method answers [`JournalError::Fenced`].
///
/// Outside this crate a journal can be wrapped but not written anew, because only this crate makes an [`Intent`].
pub trait Journal: Chats {
    /// Takes a run, which is recorded first if it is not there; one that is there keeps what was recorded of it, and that is
    /// durable from then on: whoever goes on builds on it.
    ///
    /// An owner that has it already gets its lease again, for as long as the claim says. Of another owner it is taken
    /// only when [its time is over](Holder::is_over), which [abandons](Journal::abandon) it first; else the answer is
    /// [`JournalError::Held`]. No epoch is given twice, not even after a run was removed.
    ///
    /// A run that was abandoned [`RESUMES_MAX`](crate::limits::RESUMES_MAX) times in a row, while none of its calls was
    /// settled by the owner that made it, is given to nobody: [`JournalError::Stuck`]. Where it is of a chat, owners count that
    /// died while a turn was under way in it, and whatever is said there is a step ahead. What an operator says of one of
    /// its calls opens it again; what a probe says does not, because a probe finds out the same each time.
    fn open_run(&self, run: NewRun, claim: Claim) -> Answer<'_, Lease>;

    /// Holds a run until the claim's time is over, counted from the claim's now: a clock that was set back makes a lease
    /// shorter, never longer. A lease that ran out and was not taken can be renewed.
    fn renew(&self, lease: Lease, claim: Claim) -> Answer<'_, ()>;

    /// Gives a run back. What is open of it becomes [`Unknown`](crate::Status::Unknown): nobody is left to settle it.
    /// What it costs does not grow with the run.
    fn close_run(&self, lease: Lease) -> Answer<'_, ()>;

    /// Returns who holds which run, also those whose time is over.
    fn holders(&self) -> Answer<'_, Vec<Holder>>;

    /// Takes a run from an owner that is gone: what is open of it becomes [`Unknown`](crate::Status::Unknown), durably.
    /// Returns these calls in the order of their places; none if the run has changed hands, or its holder was heard of,
    /// since the holder was looked up. What it costs does not grow with the calls that are not open.
    fn abandon(&self, holder: Holder) -> Answer<'_, Vec<CallId>>;

    /// Returns how far an attempt has come; one that has not begun has come nowhere.
    fn attempt(&self, scope: &Scope) -> Answer<'_, AttemptState>;

    /// Returns all calls of an attempt in short, in the order of their numbers, but for those that were
    /// [held back](CallRow::was_held_back).
    fn recorded(&self, scope: &Scope) -> Answer<'_, Vec<RecordedCall>>;

    /// Returns the call of an attempt that its driver named so, the one of the greatest number if there are several.
    fn by_driver_id(&self, scope: &Scope, driver_call_id: &str) -> Answer<'_, Option<CallRow>>;

    /// Returns which `once` calls earlier attempts of the same node and iteration made, without those that were refused
    /// or are known not to have happened, of these the first `calls_max`.
    fn earlier_effects(&self, scope: &Scope, calls_max: u32) -> Answer<'_, EarlierEffects>;

    /// Records that a call is about to execute, and returns the leave to execute it.
    ///
    /// Durable unless the effect is [`Read`](haft_contract::Effect::Read); a read leaves no trace until it is
    /// settled, so a conflict of its number shows only then.
    fn intend(&self, call: PlannedCall) -> Answer<'_, Intent>;

    /// Adds to an intent what exactly is about to change, as a JSON object, so that a probe can tell later whether it
    /// did. Durable. Replaces what was added before; a read has no intent to add to and answers
    /// [`JournalError::NoOpenIntent`]. The row keeps its change number: a follower sees the addition with the status
    /// that comes next.
    fn amend(&self, intent: &Intent, details: String) -> Answer<'_, ()>;

    /// Records how an intended call ended. Durable unless it was a read, which waits for no sync of its own.
    ///
    /// Under an epoch that is over the outcome is kept as a [`LateOutcome`], that of a read too, and the answer is
    /// [`JournalError::Fenced`].
    fn settle(&self, intent: Intent, outcome: Outcome) -> Answer<'_, ()>;

    /// Brings an outcome on its way like [`settle`](Journal::settle), and answers before it is recorded: as soon as nothing
    /// that is recorded from then on can be there without it. The [`Settled`] says how that ended, with what `settle`
    /// would have answered.
    ///
    /// Whoever goes on with the answer of a call meanwhile tells nobody of it.
    fn settle_ahead(&self, intent: Intent, outcome: Outcome) -> Answer<'_, Settled> {
        Box::pin(async move {
            self.settle(intent, outcome).await?;
            Ok(Box::pin(std::future::ready(Ok(()))) as Settled)
        })
    }

    /// Records a call that was refused before anything was intended. The outcome's status is
    /// [`Status::Refused`](crate::Status::Refused). Under an epoch that is over it is kept like any late outcome.
    fn refuse(&self, call: PlannedCall, outcome: Outcome) -> Answer<'_, ()>;

    /// Records what became of a call whose status is [`Unknown`](crate::Status::Unknown), durably, and returns its row
    /// as it is now. Any other call answers [`JournalError::NotInDoubt`]; one that is to be repeated is in doubt
    /// still, and can be settled again. This needs no lease.
    fn resolve(&self, settlement: Settlement) -> Answer<'_, CallRow>;

    /// Records that the driver of a call that was in doubt was told what became of it, durably: from then on it is not
    /// among the [unheard](AttemptState::unheard) any more. This needs no lease.
    fn hear(&self, call: CallId) -> Answer<'_, ()>;

    /// Records which snapshots belong to a call; a second note of the same call and root replaces the first, in its
    /// place. This needs the run and no lease.
    fn note_snapshot(&self, note: SnapshotNote) -> Answer<'_, ()>;

    /// Returns the snapshots of a run, or of one call of it, in the order in which they were noted.
    fn snapshots(&self, run: &RunId, call: Option<&CallId>) -> Answer<'_, Vec<SnapshotNote>>;

    /// Returns the outcomes of a run that came too late.
    fn late_outcomes(&self, run: &RunId) -> Answer<'_, Vec<LateOutcome>>;

    /// Returns the recorded calls that the query asks for.
    fn calls(&self, query: CallQuery) -> Answer<'_, Vec<CallRow>>;

    /// Returns the recorded runs that the query asks for, the one begun last first.
    fn runs(&self, query: RunQuery) -> Answer<'_, Vec<RunRow>>;

    /// Returns what [`prune`](Journal::prune) would remove now, in the same order, and what it would keep.
    fn due(&self, retention: Retention) -> Answer<'_, Due>;

    /// Removes runs with everything that belongs to them, durably, the one that was quiet for longest first, and returns which.
    /// One that is used meanwhile stays. A removal that was interrupted is finished by the next, and by whoever opens a
    /// run of that name.
    fn prune(&self, retention: Retention) -> Answer<'_, Pruned>;

    /// Looks whether the journal is sound: its file, its references, and what haft promises of its rows. Reads all of it.
    fn verify(&self) -> Answer<'_, Vec<Finding>>;
}
