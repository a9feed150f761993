//! The events of driving a plan, as they happen: for a live view and for other programs. The journal is the lasting record,
//! and the trace has the results.

use haft_contract::{RunId, ToolId};
use serde::Serialize;

use crate::node_id::NodeId;
use crate::schedule::PlanEnding;
use crate::trace::{NodeError, NodeStatus};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum PlanEvent {
    /// The plan is kept with its run, and its nodes may start.
    PlanStarted {
        /// The run.
        run: RunId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A node could start, but for something that it has to wait for.
    NodeWaiting {
        /// The node.
        node: NodeId,
        /// The reason why it waits.
        #[serde(flatten)]
        waits_for: NodeWaitReason,
    },
    /// An attempt of a node is begun, or recalled.
    NodeStarted {
        /// The node.
        node: NodeId,
        /// The tool that it calls.
        tool: ToolId,
        /// Which iteration it is, from 0.
        #[serde(skip_serializing_if = "is_zero")]
        iteration: u32,
        /// Which attempt of the iteration it is, from 1.
        attempt: u32,
    },
    /// A call waits for the answer of a person at another front end.
    CallWaiting {
        /// The name of the ask.
        ask: String,
        /// The call, as its row in the journal names it.
        call: String,
        /// The tool, as the ask names it.
        tool: String,
    },
    /// An iteration of a node succeeded, and the condition for its end does not hold yet.
    NodeRepeating {
        /// The node.
        node: NodeId,
        /// Which iteration ended, from 0.
        iteration: u32,
        /// How long its last attempt took, in milliseconds.
        duration_ms: u64,
        /// Whether the answer was recalled and nothing was executed.
        replayed: bool,
    },
    /// An attempt failed, and the next is made later.
    NodeRetrying {
        /// The node.
        node: NodeId,
        /// Which attempt failed, from 1.
        attempt: u32,
        /// How long until the next, in milliseconds.
        delay_ms: u64,
        /// Why it failed.
        error: NodeError,
    },
    /// Nothing more becomes of a node that was called, and what became of it is recorded.
    NodeFinished {
        /// The node.
        node: NodeId,
        /// How far it came.
        status: NodeStatus,
        /// How long its last attempt took, in milliseconds.
        duration_ms: u64,
        /// Whether the answer was recalled and nothing was executed.
        replayed: bool,
        /// Why it failed, if it did.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<NodeError>,
        /// The text that the tool printed beside its answer in the last attempt, unless that was recalled.
        #[serde(skip_serializing_if = "Option::is_none")]
        log: Option<String>,
    },
    /// A node will not be called.
    NodeSkipped {
        /// The node.
        node: NodeId,
        /// The failed node that was noticed first; the trace names the lowest.
        because_of: NodeId,
    },
    /// The plan is not driven any longer.
    PlanFinished {
        /// How it came to its end.
        #[serde(flatten)]
        ending: PlanEnding,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(iteration: &u32) -> bool {
    *iteration == 0
}

/// The reason why a node waits that could start otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "waits_for", rename_all = "snake_case")]
#[non_exhaustive]
pub enum NodeWaitReason {
    /// A resource.
    Resource {
        /// Its name.
        resource: String,
        /// The node that uses it before.
        used_by: NodeId,
    },
    /// The end of another call of its tool.
    Concurrency {
        /// How many calls of the tool run at the same time.
        at_once: u32,
    },
    /// The time when its tool may be called again.
    Rate {
        /// How many calls of the tool start in any minute.
        per_minute: u32,
        /// How long until one may start again, in milliseconds.
        wait_ms: u64,
    },
}

/// Takes what happens. A front end that shows nothing drops it.
pub trait PlanEventSink: Send + Sync {
    /// Takes one event, in the order in which they happen, once all that it tells of is recorded. Must not block.
    fn report(&self, event: &PlanEvent);
}

/// Drops all events.
impl PlanEventSink for () {
    fn report(&self, _: &PlanEvent) {}
}

impl<F: Fn(&PlanEvent) + Send + Sync> PlanEventSink for F {
    fn report(&self, event: &PlanEvent) {
        self(event);
    }
}
