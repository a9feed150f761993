//! The tools that a runtime offers, by id.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use haft_contract::{Contract, DefinitionError, Effect, RequirementSet, Tool, ToolId};

use crate::input_schema::InputSchema;
use crate::suggestions::near_matches;
use crate::tool_index::{QUERY_WORDS_MAX, ToolRanking};

/// The tools that a runtime offers. Listing is in the order of ids, so that every front end lists alike.
#[derive(Clone, Default)]
pub struct Registry {
    /// The tools by id.
    tools: BTreeMap<ToolId, Arc<RegisteredTool>>,
    /// The ids by the names that front ends use for tools on the wire.
    wire_names: BTreeMap<String, ToolId>,
    /// The tools that the user has not trusted yet, and which are not among `tools`.
    untrusted: UntrustedTools,
    /// Made by the first search: most registries are never searched.
    searchable: OnceLock<Arc<SearchableTools>>,
}

/// Names of tools that the settings bring once the user trusts them. A call of one is refused with that reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UntrustedTools {
    /// The ids of tools.
    pub ids: BTreeSet<ToolId>,
    /// Servers, whose tools have ids that begin with the server's name.
    pub servers: BTreeSet<String>,
}

/// The tools of a registry as a query finds them.
struct SearchableTools {
    /// The contracts in the order of the ranking.
    contracts: Vec<Arc<Contract>>,
    /// Ranks the contracts by the words of a query.
    ranking: ToolRanking,
}

/// A tool in a registry, with its schema compiled at the first call.
pub(crate) struct RegisteredTool {
    /// The code of the tool.
    tool: Tool,
    /// The contract that callers see.
    contract: Arc<Contract>,
    /// Compiling takes about 0.1 ms a tool, which a front end that only lists should not pay at start.
    schema: OnceLock<Result<InputSchema, String>>,
}

/// Says why a tool cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The definition itself is not usable.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// Another tool has the id.
    #[error("a tool {0} is registered already: give one of them another id")]
    Duplicate(ToolId),
    /// Another tool has the same name where dots cannot be carried.
    #[error("tools {0} and {1} would both be called {name} where a dot cannot be carried", name = .0.wire_name())]
    WireName(ToolId, ToolId),
}

impl UntrustedTools {
    /// Returns whether a name, an id or a name on the wire, is that of such a tool.
    fn contains(&self, name: &str) -> bool {
        let is_of = |server: &String| {
            name.strip_prefix(server.as_str()).is_some_and(|rest| rest.starts_with(['_', '.']))
        };
        self.ids.iter().any(|id| id.as_str() == name || id.wire_name() == name)
            || self.servers.iter().any(is_of)
    }
}

impl Registry {
    /// Returns a registry of these tools.
    ///
    /// # Errors
    ///
    /// Names the first tool that [`add`](Self::add) refuses.
    pub fn new(tools: impl IntoIterator<Item = Tool>) -> Result<Self, RegistryError> {
        let mut registry = Self::default();
        for tool in tools {
            registry.add(tool)?;
        }
        Ok(registry)
    }

    /// Adds a tool.
    ///
    /// haft logs a warning about a tool of [`Effect::Once`] that does not take the context, because a retry of such a
    /// tool repeats its effect.
    ///
    /// # Errors
    ///
    /// Says that the definition is not valid, or that another tool has the id or the wire name.
    pub fn add(&mut self, tool: Tool) -> Result<(), RegistryError> {
        let contract = Arc::clone(tool.valid_contract()?);
        let id = contract.id.clone();
        if self.tools.contains_key(&id) {
            return Err(RegistryError::Duplicate(id));
        }
        if let Some(other) = self.wire_names.get(&id.wire_name()) {
            return Err(RegistryError::WireName(id, other.clone()));
        }
        if contract.effect == Effect::Once && !tool.uses_context() {
            tracing::warn!(
                tool = %id,
                "this tool's effect must not be repeated, but it does not take the context: without \
                 cx.idempotency_key() a retry cannot be told from a new call"
            );
        }
        self.searchable.take();
        self.wire_names.insert(id.wire_name(), id.clone());
        self.tools.insert(id, Arc::new(RegisteredTool { tool, contract, schema: OnceLock::new() }));
        Ok(())
    }

    /// Sets which tools the settings would bring if the user trusted them.
    pub fn set_untrusted(&mut self, untrusted: UntrustedTools) {
        self.untrusted = untrusted;
    }

    /// Returns whether there is no tool of this name because the user has not trusted the settings that bring it yet.
    pub fn is_untrusted(&self, name: &str) -> bool {
        self.find(name).is_none() && self.untrusted.contains(name)
    }

    /// Keeps only the tools with these ids.
    ///
    /// # Errors
    ///
    /// Lists the ids that no tool has. The registry then stays as it was.
    pub fn keep_only(&mut self, ids: &[ToolId]) -> Result<(), Vec<ToolId>> {
        let unknown: Vec<ToolId> =
            ids.iter().filter(|id| !self.tools.contains_key(id)).cloned().collect();
        if !unknown.is_empty() {
            return Err(unknown);
        }
        self.searchable.take();
        self.tools.retain(|id, _| ids.contains(id));
        self.wire_names.retain(|_, id| ids.contains(id));
        Ok(())
    }

    /// Removes each tool for whose contract `is_kept` returns false.
    pub fn retain(&mut self, is_kept: impl Fn(&Contract) -> bool) {
        self.searchable.take();
        self.tools.retain(|_, registered| is_kept(&registered.contract));
        let tools = &self.tools;
        self.wire_names.retain(|_, id| tools.contains_key(id));
    }

    /// Returns all contracts, by id.
    pub fn contracts(&self) -> impl Iterator<Item = &Contract> {
        self.tools.values().map(|registered| &*registered.contract)
    }

    /// Returns all contracts, by id, as shared values that the caller can keep.
    pub(crate) fn shared_contracts(&self) -> impl Iterator<Item = &Arc<Contract>> {
        self.tools.values().map(|registered| &registered.contract)
    }

    /// Returns how many tools there are.
    pub(crate) fn len(&self) -> usize {
        self.tools.len()
    }

    /// Returns the tools that fit a query best, best first. Tools whose names are words of the query come before all
    /// others.
    pub fn search(&self, query: &str, tools_max: usize) -> Vec<Arc<Contract>> {
        self.search_among(query, tools_max, |_| true)
    }

    /// Returns the tools that fit a query best among those that `is_picked` accepts.
    pub(crate) fn search_among(
        &self,
        query: &str,
        tools_max: usize,
        is_picked: impl Fn(&Contract) -> bool,
    ) -> Vec<Arc<Contract>> {
        let searchable = self.searchable.get_or_init(|| Arc::new(self.searchable()));
        let separates = |character: char| character.is_whitespace() || ",;\"'`".contains(character);
        let named = query.split(separates).take(QUERY_WORDS_MAX).filter_map(|name| self.find(name));
        let named = named.map(|registered| &registered.contract);
        // Those that are not picked take no places.
        let fitting = searchable.ranking.best(query, searchable.contracts.len()).into_iter();
        let fitting = fitting.filter_map(|tool| searchable.contracts.get(tool));
        let mut found: Vec<Arc<Contract>> = Vec::new();
        for contract in named.chain(fitting).filter(|contract| is_picked(contract)) {
            if found.len() == tools_max {
                break;
            }
            if !found.iter().any(|known| known.id == contract.id) {
                found.push(Arc::clone(contract));
            }
        }
        found
    }

    /// Builds the ranking of all tools.
    fn searchable(&self) -> SearchableTools {
        let contracts: Vec<_> = self.shared_contracts().map(Arc::clone).collect();
        let texts = contracts.iter().map(|it| (it.id.as_str(), it.description.as_str()));
        SearchableTools { ranking: ToolRanking::new(texts), contracts }
    }

    /// Returns the contract of the tool `name`, which may be an id or a wire name.
    pub fn contract(&self, name: &str) -> Option<&Contract> {
        self.find(name).map(|registered| &*registered.contract)
    }

    /// Returns the names most like `name`, best first.
    pub fn near_matches(&self, name: &str) -> Vec<&str> {
        near_matches(name, self.tools.keys().map(ToolId::as_str))
    }

    /// Returns what all tools together require.
    pub fn requires(&self) -> RequirementSet {
        self.contracts()
            .fold(RequirementSet::default(), |all, contract| all.union(&contract.requires))
    }

    /// Returns the tool with an id or a wire name.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        let by_id = ToolId::parse(name).ok().and_then(|id| self.tools.get(&id));
        by_id.or_else(|| self.wire_names.get(name).and_then(|id| self.tools.get(id)))
    }
}

impl RegisteredTool {
    /// Returns the code of the tool.
    pub(crate) fn tool(&self) -> &Tool {
        &self.tool
    }

    /// Returns the contract of the tool.
    pub(crate) fn contract(&self) -> &Contract {
        &self.contract
    }

    /// Returns the compiled schema, or why the declared one is not valid.
    pub(crate) fn schema(&self) -> Result<&InputSchema, &str> {
        let compiled = self.schema.get_or_init(|| match self.tool.has_generated_schema() {
            true => InputSchema::compile_generated(&self.contract.parameters),
            false => InputSchema::compile(&self.contract.parameters),
        });
        compiled.as_ref().map_err(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use haft_contract::ToolError;
    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}

    fn tool(id: &str) -> Tool {
        Tool::new(id).execute(|_: Nothing| async { Ok::<_, ToolError>("done") })
    }

    #[test]
    fn collisions_and_bad_ids_are_refused() {
        let check = |ids: &[&str], expect: &str| {
            let text =
                Registry::new(ids.iter().map(|id| tool(id))).err().map(|err| err.to_string());
            assert_eq!(text.unwrap_or_default(), expect);
        };
        check(&["a.b", "c"], "");
        check(&["a", "a"], "a tool a is registered already: give one of them another id");
        check(
            &["a.b", "a__b"],
            "tools a__b and a.b would both be called a__b where a dot cannot be carried",
        );
        let message =
            Registry::new([tool("A-b")]).err().map(|err| err.to_string()).unwrap_or_default();
        assert!(
            message.starts_with("tool id \"A-b\" is not valid: expected lower-case words"),
            "{message}"
        );
    }

    #[test]
    fn a_tool_is_found_by_id_and_by_wire_name() {
        let registry = Registry::new([tool("shop.order"), tool("read")]).unwrap();
        assert!(
            registry.contract("shop.order").is_some() && registry.contract("shop__order").is_some()
        );
        assert_eq!(registry.near_matches("shop_order"), ["shop.order"]);
    }

    #[test]
    fn a_search_sees_the_tools_of_now_and_names_come_first() {
        let about = |id: &str, text: &str| {
            let builder = Tool::new(id).description(text);
            builder.execute(|_: Nothing| async { Ok::<_, ToolError>("done") })
        };
        let mut registry = Registry::new([about("shop.order", "Order"), tool("read")]).unwrap();
        let found = |registry: &Registry, query: &str| {
            let found = registry.search(query, 2);
            found.iter().map(|contract| contract.id.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(found(&registry, "order food"), ["shop.order"]);
        registry.add(about("food.order", "Order food")).unwrap();
        assert_eq!(found(&registry, "order food"), ["food.order", "shop.order"]);
        assert_eq!(found(&registry, "food, shop__order"), ["shop.order", "food.order"]);
        assert_eq!(found(&registry, "order `read`, shop.order"), ["read", "shop.order"]);
        let read = ToolId::parse("read").unwrap();
        registry.keep_only(&[read]).unwrap();
        assert_eq!(found(&registry, "order food"), Vec::<String>::new());
    }

    #[test]
    fn a_tool_that_is_not_trusted_yet_is_told_from_an_unknown_one() {
        let mut registry = Registry::new([tool("calc_add")]).unwrap();
        let ids = BTreeSet::from([ToolId::parse("shop.order").unwrap()]);
        let servers = BTreeSet::from(["calc".to_owned()]);
        registry.set_untrusted(UntrustedTools { ids, servers });
        for name in ["shop.order", "shop__order", "calc_subtract", "calc__add"] {
            assert!(registry.is_untrusted(name), "{name}");
        }
        for name in ["shop", "calculate", "calc", "calc_add", "order"] {
            assert!(!registry.is_untrusted(name), "{name}");
        }
    }

    #[test]
    fn narrowing_names_what_is_unknown() {
        let id = |text: &str| ToolId::parse(text).unwrap();
        let mut registry = Registry::new([tool("read"), tool("write")]).unwrap();
        assert_eq!(registry.keep_only(&[id("read"), id("raed")]), Err(vec![id("raed")]));
        assert_eq!(registry.keep_only(&[id("read")]), Ok(()));
        assert_eq!(registry.contracts().count(), 1);
        registry.retain(|contract| contract.id != id("read"));
        assert_eq!(registry.contracts().count(), 0);
        assert_eq!(registry.add(tool("read")), Ok(()));
    }
}
