//! The paths that rules kept from the processes of a call.

use serde::{Deserialize, Serialize};

use crate::DecidingRule;

/// A path that a rule kept from the processes of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WithheldPath {
    /// The path, relative to the root that it lies beneath.
    pub path: String,
    /// The access that the processes did not get.
    pub access: WithheldAccess,
    /// The rule.
    pub rule: DecidingRule,
}

/// An access to a path that a process did not get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WithheldAccess {
    /// Reading it, and therefore changing it too.
    Read,
    /// Changing it.
    Write,
}
