//! Queries for calls and runs. The machine finds the answers.

use haft_contract::{AttemptAddress, CallAddress, RunId};

use crate::CallStatus;
use crate::limits::{QUERY_CALLS_MAX, QUERY_RUNS_MAX};

/// Asks for recorded calls: those that fit every field that is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallQuery {
    /// Only calls of this run.
    pub run: Option<RunId>,
    /// Only calls of this node.
    pub node: Option<String>,
    /// Only calls of this iteration.
    pub iteration: Option<u32>,
    /// Only calls of this attempt.
    pub attempt: Option<u32>,
    /// Only the call of this number.
    pub seq: Option<u32>,
    /// Only calls of this tool.
    pub tool: Option<String>,
    /// Only calls with one of these statuses; with any if there is none.
    pub statuses: Vec<CallStatus>,
    /// Only calls whose change number is greater.
    pub after_change: Option<u64>,
    /// Only calls whose change number is less.
    pub before_change: Option<u64>,
    /// Answers no more calls than this, and never more than [`QUERY_CALLS_MAX`].
    ///
    /// An answer may also end early, after at least one call, at
    /// [`QUERY_BYTES_MAX`](crate::limits::QUERY_BYTES_MAX). To get all calls, ask in [`CallOrder::Change`]
    /// with the last change number until nothing comes.
    pub limit: u32,
    /// Which calls come first.
    pub order: CallOrder,
}

/// Says which calls come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallOrder {
    /// By run, node, iteration, attempt and seq.
    #[default]
    Address,
    /// The call that has been as it is for longest first: the order to follow a journal in.
    Change,
    /// The call recorded or settled last first.
    Latest,
}

impl CallQuery {
    /// Returns the query for the calls of a run.
    pub fn of_run(run: RunId) -> Self {
        Self { run: Some(run), ..Self::default() }
    }

    /// Returns the query for the calls of an attempt.
    pub fn of_attempt(scope: AttemptAddress) -> Self {
        let AttemptAddress { run, node, iteration, attempt } = scope;
        Self {
            node: Some(node),
            iteration: Some(iteration),
            attempt: Some(attempt),
            ..Self::of_run(run)
        }
    }

    /// Returns the query for one call.
    pub fn of_call(call: CallAddress) -> Self {
        Self { seq: Some(call.seq), ..Self::of_attempt(call.scope) }
    }

    pub(crate) fn rows_max(&self) -> u32 {
        self.limit.min(QUERY_CALLS_MAX)
    }
}

/// Asks for all calls, as far as the bounds allow.
impl Default for CallQuery {
    fn default() -> Self {
        Self {
            run: None,
            node: None,
            iteration: None,
            attempt: None,
            seq: None,
            tool: None,
            statuses: Vec::new(),
            after_change: None,
            before_change: None,
            limit: QUERY_CALLS_MAX,
            order: CallOrder::default(),
        }
    }
}

/// Asks for recorded runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunQuery {
    /// Only this run.
    pub run: Option<RunId>,
    /// Only runs in this workspace root.
    pub root: Option<String>,
    /// Which runs come first.
    pub order: RunOrder,
    /// Only runs that come behind this one: the last one of an answer, to get the next answer.
    pub before: Option<RunId>,
    /// Answers no more runs than this, and never more than [`QUERY_RUNS_MAX`].
    pub limit: u32,
    /// Leaves out the counts of calls, which takes less time: all of them are 0, and no latest call is named.
    pub without_counts: bool,
}

/// Says which runs come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunOrder {
    /// The run begun last.
    #[default]
    Begun,
    /// The run whose latest lease ends last. Its owner used it before that end; see
    /// [`RunRow::held_until_ms`](crate::RunRow::held_until_ms).
    Held,
}

impl RunQuery {
    /// Returns the query for one run.
    pub fn of_run(run: RunId) -> Self {
        Self { run: Some(run), ..Self::default() }
    }

    pub(crate) fn rows_max(&self) -> u32 {
        self.limit.min(QUERY_RUNS_MAX)
    }
}

/// Asks for the latest runs, as far as the bounds allow.
impl Default for RunQuery {
    fn default() -> Self {
        Self {
            run: None,
            root: None,
            order: RunOrder::default(),
            before: None,
            limit: QUERY_RUNS_MAX,
            without_counts: false,
        }
    }
}
