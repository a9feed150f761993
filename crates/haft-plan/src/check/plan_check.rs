//! The state of one check: the plan's tools and ids, the input, and the problems so far.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use haft_contract::{Contract, SubagentSummary, Tool};

use super::ids::PlanNodeIds;
use crate::checked::PlanInput;
use crate::message_text::{listed, shortened};
use crate::node_tools::{agent_node_tool, person_node_tool};
use crate::problem::PlanProblems;
use crate::tools::{PlanTool, PlanToolLookup};

/// The state of checking one plan.
pub(super) struct PlanCheck<'a> {
    pub(super) tools: CalledTools<'a>,
    pub(super) input: PlanInput<'a>,
    pub(super) ids: PlanNodeIds,
    /// Dependencies that are part of a circle, which is reported as such, by the places of their nodes.
    pub(super) circular: HashSet<(usize, usize)>,
    /// The place of the node that is checked.
    pub(super) place: usize,
    pub(super) problems: &'a mut PlanProblems,
    agent_contract: Option<Arc<Contract>>,
    person_contract: Option<Arc<Contract>>,
}

impl<'a> PlanCheck<'a> {
    pub(super) fn new(
        tools: &'a dyn PlanToolLookup,
        input: PlanInput<'a>,
        ids: PlanNodeIds,
        problems: &'a mut PlanProblems,
    ) -> Self {
        let tools = CalledTools { tools, found: HashMap::new() };
        Self {
            tools,
            input,
            ids,
            circular: HashSet::new(),
            place: 0,
            problems,
            agent_contract: None,
            person_contract: None,
        }
    }

    /// Returns the contract of the tool behind agent nodes.
    pub(super) fn agent_contract(&mut self) -> Arc<Contract> {
        let contract = || contract_of(&agent_node_tool());
        Arc::clone(self.agent_contract.get_or_insert_with(contract))
    }

    /// Returns the contract of the tool behind person nodes.
    pub(super) fn person_contract(&mut self) -> Arc<Contract> {
        let contract = || contract_of(&person_node_tool());
        Arc::clone(self.person_contract.get_or_insert_with(contract))
    }

    pub(super) fn select_node(&mut self, place: usize) {
        self.place = place;
        self.problems.select_node(Some(place));
    }
}

fn contract_of(tool: &Tool) -> Arc<Contract> {
    Arc::clone(tool.valid_contract().expect("the definition of a tool of haft is valid"))
}

/// The tools that the plan calls; each is looked for once.
pub(super) struct CalledTools<'a> {
    tools: &'a dyn PlanToolLookup,
    found: HashMap<String, Result<PlanTool<'a>, String>>,
}

impl<'a> CalledTools<'a> {
    /// Returns the agents that the plan may give tasks to.
    pub(super) fn agents(&self) -> &'a [SubagentSummary] {
        self.tools.agents()
    }

    /// Returns the tool, or a message that says that there is none.
    pub(super) fn find(&mut self, name: &str) -> Result<PlanTool<'a>, String> {
        if let Some(found) = self.found.get(name) {
            return found.clone();
        }
        let found = self.tools.find(name).ok_or_else(|| {
            let near = self.tools.near_matches(name);
            let hint = if near.is_empty() {
                format!("use one of {}", listed(self.tools.names().into_iter()))
            } else {
                format!("did you mean {}?", near.join(" or "))
            };
            format!("there is no tool {}; {hint}", shortened(&format!("{name:?}")))
        });
        self.found.insert(name.to_owned(), found.clone());
        found
    }
}
