//! The results of a plan, node by node, in the order of the ids. The same outcomes give the same trace, however many nodes
//! ran at the same time and in whatever order they ended. Data that differs from run to run, such as times and the names of
//! calls, is kept apart in [`PlanTimings`]. If a plan was halted or stopped, the nodes that had begun by then depend on time,
//! and so does the trace.

mod text;

use haft_contract::{ContentDigest, Contract, ErrorCode, Refusal, ToolId};
use serde::Serialize;
use serde_json::{Value, json};

use crate::drive_limits::TRACED_INPUT_BYTES_MAX;
use crate::node_id::NodeId;
use crate::schedule::{PlanEnding, PlanNodeState};

/// The results of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanTrace {
    /// How it came to its end.
    #[serde(flatten)]
    pub ending: PlanEnding,
    /// The node whose output is the output of the plan.
    pub final_output_node: NodeId,
    /// The result of each node, in the order of the ids.
    pub nodes: Vec<TracedNode>,
}

/// The result of one node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TracedNode {
    /// Its id.
    pub id: NodeId,
    /// The tool that it calls.
    pub tool: ToolId,
    /// How far it came.
    pub status: NodeStatus,
    /// How many iterations were begun, for a node that is repeated.
    #[serde(skip_serializing_if = "is_at_most_one")]
    pub iterations: u32,
    /// How many attempts of the last iteration came to an end, of themselves or because their time was over.
    pub attempts: u32,
    /// Its input with references resolved, if it came so far: where the tool keeps fields out of the journal, and where it
    /// is too long, as size and SHA-256.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Value>,
    /// Its answer, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Whether the output was cut.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// Why the last attempt failed, or why the node is in doubt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<NodeError>,
    /// Why earlier attempts failed, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retried: Vec<NodeError>,
    /// The failed node because of which this one was skipped or cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because_of: Option<NodeId>,
}

/// How far a node came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeStatus {
    /// It answered.
    Succeeded,
    /// Its last attempt failed.
    Failed,
    /// It was not called, because something that it needs failed.
    Skipped,
    /// It was stopped, or not called, because the plan was halted or stopped.
    Cancelled,
    /// It may or may not have happened.
    InDoubt,
    /// It is called when the run is resumed.
    Pending,
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeError {
    /// The stable code.
    pub code: ErrorCode,
    /// The mistake and the next step.
    pub text: String,
    /// The refusal, with its source and its remedies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Box<Refusal>>,
}

/// When things happened and what they are called, which differs from run to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PlanTimings {
    /// From the beginning to the end, in milliseconds.
    pub duration_ms: u64,
    /// The nodes that were called or recalled, in the order of the ids.
    pub nodes: Vec<NodeTiming>,
}

/// How long the last attempt of a node took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeTiming {
    /// The node.
    pub id: NodeId,
    /// The journal's name of the call, if it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// From the arrival of the call to its answer, in milliseconds.
    pub duration_ms: u64,
    /// Whether the answer was recalled and nothing was executed.
    #[serde(skip_serializing_if = "is_false")]
    pub replayed: bool,
}

impl PlanTrace {
    /// Returns the output of the plan, if the node that makes it answered.
    pub fn final_output(&self) -> Option<&Value> {
        self.nodes.get(self.final_output_node.index())?.output.as_ref()
    }

    /// Returns whether every node answered.
    pub fn is_success(&self) -> bool {
        self.nodes.iter().all(|node| node.status == NodeStatus::Succeeded)
    }

    /// Returns the trace as JSON, with the output of the plan beside the nodes.
    pub fn to_json(&self) -> Value {
        let mut trace = json!(self);
        if let Value::Object(fields) = &mut trace {
            let output = self.final_output();
            // An output may be null, too.
            fields.insert("has_output".to_owned(), json!(output.is_some()));
            fields.insert("final_output".to_owned(), json!(output));
        }
        trace
    }
}

impl TracedNode {
    /// Returns a node that nothing has become of.
    pub(crate) fn new(id: NodeId, tool: ToolId) -> Self {
        Self {
            id,
            tool,
            status: NodeStatus::Pending,
            iterations: 0,
            attempts: 0,
            inputs: None,
            output: None,
            truncated: false,
            error: None,
            retried: Vec::new(),
            because_of: None,
        }
    }

    /// Notes that an attempt of an iteration begins, with this input.
    pub(crate) fn begin_attempt(&mut self, iteration: u32, attempt: u32, inputs: Value) {
        self.inputs = Some(inputs);
        self.iterations = iteration.saturating_add(1);
        if attempt == 1 {
            self.attempts = 0;
        }
    }
}

impl NodeStatus {
    /// Returns how far a node came whose plan is not driven any longer.
    pub(crate) fn of(state: PlanNodeState) -> Self {
        match state {
            PlanNodeState::Waiting
            | PlanNodeState::Ready
            | PlanNodeState::Running
            | PlanNodeState::BackingOff => Self::Pending,
            PlanNodeState::Succeeded => Self::Succeeded,
            PlanNodeState::Failed => Self::Failed,
            PlanNodeState::Skipped => Self::Skipped,
            PlanNodeState::Cancelled => Self::Cancelled,
            PlanNodeState::InDoubt => Self::InDoubt,
        }
    }

    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
            Self::InDoubt => "in_doubt",
            Self::Pending => "pending",
        }
    }
}

/// Returns an input as a trace shows it: bodies, and what is too long, as size and SHA-256.
pub(crate) fn shown_inputs(input: &Value, contract: &Contract) -> Value {
    let mut shown = input.clone();
    if let Value::Object(fields) = &mut shown {
        for name in &contract.redacted {
            if let Some(field) = fields.get_mut(name) {
                *field = ContentDigest::of_value(field).to_value();
            }
        }
    }
    if shown.to_string().len() <= TRACED_INPUT_BYTES_MAX {
        shown
    } else {
        ContentDigest::of_value(&shown).to_value()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_at_most_one(count: &u32) -> bool {
    *count <= 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_false(value: &bool) -> bool {
    !value
}
