//! What a session takes over from calls that were answered before it began: for drivers that go on after a transcript, and
//! where a call is recalled. Nothing is executed for it, and nothing is had that a call could not give.

use haft_contract::{Envelope, Metadata, Origin, Todo};
use haft_policy::{Action, judge};
use serde_json::Value;

use super::listing::TOOL_SEARCH;
use super::{SKILL, Session, SessionState};
use crate::sidecar::Sidecars;

/// The tool that keeps a list of what is to be done.
const TODO: &str = "todo";

impl Session {
    /// Takes over what was cut out of an output of an earlier session, so that calls of this one read it: the answer names a
    /// copy from then on, or says that the rest is gone. For drivers that go on after a transcript.
    pub fn adopt_output(&self, metadata: &mut Metadata) {
        Sidecars::note_loss(metadata);
        self.state.sidecars.adopt(metadata);
    }

    /// Takes over what a call of an earlier session gave it, as far as a call could give it to this one: the tools that it
    /// found are listed, the files of the skill that it loaded can be read, and the list that it wrote is the list. For drivers
    /// that go on after a transcript, with one call after the other. May block.
    pub fn adopt_call(&self, tool: &str, input: &Value, answer: &Envelope) {
        self.state.adopt_call(tool, input, answer);
    }
}

/// Returns whether sessions [take something over](Session::adopt_call) from calls of a tool.
pub fn is_adopted(tool: &str) -> bool {
    [SKILL, TODO, TOOL_SEARCH].contains(&tool)
}

impl SessionState {
    pub(crate) fn adopt_call(&self, tool: &str, input: &Value, answer: &Envelope) {
        let Envelope::Output { .. } = answer else { return };
        if !self.could_call(tool) {
            return;
        }
        self.adopt_search(tool, answer);
        if let Some(name) = input.get("name").filter(|_| tool == SKILL).and_then(Value::as_str) {
            self.skills.adopt(name);
        }
        let todos = input.get("todos").filter(|_| tool == TODO);
        let todos = todos.map(|todos| serde_json::from_value::<Vec<Todo>>(todos.clone()));
        if let Some(Ok(todos)) = todos {
            self.todos.adopt(todos);
        }
    }

    /// Returns whether this session could make such a call itself: it has haft's own tool of that name, and no rule denies it.
    fn could_call(&self, tool: &str) -> bool {
        let registry = self.shared.catalog.registry();
        registry.contract(tool).is_some_and(|contract| {
            contract.origin == Origin::Native
                && self.keeps(contract)
                && judge(&contract.id, None, &self.rules()).action != Action::Deny
        })
    }
}
