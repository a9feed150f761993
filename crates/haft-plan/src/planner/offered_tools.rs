//! The tools that a plan may be made of: those of a registry that were offered, and no others, so that a plan cannot use
//! what the model was not told of.

use std::collections::BTreeSet;

use haft_contract::{SubagentSummary, ToolId};

use crate::{PlanTool, PlanToolLookup};

pub(super) struct OfferedPlanTools<'a> {
    tools: &'a dyn PlanToolLookup,
    ids: &'a BTreeSet<&'a ToolId>,
}

impl<'a> OfferedPlanTools<'a> {
    pub(super) fn new(tools: &'a dyn PlanToolLookup, ids: &'a BTreeSet<&'a ToolId>) -> Self {
        Self { tools, ids }
    }

    /// Returns the tools in the order of their ids.
    pub(super) fn each(&self) -> impl Iterator<Item = PlanTool<'a>> {
        self.ids.iter().filter_map(|id| self.tools.find(id.as_str()))
    }
}

impl PlanToolLookup for OfferedPlanTools<'_> {
    fn find(&self, name: &str) -> Option<PlanTool<'_>> {
        self.tools.find(name).filter(|tool| self.ids.contains(&tool.contract.id))
    }

    fn near_matches(&self, name: &str) -> Vec<&str> {
        let mut near = self.tools.near_matches(name);
        near.retain(|name| self.find(name).is_some());
        near
    }

    fn names(&self) -> Vec<&str> {
        self.ids.iter().map(|id| id.as_str()).collect()
    }

    fn agents(&self) -> &[SubagentSummary] {
        self.tools.agents()
    }
}
