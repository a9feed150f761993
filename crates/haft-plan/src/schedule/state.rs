//! The states of one node and their transitions, as a table. The causes come from elsewhere.

use serde::Serialize;

/// How far a node has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PlanNodeState {
    /// Something that it waits for has not ended.
    Waiting,
    /// It may start.
    Ready,
    /// An attempt is being made.
    Running,
    /// An attempt failed, and the next is made later.
    BackingOff,
    /// It answered.
    Succeeded,
    /// Its last attempt failed.
    Failed,
    /// It cannot run, because something that it needs failed.
    Skipped,
    /// It was kept from starting, or stopped.
    Cancelled,
    /// It may or may not have happened.
    InDoubt,
}

/// The cause of a change from one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum NodeTransitionCause {
    /// The last thing that it waited for has ended.
    Unblocked,
    /// Its turn came.
    Started,
    /// The call answered.
    Answered,
    /// The call answered, and the node is repeated.
    Repeated,
    /// An attempt failed that is not the last.
    FailedForNow,
    /// An attempt that was made by an earlier process failed, and the next need not be waited for.
    FailedBefore,
    /// The time until the next attempt is over.
    RetryDue,
    /// The last attempt failed.
    FailedForGood,
    /// The end of the call is unknown.
    BecameInDoubt,
    /// The call was cancelled and did not get to its end.
    CallCancelled,
    /// Something that it needs failed or was skipped.
    DependencyFailed,
    /// The plan was halted.
    Halted,
}

impl PlanNodeState {
    /// Returns the state after a cause; nothing where the cause comes too late, or too early, to mean anything.
    pub(crate) fn after(self, cause: NodeTransitionCause) -> Option<Self> {
        let (from, to): (&[Self], Self) = match cause {
            NodeTransitionCause::Unblocked => (&[Self::Waiting], Self::Ready),
            NodeTransitionCause::Started => (&[Self::Ready], Self::Running),
            NodeTransitionCause::Answered => (&[Self::Running], Self::Succeeded),
            NodeTransitionCause::Repeated => (&[Self::Running], Self::Ready),
            NodeTransitionCause::FailedForNow => (&[Self::Running], Self::BackingOff),
            NodeTransitionCause::FailedBefore => (&[Self::Running], Self::Ready),
            NodeTransitionCause::RetryDue => (&[Self::BackingOff], Self::Ready),
            NodeTransitionCause::FailedForGood => (&[Self::Running], Self::Failed),
            NodeTransitionCause::BecameInDoubt => (&[Self::Running], Self::InDoubt),
            NodeTransitionCause::CallCancelled => (&[Self::Running], Self::Cancelled),
            NodeTransitionCause::DependencyFailed => (&[Self::Waiting], Self::Skipped),
            NodeTransitionCause::Halted => {
                (&[Self::Waiting, Self::Ready, Self::BackingOff], Self::Cancelled)
            }
        };
        from.contains(&self).then_some(to)
    }

    /// Returns whether nothing more becomes of the node while the plan is driven.
    pub(crate) fn is_final(self) -> bool {
        match self {
            Self::Waiting | Self::Ready | Self::Running | Self::BackingOff => false,
            Self::Succeeded | Self::Failed | Self::Skipped | Self::Cancelled | Self::InDoubt => {
                true
            }
        }
    }
}
