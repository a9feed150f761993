//! Why haft cannot say what happened to a call.

use haft_contract::{CallAddress, CallAddressError, RunId};
use haft_journal::JournalError;

/// haft cannot say what happened. An [`Envelope`](haft_contract::Envelope), never this error, reports what a tool did
/// or was not allowed to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The journal failed, or another process owns the run. If the call's effect was begun, its intent is in the
    /// journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The call was executed, and its outcome could not be recorded.
    #[error("call {call} was begun and its end could not be recorded, so it is in doubt: {source}")]
    Unrecorded {
        /// The call, whose intent is in the journal.
        call: CallAddress,
        /// The error of the journal.
        source: Box<JournalError>,
    },
    /// The call's place in the run is not valid.
    #[error(transparent)]
    Scope(#[from] CallAddressError),
    /// The driver makes a different call than the recorded one.
    #[error(transparent)]
    Diverged(#[from] Box<Divergence>),
    /// The run belongs to a plan, and the call is not one of its nodes.
    #[error(
        "the calls of run {run} are the nodes of a plan, so no other front end makes calls in it: nothing was executed; make \
         this call in another run"
    )]
    PlanRun {
        /// The run.
        run: RunId,
    },
    /// This process never took the lease of the run, or lost it.
    #[error(
        "this process does not own run {run}: another process may have resumed it since, so nothing was done; open the run \
         again, because the journal has its latest calls"
    )]
    NotOpen {
        /// The run.
        run: RunId,
    },
    /// The run was begun in another workspace, where paths mean other files.
    #[error(
        "run {run} was begun in {root}, and this is {here}, where its paths mean other files: nothing was executed or recalled; \
         make this call there, or in another run"
    )]
    OtherWorkspace {
        /// The run.
        run: RunId,
        /// The workspace root that it was begun in.
        root: String,
        /// The workspace root of the connection.
        here: String,
    },
    /// haft itself panicked over the call, which is a bug. If the call's effect was begun, its intent is in the journal.
    #[error("haft panicked over this call, which is a bug; see its row in the journal")]
    Panicked,
    /// The process is shutting down.
    #[error("the runtime was shut down before the call ended; see its row in the journal")]
    ShutDown,
}

/// A call came again under its old name, or in its old place, and is another one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the run has diverged: call {call} was recorded as {recorded_tool} {recorded_input} and came again as {tool} {input}; \
     nothing was executed: make the call that was recorded, or begin another attempt"
)]
/// How a call differs from the recorded call in its place.
pub struct Divergence {
    /// The recorded call.
    pub call: CallAddress,
    /// The tool that was recorded.
    pub recorded_tool: String,
    /// The input that was recorded, its bodies as digests.
    pub recorded_input: String,
    /// The tool that was called now.
    pub tool: String,
    /// The input that came now, in the same form.
    pub input: String,
}
