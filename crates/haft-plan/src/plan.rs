//! A plan as it was written: which tools to call with what, and what waits for what. Nothing here is checked but the
//! form of each field; [`check`](crate::check) makes the plan that can be executed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::limits::NODE_TIMEOUT_S_DEFAULT;
use crate::node_id::NodeId;
use crate::reference::{InputTemplate, ReferenceSource};

/// A graph of tool calls as it was written. Fields that haft does not know are kept in `extras`.
///
/// ```
/// let plan = haft_plan::parse(r#"{
///     "nodes": [{"id": 0, "tool": "read", "inputs": {"path": "README.md"}, "depends_on": []}],
///     "final_output_node": 0
/// }"#).unwrap();
/// assert_eq!(plan.nodes[0].tool, "read");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The calls, in the order of their ids.
    pub nodes: Vec<PlanNode>,
    /// The node whose output is the output of the plan.
    pub final_output_node: NodeId,
    /// Dangerous tools that the plan asks to be allowed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Everything else that was written beside the nodes.
    #[serde(flatten)]
    pub extras: Map<String, Value>,
}

/// One tool call of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanNode {
    /// Its place among the nodes, from 0.
    pub id: NodeId,
    /// The tool's id, or its wire name.
    pub tool: String,
    /// The function of a tool that has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The tool's input, which may hold references to outputs of earlier nodes.
    pub inputs: Value,
    /// The nodes that must have succeeded before.
    pub depends_on: Vec<NodeId>,
    /// How often it is tried again after it failed.
    #[serde(skip_serializing_if = "is_zero")]
    pub retry: u8,
    /// The time for one attempt, in seconds.
    #[serde(rename = "timeout", skip_serializing_if = "is_default_timeout")]
    pub timeout_s: u32,
    /// The effect on the plan when the node failed for good.
    #[serde(skip_serializing_if = "OnFail::is_halt")]
    pub on_fail: OnFail,
    /// Names of what only one node at a time may use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// Everything else that was written, `metadata` among it.
    #[serde(flatten)]
    pub extras: Map<String, Value>,
}

impl Plan {
    /// Returns the nodes whose inputs refer to the output of a node.
    pub fn nodes_using(&self, id: NodeId) -> Vec<NodeId> {
        let uses = |node: &&PlanNode| {
            let mut is_used = false;
            let (inputs, _) = InputTemplate::read(&node.inputs, "inputs");
            inputs.each_reference("inputs", &mut |_, reference| {
                is_used |= reference.source == ReferenceSource::Step(id);
            });
            is_used
        };
        self.nodes.iter().filter(uses).map(|node| node.id).collect()
    }
}

/// Says what becomes of a plan when a node failed for good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFail {
    /// Nothing more starts, and what runs is cancelled.
    #[default]
    Halt,
    /// Nodes that do not depend on it go on.
    Continue,
}

impl PlanNode {
    /// Returns a call of `tool` with `inputs` that waits for nothing, with the defaults for everything else.
    pub fn new(id: NodeId, tool: impl Into<String>, inputs: Value) -> Self {
        Self {
            id,
            tool: tool.into(),
            function: None,
            inputs,
            depends_on: Vec::new(),
            retry: 0,
            timeout_s: NODE_TIMEOUT_S_DEFAULT,
            on_fail: OnFail::Halt,
            resources: Vec::new(),
            extras: Map::new(),
        }
    }

    /// Returns the purpose of the node, in the words of the plan's author: `metadata.purpose`, else `thought`.
    pub fn purpose(&self) -> Option<&str> {
        let purpose = self.extras.get("metadata").and_then(|metadata| metadata.get("purpose"));
        purpose.or_else(|| self.extras.get("thought")).and_then(Value::as_str)
    }
}

impl OnFail {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Halt => "halt",
            Self::Continue => "continue",
        }
    }

    fn is_halt(&self) -> bool {
        *self == Self::Halt
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(retry: &u8) -> bool {
    *retry == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_default_timeout(timeout_s: &u32) -> bool {
    *timeout_s == NODE_TIMEOUT_S_DEFAULT
}
