//! The state that a connection adopts from calls that were answered before it began. A driver that continues after a
//! transcript needs it, and so does a recalled call. Adopting executes nothing, and gives no state that a call could
//! not give.

use haft_contract::{ConnectionStore, Envelope, Skills, Todo, ToolOrigin};
use haft_policy::{RuleAction, decide_access};
use serde_json::Value;

use super::ConnectionState;

impl ConnectionState {
    /// Adopts the state that a call of a tool created, if the tool stores state in connections.
    pub(crate) fn adopt_call(&self, tool: &str, input: &Value, answer: &Envelope) {
        let Envelope::Output { .. } = answer else { return };
        // This connection could make such a call itself: haft's own tool has that name, and no rule denies it.
        let registry = self.shared.catalog.registry();
        let adoptable = registry.contract(tool).filter(|contract| {
            contract.origin == ToolOrigin::Native
                && self.has_tool(contract)
                && decide_access(&contract.id, None, &self.rules()).action != RuleAction::Deny
        });
        match adoptable.and_then(|contract| contract.connection_store) {
            None => {}
            Some(ConnectionStore::FoundTools) => self.adopt_search(answer),
            Some(ConnectionStore::Skills) => {
                if let Some(name) = input.get("name").and_then(Value::as_str) {
                    // Calls can then read the files of the skill. If it cannot be loaded any more, it has no files.
                    let _ = self.skills.load(name);
                }
            }
            Some(ConnectionStore::Todos) => {
                let todos = input.get("todos").cloned().map(serde_json::from_value::<Vec<Todo>>);
                if let Some(Ok(todos)) = todos {
                    self.todos.adopt_todos(todos);
                }
            }
        }
    }
}
