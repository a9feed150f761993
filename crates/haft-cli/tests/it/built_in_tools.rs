//! The built-in tools as their crates define them. Tests compare a whole list of tools with these, so a new tool changes none
//! of them, and a tool that is missing or too many still fails them.

use std::sync::Arc;

use haft_contract::{ConnectionStore, Contract, ListingCondition};
use haft_tools::{Profile, ToolOptions};
use serde_json::Value;

/// Stands in a snapshot for the ids of all built-in tools, in their order.
pub(crate) const PLACEHOLDER: &str = "[built-in tools]";

/// Returns the contracts of haft-tools. The language servers' tool is not among them, because it needs programs.
pub(crate) fn contracts() -> Vec<Arc<Contract>> {
    let tools = haft_tools::tools(Profile::Contract, &ToolOptions::default());
    tools.iter().map(|tool| Arc::clone(tool.valid_contract().unwrap())).collect()
}

/// Returns the ids of all built-in tools, in their order.
pub(crate) fn ids() -> Vec<String> {
    let mut ids: Vec<String> = contracts().iter().map(|contract| contract.id.to_string()).collect();
    ids.push(haft_lsp::LSP_TOOL.to_owned());
    ids.sort_unstable();
    ids
}

/// Returns the ids that a model without an agent loop of haft is offered, in their order. It cannot delegate.
pub(crate) fn ids_for_models() -> Vec<String> {
    let contracts = contracts();
    let delegates = |id: &str| {
        contracts.iter().any(|contract| contract.delegates && contract.id.as_str() == id)
    };
    ids().into_iter().filter(|id| !delegates(id)).collect()
}

/// Returns the ids that are listed to a model where a person can be asked, or cannot, in their order. The tool that finds tools is
/// listed only if some are hidden, and the language servers' tool only if a server is installed.
fn ids_listed(can_ask: bool) -> Vec<String> {
    let is_listed = |contract: &Arc<Contract>| match contract.listed_if {
        ListingCondition::Always => contract.connection_store != Some(ConnectionStore::FoundTools),
        ListingCondition::CanAsk | ListingCondition::HasHosts => can_ask,
        ListingCondition::Never => false,
    };
    let mut ids: Vec<String> = contracts()
        .iter()
        .filter(|contract| !contract.delegates && is_listed(contract))
        .map(|contract| contract.id.to_string())
        .collect();
    ids.sort_unstable();
    ids
}

/// Puts the placeholder into a list of names, in place of the built-in tools. A list that does not have exactly those that
/// a model is offered stays as it is, but for the language servers' tool.
pub(crate) fn shorten_list(names: &mut Value) {
    let Some(listed) = names.as_array_mut() else { return };
    listed.retain(|name| name != haft_lsp::LSP_TOOL);
    let all = ids_listed(true);
    let is_built_in =
        |name: &&Value| name.as_str().is_some_and(|name| all.iter().any(|id| id == name));
    let (built_in, others): (Vec<&Value>, Vec<&Value>) = listed.iter().partition(is_built_in);
    let is_offered = |ids: &[String]| built_in == ids.iter().collect::<Vec<_>>();
    if is_offered(&ids_listed(false)) || is_offered(&all) {
        *names =
            std::iter::once(Value::from(PLACEHOLDER)).chain(others.into_iter().cloned()).collect();
    }
}

#[test]
fn only_the_list_of_all_offered_tools_is_shortened() {
    let check = |names: Vec<String>, expect: &[&str]| {
        let mut list = Value::from(names);
        shorten_list(&mut list);
        assert_eq!(list, Value::from(expect));
    };
    let offered = ids_listed(false);
    let with = |other: &str| [&offered[..], &[other.to_owned()]].concat();
    check(offered.clone(), &[PLACEHOLDER]);
    check(ids_listed(true), &[PLACEHOLDER]);
    check(with("word_count"), &[PLACEHOLDER, "word_count"]);
    check(with("lsp"), &[PLACEHOLDER]);
    let unchanged = |names: Vec<String>| {
        check(names.clone(), &names.iter().map(String::as_str).collect::<Vec<_>>());
    };
    unchanged(offered[1..].to_vec());
    unchanged(with(&offered[0]));
    unchanged(with("question"));
}
