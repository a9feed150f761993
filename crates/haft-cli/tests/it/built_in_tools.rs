//! The built-in tools as their crates define them. Tests compare a whole list of tools with these, so a new tool changes none
//! of them, and a tool that is missing or too many still fails them.

use std::sync::Arc;

use haft_contract::Contract;
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

/// Puts the placeholder into a list of names, in place of the built-in tools. A list that does not have exactly those that
/// a model is offered stays as it is.
pub(crate) fn shorten_list(names: &mut Value) {
    let Some(listed) = names.as_array() else { return };
    let offered = ids_for_models();
    let is_built_in =
        |name: &&Value| name.as_str().is_some_and(|name| ids().iter().any(|id| id == name));
    let (built_in, others): (Vec<&Value>, Vec<&Value>) = listed.iter().partition(is_built_in);
    if built_in == offered.iter().collect::<Vec<_>>() {
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
    let offered = ids_for_models();
    let with = |other: &str| [&offered[..], &[other.to_owned()]].concat();
    check(offered.clone(), &[PLACEHOLDER]);
    check(with("word_count"), &[PLACEHOLDER, "word_count"]);
    let unchanged = |names: Vec<String>| {
        check(names.clone(), &names.iter().map(String::as_str).collect::<Vec<_>>());
    };
    unchanged(offered[1..].to_vec());
    unchanged(with(&offered[0]));
    unchanged(with("task"));
}
