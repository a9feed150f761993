//! Hooks that see every call before it executes.

use haft_contract::{BoxFuture, ToolId};
use haft_policy::Canonical;
use serde_json::Value;

/// What a watchdog sees: a call that is valid, and that capabilities and rules let through.
#[derive(Clone, Copy, Debug)]
pub struct WatchedCall<'a> {
    /// The tool.
    pub tool: &'a ToolId,
    /// The validated input.
    pub input: &'a Value,
    /// What the call would touch.
    pub accesses: &'a [Canonical],
    /// The session.
    pub session: &'a str,
}

/// What a watchdog says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The call may go on.
    Allow,
    /// The call must not go on, for this reason.
    Deny(String),
    /// A person should decide, for this reason.
    Ask(String),
}

/// A hook before execution. It can refuse what rules allowed; it cannot permit what they refused.
pub trait Watchdog: Send + Sync {
    /// Judges a call.
    fn judge<'a>(&'a self, call: WatchedCall<'a>) -> BoxFuture<'a, Verdict>;
}
