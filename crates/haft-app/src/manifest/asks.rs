//! How a call that needs an answer goes on if its front end cannot ask a person.

use serde::Deserialize;

/// How a call that needs the answer of a person goes on if its front end cannot ask one: a client over MCP that shows no forms, or a
/// plan or an agent without a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AskPolicy {
    /// It is denied at once.
    #[default]
    Deny,
    /// It waits for an answer through another front end, and is denied at the deadline.
    Wait,
}
