//! A plan as it was written: the work of each node, and what waits for what. Nothing here is checked but the form of each
//! field; [`check`](crate::check) makes the plan that can be executed.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::limits::{AGENT_TIMEOUT_S_DEFAULT, NODE_TIMEOUT_S_DEFAULT};
use crate::node_id::NodeId;
use crate::reference::{InputTemplate, ReferenceSource};

/// A graph of work as it was written. Fields that haft does not know are kept in `extras`.
///
/// ```
/// let plan = haft_plan::parse(r#"{
///     "nodes": [{"id": 0, "tool": "read", "inputs": {"path": "README.md"}, "depends_on": []}],
///     "final_output_node": 0
/// }"#).unwrap();
/// assert_eq!(plan.nodes[0].label(), "read");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The nodes, in the order of their ids.
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

/// One node of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanNode {
    /// Its place among the nodes, from 0.
    pub id: NodeId,
    /// The work of the node.
    #[serde(flatten)]
    pub work: PlanWork,
    /// The nodes that must have succeeded before.
    pub depends_on: Vec<NodeId>,
    /// How often it is tried again after it failed.
    #[serde(skip_serializing_if = "is_zero")]
    pub retry: u8,
    /// The time for one attempt, in seconds, unless it is the default.
    #[serde(rename = "timeout", skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u32>,
    /// The effect on the plan when the node failed for good.
    #[serde(skip_serializing_if = "OnFail::is_halt")]
    pub on_fail: OnFail,
    /// Names of what only one node at a time may use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// The condition until which the node is repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat_until: Option<RepeatUntil>,
    /// Everything else that was written, `metadata` among it.
    #[serde(flatten)]
    pub extras: Map<String, Value>,
}

/// The work of a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum PlanWork {
    /// It calls a tool.
    Call {
        /// The tool's id, or its wire name.
        tool: String,
        /// The function of a tool that has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        function: Option<String>,
        /// The tool's input, which may hold references to outputs of earlier nodes.
        inputs: Value,
    },
    /// It gives a task to an agent.
    Agent(AgentWork),
    /// It asks a person.
    Person {
        /// The question, which may hold references.
        question: String,
        /// The answers to choose from. Without them, the person writes one.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
    },
}

/// A task for an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AgentWork {
    /// The name of the agent.
    pub agent: String,
    /// The task, which may hold references.
    pub prompt: String,
    /// The only tools that the agent may use, by id; `None` for all that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The JSON Schema that the answer must satisfy. Without one, the answer is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The maximum of answers of the model in one turn, below that of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
}

/// The condition until which a node is repeated. Each turn is an iteration of the node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RepeatUntil {
    /// The part of the output that is compared, such as `status` or `items[0].done`; empty for the whole output.
    pub path: String,
    /// The value that ends the repetition.
    pub equals: Value,
    /// The largest number of iterations. If the condition does not hold after the last one, the node fails.
    pub max_iterations: u32,
}

impl Plan {
    /// Returns whether a node gives a task to an agent, so that a model is needed.
    pub fn has_agent_nodes(&self) -> bool {
        self.agents().next().is_some()
    }

    /// Returns the name of the agent of each node that gives a task to an agent.
    pub fn agents(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().filter_map(|node| match &node.work {
            PlanWork::Agent(work) => Some(work.agent.as_str()),
            PlanWork::Call { .. } | PlanWork::Person { .. } => None,
        })
    }

    /// Returns the nodes whose inputs refer to the output of a node.
    pub fn nodes_using(&self, id: NodeId) -> Vec<NodeId> {
        let uses = |node: &&PlanNode| {
            let mut is_used = false;
            let (inputs, _) = InputTemplate::read(&node.work.input(), "inputs");
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
        Self::with_work(id, PlanWork::Call { tool: tool.into(), function: None, inputs })
    }

    /// Returns a node with this work that waits for nothing, with the defaults for everything else.
    pub fn with_work(id: NodeId, work: PlanWork) -> Self {
        Self {
            id,
            work,
            depends_on: Vec::new(),
            retry: 0,
            timeout_s: None,
            on_fail: OnFail::Halt,
            resources: Vec::new(),
            repeat_until: None,
            extras: Map::new(),
        }
    }

    /// Returns the few words that name the work: the tool, or the agent.
    pub fn label(&self) -> Cow<'_, str> {
        match &self.work {
            PlanWork::Call { tool, .. } => Cow::Borrowed(tool),
            PlanWork::Agent(AgentWork { agent, .. }) => Cow::Owned(format!("agent {agent}")),
            PlanWork::Person { .. } => Cow::Borrowed("person"),
        }
    }

    /// Returns the time for one attempt, in seconds.
    pub fn timeout_s(&self) -> u32 {
        self.timeout_s.unwrap_or_else(|| self.work.timeout_s_default())
    }

    /// Returns the purpose of the node, in the words of the plan's author: `metadata.purpose`, else `thought`.
    pub fn purpose(&self) -> Option<&str> {
        let purpose = self.extras.get("metadata").and_then(|metadata| metadata.get("purpose"));
        purpose.or_else(|| self.extras.get("thought")).and_then(Value::as_str)
    }
}

impl PlanWork {
    /// Returns the input of the node's call as it is written, with its references.
    pub fn input(&self) -> Cow<'_, Value> {
        match self {
            Self::Call { inputs, .. } => Cow::Borrowed(inputs),
            Self::Agent(work) => Cow::Owned(json!(work)),
            Self::Person { .. } => Cow::Owned(json!(self)),
        }
    }

    /// Returns the time for one attempt if the node names none, in seconds.
    pub(crate) fn timeout_s_default(&self) -> u32 {
        match self {
            Self::Call { .. } | Self::Person { .. } => NODE_TIMEOUT_S_DEFAULT,
            Self::Agent(_) => AGENT_TIMEOUT_S_DEFAULT,
        }
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
