//! Hooks that see every call before it executes. This module and the pipeline define their input, and ensure that they
//! can only restrict calls. haft has two built-in watchdogs. One asks a program, and one knows destructive commands.

use std::path::Path;
use std::sync::Arc;

use haft_contract::{BoxFuture, ToolId};
use haft_policy::ResolvedAccess;
use serde_json::Value;

use crate::panic::PanicCatchingFuture;

mod program;
mod reference;

pub use program::ProgramWatchdog;
pub use reference::ReferenceWatchdog;

/// The input of a watchdog: a call that is valid and that capabilities and rules allow.
#[derive(Clone, Copy, Debug)]
pub struct WatchedCall<'a> {
    /// The tool.
    pub tool: &'a ToolId,
    /// The validated input.
    pub input: &'a Value,
    /// The accesses of the call.
    pub accesses: &'a [ResolvedAccess],
    /// The manifest of the agent; null if it has none.
    pub manifest: &'a Value,
    /// The session.
    pub session: &'a str,
    /// The workspace root.
    pub root: &'a Path,
    /// For each access in order, whether a rule of the user allows it: of the manifest, the project or the session. Empty if
    /// that is not known.
    pub allowed_by_user: &'a [bool],
    /// Whether downloads need no question: hosts or the network are granted to the call's commands, or the sandbox keeps
    /// them from the network.
    pub is_network_decided: bool,
    /// The URL of a redirect to a host that the running call did not declare; `None` before the call begins. For a
    /// redirect, `accesses` holds the access to the new host.
    pub led_to: Option<&'a str>,
}

/// The verdict of a watchdog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchdogVerdict {
    /// The call may go on.
    Allow,
    /// The call must not go on, for this reason.
    Deny(String),
    /// A person should decide, for this reason.
    Ask(String),
}

/// A hook before execution. It can refuse what rules allowed; it cannot permit what they refused.
pub trait Watchdog: Send + Sync {
    /// Judges a call. haft waits for the verdict before it asks a person or executes the call. A panic denies the call.
    fn judge<'a>(&'a self, call: WatchedCall<'a>) -> BoxFuture<'a, WatchdogVerdict>;
}

/// Asks watchdogs in order, until one denies the call. Returns why they want a person asked, or why the call is denied.
pub(crate) async fn ask_watchdogs(
    watchdogs: &[Arc<dyn Watchdog>],
    call: WatchedCall<'_>,
) -> Result<Vec<String>, String> {
    let mut reasons = Vec::new();
    for watchdog in watchdogs {
        match PanicCatchingFuture(Box::pin(async move { watchdog.judge(call).await })).await {
            Ok(WatchdogVerdict::Allow) => {}
            Ok(WatchdogVerdict::Ask(reason)) => reasons.push(reason),
            Ok(WatchdogVerdict::Deny(reason)) => return Err(reason),
            // A watchdog that fails has not allowed anything.
            Err(panic) => {
                return Err(format!("the watchdog failed, so the call is denied: {panic}"));
            }
        }
    }
    Ok(reasons)
}
