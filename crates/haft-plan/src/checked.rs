//! A plan that is valid as a whole. Only [`check`](crate::check) makes one, so other code need not check it again.

use std::sync::Arc;

use haft_contract::{Contract, ToolId};
use serde_json::Value;

use crate::limits::RETRIES_MAX;
use crate::node_id::NodeId;
use crate::plan::{OnFail, Plan};
use crate::reference::{InputTemplate, ReferenceError, ReferencePath};

/// A valid plan: ids are places, edges lead to earlier nodes, inputs satisfy the tools' schemas.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedPlan {
    pub(crate) plan: Plan,
    pub(crate) nodes: Vec<CheckedNode>,
    pub(crate) allow: Vec<ToolId>,
}

/// A node of a valid plan.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedNode {
    pub(crate) id: NodeId,
    pub(crate) contract: Arc<Contract>,
    pub(crate) inputs: InputTemplate,
    pub(crate) depends_on: Vec<NodeId>,
    pub(crate) dependents: Vec<NodeId>,
    pub(crate) retry: u8,
    pub(crate) timeout_ms: u64,
    pub(crate) on_fail: OnFail,
    pub(crate) resources: Vec<String>,
    pub(crate) repeat: Option<CheckedRepetition>,
}

/// The condition until which a node of a valid plan is repeated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CheckedRepetition {
    pub(crate) path: ReferencePath,
    pub(crate) equals: Value,
    pub(crate) max_iterations: u32,
}

impl CheckedPlan {
    /// Returns the plan as it was written.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the nodes; the place of each is its id.
    pub fn nodes(&self) -> &[CheckedNode] {
        &self.nodes
    }

    /// Returns the node `id`.
    pub fn node(&self, id: NodeId) -> Option<&CheckedNode> {
        self.nodes.get(id.index())
    }

    /// Returns the tools that the plan asks to be allowed, in order, each once.
    pub fn allow(&self) -> &[ToolId] {
        &self.allow
    }

    /// Returns the contracts of dangerous tools among the nodes, each once, in the order of the first node that calls it.
    pub fn dangerous_tools(&self) -> Vec<&Contract> {
        let mut seen = std::collections::HashSet::new();
        let contracts = self.nodes.iter().map(|node| node.contract.as_ref());
        contracts.filter(|contract| contract.dangerous && seen.insert(&contract.id)).collect()
    }
}

/// The fields of an agent or person node that become text, whatever their references name.
const TEXT_FIELDS: [&str; 2] = ["prompt", "question"];

/// Returns the name that a field of a call's input has in its node as it is written. Only nodes that call tools have `inputs`.
pub(crate) fn field_in_node(is_own_work: bool, field: &str) -> &str {
    let own = field.strip_prefix("inputs.").filter(|_| is_own_work);
    own.unwrap_or(field)
}

/// The input of a plan, as far as it is known when the plan is checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PlanInput<'a> {
    /// Nothing: it will be given later, or not.
    Unknown,
    /// There will be none.
    Absent,
    /// This one.
    Given(&'a Value),
}

impl CheckedNode {
    /// Returns the node's id.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Returns the input of the call, made of the outputs of nodes that it depends on and the input of the plan.
    ///
    /// # Errors
    ///
    /// Fails if a reference names nothing, or if a program would take its value for an option. For a task of an agent and a
    /// question to a person, every value becomes text.
    pub fn resolve<'v>(
        &self,
        outputs: &dyn Fn(NodeId) -> Option<&'v Value>,
        input: Option<&'v Value>,
    ) -> Result<Value, ReferenceError> {
        let mut resolved = self.inputs.resolve(outputs, input).map_err(|mut err| {
            err.field = self.field_in_node(&err.field).to_owned();
            err
        })?;
        if self.is_own_work()
            && let Value::Object(fields) = &mut resolved
        {
            for (_, text) in
                fields.iter_mut().filter(|(name, _)| TEXT_FIELDS.contains(&name.as_str()))
            {
                if !text.is_string() {
                    *text = Value::String(text.to_string());
                }
            }
        }
        if let Some(line) = self.contract.shell_line {
            self.inputs.check_options(line, &resolved)?;
        }
        Ok(resolved)
    }

    /// Returns whether the node is the work of an agent or of a person, and no call of a tool of the user.
    pub fn is_own_work(&self) -> bool {
        self.contract.is_internal
    }

    /// Returns the name that a field of the call's input has in the node as it is written.
    pub(crate) fn field_in_node<'f>(&self, field: &'f str) -> &'f str {
        field_in_node(self.is_own_work(), field)
    }

    /// Returns the contract of the tool that it calls.
    pub fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    /// Returns the nodes that must have succeeded before, in order.
    pub fn depends_on(&self) -> &[NodeId] {
        &self.depends_on
    }

    /// Returns the most attempts that the node may have, from 1.
    pub fn attempts_max(&self) -> u32 {
        u32::from(self.retry.min(RETRIES_MAX)) + 1
    }

    /// Returns the largest number of iterations of the node, which is 1 unless it is repeated.
    pub fn iterations_max(&self) -> u32 {
        self.repeat.as_ref().map_or(1, |repeat| repeat.max_iterations)
    }

    /// Returns what becomes of the plan when the node failed for good.
    pub fn on_fail(&self) -> OnFail {
        self.on_fail
    }
}
