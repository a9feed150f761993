//! The state that a connection adopts from calls that were answered before it began. A driver that continues after a
//! transcript needs it, and so does a recalled call. Adopting executes nothing, and gives no state that a call could
//! not give.

use haft_contract::{ConnectionStore, Envelope, Todo, ToolOrigin};
use haft_policy::{RuleAction, decide_access};
use serde_json::Value;

use super::ConnectionState;

impl ConnectionState {
    /// Takes over what a call of a tool left, if the tool keeps anything in connections.
    pub(crate) fn adopt_call(&self, tool: &str, input: &Value, answer: &Envelope) {
        let Envelope::Output { .. } = answer else { return };
        match self.adoptable_store(tool) {
            None => {}
            Some(ConnectionStore::FoundTools) => self.adopt_search(answer),
            Some(ConnectionStore::Skills) => {
                if let Some(name) = input.get("name").and_then(Value::as_str) {
                    self.skills.adopt_skill(name);
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

    /// Returns what calls of a tool leave here, if this session could make such a call itself: it has haft's own tool of that
    /// name, and no rule denies it.
    fn adoptable_store(&self, tool: &str) -> Option<ConnectionStore> {
        let registry = self.shared.catalog.registry();
        let contract = registry.contract(tool)?;
        let is_callable = contract.origin == ToolOrigin::Native
            && self.has_tool(contract)
            && decide_access(&contract.id, None, &self.rules()).action != RuleAction::Deny;
        contract.connection_store.filter(|_| is_callable)
    }
}
