//! A plan that is valid as a whole. Only [`check`](crate::check) makes one, so other code need not check it again.

use std::sync::Arc;

use haft_contract::{Contract, ToolId};
use serde_json::Value;

use crate::limits::RETRIES_MAX;
use crate::node_id::NodeId;
use crate::plan::{OnFail, Plan};
use crate::reference::{InputTemplate, ReferenceError};

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
    /// Fails if a reference names nothing, or if a program would take its value for an option.
    pub fn resolve<'v>(
        &self,
        outputs: &dyn Fn(NodeId) -> Option<&'v Value>,
        input: Option<&'v Value>,
    ) -> Result<Value, ReferenceError> {
        let resolved = self.inputs.resolve(outputs, input)?;
        if let Some(line) = self.contract.shell_line {
            self.inputs.check_options(line, &resolved)?;
        }
        Ok(resolved)
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

    /// Returns what becomes of the plan when the node failed for good.
    pub fn on_fail(&self) -> OnFail {
        self.on_fail
    }
}
