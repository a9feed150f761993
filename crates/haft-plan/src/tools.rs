//! The lookup of tools and agents for a check, and a simple one: a list of contracts and of agents.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use haft::{InputSchema, near_matches};
use haft_contract::{Contract, SubagentSummary, ToolId};

/// Knows the tools that a plan may call, and the agents that it may give tasks to.
pub trait PlanToolLookup {
    /// Returns the tool called `name`, which may be an id or a wire name.
    fn find(&self, name: &str) -> Option<PlanTool<'_>>;

    /// Returns the names most like `name`, best first.
    fn near_matches(&self, name: &str) -> Vec<&str>;

    /// Returns the names of all tools, in their order.
    fn names(&self) -> Vec<&str>;

    /// Returns the agents, in the order of their names. A host without agents has none.
    fn agents(&self) -> &[SubagentSummary] {
        &[]
    }
}

/// A tool as a check sees it.
#[derive(Clone, Copy, Debug)]
pub struct PlanTool<'a> {
    /// Its contract.
    pub contract: &'a Arc<Contract>,
    /// Its compiled schema, or why that could not be compiled.
    pub schema: Result<&'a InputSchema, &'a str>,
}

/// Tools by their contracts. Schemas are compiled when the first plan asks for them.
#[derive(Debug, Default)]
pub struct PlanToolCatalogue {
    tools: BTreeMap<ToolId, PlanToolEntry>,
    wire_names: BTreeMap<String, ToolId>,
    agents: Vec<SubagentSummary>,
}

#[derive(Debug)]
struct PlanToolEntry {
    contract: Arc<Contract>,
    schema: OnceLock<Result<InputSchema, String>>,
}

impl PlanToolCatalogue {
    /// Returns a catalogue of these contracts, such as those of a registry.
    pub fn new(contracts: impl IntoIterator<Item = Contract>) -> Self {
        let mut catalogue = Self::default();
        for contract in contracts {
            let id = contract.id.clone();
            let contract = Arc::new(contract);
            catalogue.wire_names.insert(id.wire_name(), id.clone());
            catalogue.tools.insert(id, PlanToolEntry { contract, schema: OnceLock::new() });
        }
        catalogue
    }

    /// Adds the agents that a plan may give tasks to.
    pub fn with_agents(mut self, agents: impl IntoIterator<Item = SubagentSummary>) -> Self {
        self.agents.extend(agents);
        self.agents.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        self
    }
}

impl PlanToolLookup for PlanToolCatalogue {
    fn find(&self, name: &str) -> Option<PlanTool<'_>> {
        let by_id = ToolId::parse(name).ok().and_then(|id| self.tools.get(&id));
        let by_wire_name = || self.wire_names.get(name).and_then(|id| self.tools.get(id));
        let entry = by_id.or_else(by_wire_name)?;
        let schema = entry.schema.get_or_init(|| InputSchema::compile(&entry.contract.parameters));
        Some(PlanTool {
            contract: &entry.contract,
            schema: schema.as_ref().map_err(String::as_str),
        })
    }

    fn near_matches(&self, name: &str) -> Vec<&str> {
        near_matches(name, self.tools.keys().map(ToolId::as_str))
    }

    fn names(&self) -> Vec<&str> {
        self.tools.keys().map(ToolId::as_str).collect()
    }

    fn agents(&self) -> &[SubagentSummary] {
        &self.agents
    }
}
