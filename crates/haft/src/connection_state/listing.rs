//! Decides which tools a connection lists and can call. Of the tools of Python files and MCP servers, only the first are listed
//! if there are many, some of each server; the others are found by a query. Found tools are listed and callable for the rest of
//! the connection. The search ranks the tools, and the front end sends the list.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{
    CommandLine, ConnectionStore, Contract, Envelope, ErrorCode, HEADLESS_TEXT, ListingCondition,
    NO_SUBAGENTS_TEXT, ToolId, ToolIndex, ToolMatch, ToolOrigin,
};
use haft_policy::{HostScope, PolicyRequest, ResolvedAccess, RuleAction, RuleSet, decide};
use serde_json::Value;
use tokio::sync::watch;

use super::ConnectionState;
use crate::catalog::CatalogWatcher;
use crate::registry::Registry;

/// Whether a front end shows tools to a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolListing {
    /// Every tool is listed and can be called, because callers know the tools.
    #[default]
    All,
    /// If there are many tools, a model must find some of them with `tool_search` before haft lists them and allows calls
    /// of them.
    Searched,
}

/// The tools that were found. The mutex is written by calls of `tool_search`, and read where tools are listed and called.
#[derive(Debug, Default)]
pub(crate) struct SearchedTools {
    /// The found tools, by id.
    ids: Mutex<BTreeSet<ToolId>>,
    /// The number of times that unlisted tools were found.
    found_count: watch::Sender<u64>,
}

impl SearchedTools {
    /// Returns whether a search found the tool.
    fn contains(&self, id: &ToolId) -> bool {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).contains(id)
    }
}

impl ConnectionState {
    /// Returns the tools to show to a model, by id. Tools that cannot work are left out; `can_ask` says whether a person can be
    /// asked.
    pub(crate) fn listed_tools(&self, registry: &Registry, can_ask: bool) -> Vec<Arc<Contract>> {
        let rules = self.rules();
        let is_searched = self.is_searched(registry);
        let first = self.first_tools(registry);
        let is_shown = |contract: &&Arc<Contract>| {
            let can_work = match self.listing {
                ToolListing::All => true,
                ToolListing::Searched if finds_tools(contract) => is_searched,
                ToolListing::Searched => can_work(contract, &rules, can_ask),
            };
            let is_found =
                !is_searched || first.contains(&contract.id) || !self.is_unfound(contract);
            self.shows_tool(contract) && can_work && is_found
        };
        registry.shared_contracts().filter(is_shown).map(Arc::clone).collect()
    }

    /// Returns why no call of the tool can work on this connection, with the code of the refusal. `can_ask` says whether a person
    /// can be asked.
    pub(crate) fn why_unusable(
        &self,
        contract: &Contract,
        can_ask: bool,
    ) -> Option<(ErrorCode, String)> {
        if contract.delegates && self.subagents.is_empty() {
            return Some((ErrorCode::Unavailable, NO_SUBAGENTS_TEXT.to_owned()));
        }
        if can_work(contract, &self.rules(), can_ask) {
            return None;
        }
        let name = self.published_name(&contract.id);
        match contract.listed_if {
            ListingCondition::Always => None,
            ListingCondition::CanAsk => Some((ErrorCode::Headless, HEADLESS_TEXT.to_owned())),
            ListingCondition::Never => Some((
                ErrorCode::Unavailable,
                format!("{name} is not set up here: go on without it, or tell the user"),
            )),
            ListingCondition::HasHosts => Some((
                ErrorCode::Unavailable,
                format!(
                    "{name} can reach no host here: go on without it, or tell the user which host you need"
                ),
            )),
        }
    }

    /// Returns the number of tools that are not shown and can be found.
    pub(crate) fn unlisted_count(&self, registry: &Registry) -> usize {
        if !self.is_searched(registry) {
            return 0;
        }
        let first = self.first_tools(registry);
        let offered = registry.contracts().filter(|contract| self.shows_tool(contract));
        let is_hidden =
            |contract: &&Contract| self.is_unfound(contract) && !first.contains(&contract.id);
        offered.filter(is_hidden).count()
    }

    /// Returns whether a tool is to be found before it can be called.
    pub(crate) fn is_hidden_until_found(&self, registry: &Registry, contract: &Contract) -> bool {
        self.is_searched(registry)
            && self.is_unfound(contract)
            && !self.first_tools(registry).contains(&contract.id)
    }

    /// Returns the tools that are listed although they can be many. Each source of tools gets as many places as the others.
    fn first_tools<'a>(&self, registry: &'a Registry) -> BTreeSet<&'a ToolId> {
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let mut tools = Vec::new();
        for contract in registry.contracts().filter(|contract| self.shows_tool(contract)) {
            if let Some(source) = source_of(&contract.origin) {
                let place = places.entry(source).or_default();
                tools.push((*place, &contract.id));
                *place += 1;
            }
        }
        tools.sort_unstable();
        let listed = self.shared.parts.limits.listed_tools;
        tools.into_iter().take(listed).map(|(_, id)| id).collect()
    }

    /// Returns whether the tool belongs to those that can be many, and no search found it yet.
    fn is_unfound(&self, contract: &Contract) -> bool {
        can_be_many(&contract.origin) && !self.found_tools.contains(&contract.id)
    }

    /// Returns whether the registry has so many tools that some must be searched for. Without a search tool, haft lists
    /// them all.
    fn is_searched(&self, registry: &Registry) -> bool {
        let offered = || registry.contracts().filter(|contract| self.shows_tool(contract));
        let listed = self.shared.parts.limits.listed_tools;
        match self.listing {
            ToolListing::All => false,
            ToolListing::Searched if registry.len() <= listed => false,
            ToolListing::Searched => {
                let many = offered().filter(|contract| can_be_many(&contract.origin));
                many.count() > listed && offered().any(finds_tools)
            }
        }
    }

    /// Marks these tools as found, in this process or in an earlier one.
    fn mark_found<'a>(&self, registry: &'a Registry, ids: impl Iterator<Item = &'a ToolId>) {
        let contracts = ids.filter_map(|id| registry.contract(id.as_str()));
        let many: Vec<&Contract> = contracts.filter(|it| can_be_many(&it.origin)).collect();
        let is_news = many.iter().any(|contract| self.is_hidden_until_found(registry, contract));
        // Listed tools are added too, because there may be more tools later.
        let mut found = self.found_tools.ids.lock().unwrap_or_else(PoisonError::into_inner);
        found.extend(many.into_iter().map(|contract| contract.id.clone()));
        drop(found);
        if is_news {
            self.found_tools.found_count.send_modify(|count| *count += 1);
        }
    }

    /// Marks the tools of a recorded search as found, because a recalled search does not run.
    pub(super) fn adopt_search(&self, envelope: &Envelope) {
        let Envelope::Output { data, .. } = envelope else { return };
        let Some(matches) = data.get("matches").and_then(Value::as_array) else { return };
        let ids = matches.iter().filter_map(|found| found.get("id")?.as_str());
        let ids: Vec<ToolId> = ids.filter_map(|id| ToolId::parse(id).ok()).collect();
        self.mark_found(&self.shared.catalog.registry(), ids.iter());
    }

    /// Returns a watcher that has seen all changes until now.
    pub(crate) fn listing_changes(&self) -> ToolListingWatcher {
        ToolListingWatcher {
            catalog: self.shared.catalog.watch(),
            found: self.found_tools.found_count.subscribe(),
        }
    }
}

/// Watches for changes of the tools to show to a model: other tools, or newly found ones.
#[derive(Clone)]
pub struct ToolListingWatcher {
    /// Reports other tools.
    catalog: CatalogWatcher,
    /// Reports newly found tools.
    found: watch::Receiver<u64>,
}

impl ToolListingWatcher {
    /// Waits until the tools have changed since the last call. The future can be dropped and called again without loss.
    /// It never completes once the connection is closed.
    pub async fn changed(&mut self) {
        tokio::select! {
            () = self.catalog.changed() => {}
            found = self.found.changed() => {
                if found.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        }
        // The caller has now seen all changes up to this version.
        self.catalog.version();
        self.found.mark_unchanged();
    }
}

/// Returns whether a call of the tool can work under these rules.
fn can_work(contract: &Contract, rules: &RuleSet, can_ask: bool) -> bool {
    match contract.listed_if {
        ListingCondition::Always => true,
        ListingCondition::CanAsk => can_ask,
        ListingCondition::Never => false,
        ListingCondition::HasHosts if can_ask => true,
        ListingCondition::HasHosts => {
            let tool = &contract.id;
            let is_allowed = |accesses: &[ResolvedAccess]| {
                decide(&PolicyRequest { tool, accesses }, rules).action == RuleAction::Allow
            };
            let command = CommandLine::Unknown(tool.to_string());
            let may_run = || is_allowed(&[ResolvedAccess::Shell { command }]);
            is_allowed(&[])
                || (HostScope::allows_some(tool, rules)
                    && (contract.requires.shell.is_empty() || may_run()))
        }
    }
}

/// Returns whether this is the tool that searches for tools.
fn finds_tools(contract: &Contract) -> bool {
    contract.connection_store == Some(ConnectionStore::FoundTools)
}

/// Returns whether tools of this origin can be so many that a model must search for them.
fn can_be_many(origin: &ToolOrigin) -> bool {
    source_of(origin).is_some()
}

/// Returns the name of the source of tools that can be many: that of their server, empty for Python files.
fn source_of(origin: &ToolOrigin) -> Option<&str> {
    match origin {
        ToolOrigin::Native | ToolOrigin::Declared => None,
        ToolOrigin::Python => Some(""),
        ToolOrigin::Mcp { server, .. } => Some(server),
    }
}

/// The tools of the connection, as one call searches them.
pub(crate) struct ConnectionTools {
    /// The connection whose tools are searched. It lists the found tools from then on.
    pub(crate) connection: Arc<ConnectionState>,
    /// The tools at the time of the call's arrival.
    pub(crate) registry: Arc<Registry>,
}

impl ToolIndex for ConnectionTools {
    fn find(&self, query: &str, matches_max: usize) -> Vec<ToolMatch> {
        // The search tool does not need to be found by a search.
        let is_wanted =
            |contract: &Contract| !finds_tools(contract) && self.connection.shows_tool(contract);
        let found = self.registry.search_among(query, matches_max, is_wanted);
        let matches: Vec<ToolMatch> = found
            .iter()
            .map(|contract| ToolMatch {
                // A model calls the tool by the name that it reads here.
                id: ToolId::parse(&self.connection.published_name(&contract.id))
                    .unwrap_or_else(|_| contract.id.clone()),
                description: contract.description.clone(),
            })
            .collect();
        self.connection.mark_found(&self.registry, found.iter().map(|contract| &contract.id));
        matches
    }
}
