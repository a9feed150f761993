//! The events that go into a schedule, and the commands that come out of it.

use std::num::NonZeroU32;

use serde::Serialize;

use crate::node_id::NodeId;

/// How a plan came to its end, or to a halt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "ending", rename_all = "snake_case")]
pub enum PlanEnding {
    /// Nothing is left to do.
    Finished,
    /// A node failed that halts the plan.
    Halted {
        /// The node.
        by: NodeId,
    },
    /// A call is in doubt. Once it is settled, the run can be resumed.
    InDoubt,
    /// It was told to stop, and the running calls have ended. The run can be resumed.
    Stopped,
    /// It was told to stop at once, and the running calls were cancelled. The run can be resumed.
    Aborted,
    /// Something is left and nothing of it can start.
    Deadlock {
        /// The nodes that wait for one another.
        nodes: Vec<NodeId>,
    },
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScheduleEvent {
    PlanStarted,
    AttemptEnded { node: NodeId, how: NodeAttemptEnding },
    RetryDue { node: NodeId },
    WakeDue,
    StopRequested,
    AbortRequested,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeAttemptEnding {
    Succeeded,
    /// It succeeded, and the node is repeated.
    Repeats,
    /// It may be tried again.
    Failed,
    /// Another attempt would end in the same way.
    Refused,
    InDoubt,
    Cancelled,
}

/// The next action of the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScheduleCommand {
    /// Make an attempt. Iterations count from 0, and the attempts of each from 1.
    Start {
        node: NodeId,
        iteration: u32,
        attempt: u32,
    },
    RetryIn {
        node: NodeId,
        delay_ms: u64,
    },
    /// Say that time has come, at that time.
    WakeAt {
        at_ms: u64,
    },
    /// The node is not called.
    Skip {
        node: NodeId,
        because_of: NodeId,
    },
    /// Cancel the attempt that runs.
    Cancel {
        node: NodeId,
    },
    /// Say that the node could start, but for this.
    Wait {
        node: NodeId,
        hindrance: NodeStartBlocker,
    },
    Done(PlanEnding),
}

/// The reason why a node does not start although all its dependencies have succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeStartBlocker {
    /// An earlier user of one of its resources, by the place of that in the node's list.
    Resource { place: usize, user: NodeId },
    /// As many calls of its tool run as may.
    AtOnce(NonZeroU32),
    /// As many calls of its tool started as may in a minute.
    PerMinute { most: NonZeroU32, opens_at_ms: u64 },
}
