//! Why a plan could not be driven to an end that a trace could tell of.

use haft::RunError;
use haft_contract::RunId;
use haft_journal::JournalError;

use crate::drive_limits::KEPT_PLAN_BYTES_MAX;
use crate::problem::{PlanProblem, joined_problems};

/// Says why a plan could not be driven. The journal has the results of its nodes. Once the reason is gone, the run can be
/// resumed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanRunError {
    /// haft cannot say what became of a call, or the plan is another one than the run keeps.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The journal could not be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The plan refers to something that its input does not have.
    #[error("the input does not fit the plan: {}", joined_problems(.0))]
    Input(Vec<PlanProblem>),
    /// There is a run of that name.
    #[error("there is a run {0} already: go on with it, or begin one of another name")]
    RunExists(RunId),
    /// The plan and its input are too long to be kept.
    #[error(
        "a plan and its input are at most {KEPT_PLAN_BYTES_MAX} bytes together, these are {bytes}: give large inputs as files"
    )]
    TooLarge {
        /// How long they are.
        bytes: usize,
    },
    /// The process that began the run ended before all of the plan was kept.
    #[error(
        "only {found} of the {expected} parts of the plan of run {run} were kept before the process ended, so no node was \
         started: begin it again with the same plan and the same name"
    )]
    Incomplete {
        /// The run.
        run: RunId,
        /// How many parts were kept.
        found: u64,
        /// How many there are.
        expected: u64,
    },
    /// The plan could not be kept with its run.
    #[error("the plan cannot be kept with run {run}: {message}")]
    NotRecorded {
        /// The run.
        run: RunId,
        /// Why not.
        message: String,
    },
    /// The contents of the plan are not in the content store, and not every node has succeeded.
    #[error(
        "the contents of the plan of run {run} are missing from the content store, so the run cannot be resumed: restore \
         the store that belongs to this journal, or begin another run"
    )]
    ContentsMissing {
        /// The run.
        run: RunId,
    },
    /// The text that is kept with the run cannot be read as a plan.
    #[error("the plan of run {run} cannot be read back: {message}")]
    Unreadable {
        /// The run.
        run: RunId,
        /// Why not.
        message: String,
    },
}
