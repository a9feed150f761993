//! The trait that every backend fulfils. What its methods promise is checked by one conformance suite that runs on
//! all of them; it says nothing about leases or resuming, which build on the rows.

use haft_contract::{BoxFuture, Scope};

use crate::{
    AttemptState, CallQuery, CallRow, Intent, JournalError, NewRun, Outcome, PlannedCall, RunQuery,
    RunRow,
};

/// Records runs and calls, and answers what was recorded.
///
/// A method that has answered `Ok` has committed: the record survives the death of this process. Where it
/// says *durable*, it survives the loss of power too. Dropping a future does not take back a record that was
/// already on its way.
///
/// Outside this crate a journal can be wrapped but not written anew, because only this crate makes an [`Intent`].
pub trait Journal: Send + Sync {
    /// Records that a run begins; does nothing if the run is there already.
    fn begin_run(&self, run: NewRun) -> BoxFuture<'_, Result<(), JournalError>>;

    /// Returns how far an attempt has come; one that has not begun has come nowhere.
    fn attempt(&self, scope: &Scope) -> BoxFuture<'_, Result<AttemptState, JournalError>>;

    /// Records that a call is about to execute, and returns the leave to execute it.
    ///
    /// Durable unless the effect is [`Read`](haft_contract::Effect::Read); a read leaves no trace until it is
    /// settled, so a conflict of its number shows only then.
    fn intend(&self, call: PlannedCall) -> BoxFuture<'_, Result<Intent, JournalError>>;

    /// Records how an intended call ended. Durable unless it was a read, which waits for no sync of its own.
    fn settle(&self, intent: Intent, outcome: Outcome) -> BoxFuture<'_, Result<(), JournalError>>;

    /// Records a call that was refused before anything was intended. The outcome's status is
    /// [`Status::Refused`](crate::Status::Refused).
    fn refuse(
        &self,
        call: PlannedCall,
        outcome: Outcome,
    ) -> BoxFuture<'_, Result<(), JournalError>>;

    /// Returns the recorded calls that the query asks for.
    fn calls(&self, query: CallQuery) -> BoxFuture<'_, Result<Vec<CallRow>, JournalError>>;

    /// Returns the recorded runs that the query asks for, the one begun last first.
    fn runs(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunRow>, JournalError>>;
}
