//! The paths that rules kept from the processes of a call.

use serde::{Deserialize, Serialize};

use crate::DecidingRule;

/// A path that a rule kept from the processes of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WithheldPath {
    /// The path, relative to the root that it lies beneath.
    pub path: String,
    /// What the processes could not do with it.
    pub access: WithheldAccess,
    /// The rule.
    pub rule: DecidingRule,
}

/// What a process could not do with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WithheldAccess {
    /// Read it, and therefore not change it either.
    Read,
    /// Change it.
    Write,
}
