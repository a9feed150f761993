//! Asks the watchdogs in order, and then at most once the person.

use std::sync::Arc;

use haft_contract::{Contract, ErrorCode, Tool};
use haft_policy::{
    Capabilities, Grant, HostScope, PolicyRequest, ResolvedAccess, has_exception,
    is_allowed_by_user,
};

use super::approve::{ApprovedCall, approve};
use super::call_state::CallState;
use super::capable::Judged;
use super::permit::{self, RulePermission};
use super::refusal::PipelineStop;
use crate::connection_state::ConnectionState;
use crate::registry::RegisteredTool;
use crate::watchdog::{self, WatchedCall};

/// Evidence that the call may execute, with the accesses that it may have.
pub(super) struct Granted {
    /// The tool that is called.
    registered: Arc<RegisteredTool>,
    /// The accesses with resolved paths.
    accesses: Vec<ResolvedAccess>,
    /// The accesses as JSON.
    recorded_accesses: String,
    /// The capabilities of the tool in this connection.
    capabilities: Capabilities,
    /// The files that the call may read and change.
    grant: Arc<Grant>,
    /// The hosts that the call may reach.
    hosts: Arc<HostScope>,
}

/// A call after this stage.
pub(super) enum WatchedCallState {
    /// It passes, with this grant.
    Granted(Box<CallState>, Granted),
    /// A person gave it another input and allowed that. It is to be judged anew, and is not asked about again.
    Edited(Box<CallState>),
}

/// Asks the watchdogs, and then the person if rules or watchdogs want that. Returns the grant of a call that passes.
pub(super) async fn watch(
    state: CallState,
    judged: Judged,
    permission: RulePermission,
    connection: &ConnectionState,
) -> Result<WatchedCallState, PipelineStop> {
    let (state, judged, of_watchdogs) = check_watchdogs(state, judged, connection).await?;
    let was_asked = !permission.reasons.is_empty();
    let (state, judged) = if permission.reasons.is_empty() && of_watchdogs.is_empty() {
        (state, judged)
    } else {
        match approve(state, judged, of_watchdogs, connection).await? {
            ApprovedCall::AsIs(state, judged) => (*state, *judged),
            ApprovedCall::Edited(state) => return Ok(WatchedCallState::Edited(state)),
        }
    };
    if state.call().cancellation.is_cancelled() {
        return Err(judged.refuse_cancelled(state));
    }
    let rules = connection.rules();
    let grant = Grant::of_call(&judged.contract().id, judged.capabilities(), &rules);
    let hosts = permit::reachable_hosts(&state, &judged, &rules, &connection.shared);
    let hosts = if was_asked { hosts.with_approval() } else { hosts };
    let capabilities = judged.capabilities().clone();
    let (registered, accesses, recorded_accesses) = judged.into_parts();
    let grant = Arc::new(grant.with_allowed(&accesses));
    let hosts = Arc::new(hosts.with_allowed(&accesses));
    let granted = Granted { registered, accesses, recorded_accesses, capabilities, grant, hosts };
    Ok(WatchedCallState::Granted(Box::new(state), granted))
}

/// Returns the call, and why watchdogs want a person asked. Returns no reasons if all watchdogs let the call pass.
///
/// Refuses the call if a watchdog denies it or fails, or if the call is cancelled before all watchdogs answered.
pub(super) async fn check_watchdogs(
    state: CallState,
    judged: Judged,
    connection: &ConnectionState,
) -> Result<(CallState, Judged, Vec<String>), PipelineStop> {
    let shared = &connection.shared;
    let parts = &shared.parts;
    let rules = connection.rules();
    let tool = &judged.contract().id;
    let allowed_by_user: Vec<bool> =
        judged.accesses().iter().map(|access| is_allowed_by_user(tool, access, &rules)).collect();
    // Where the kernel holds the network, a command without hosts downloads nothing.
    let is_network_decided = permit::has_network(&state, &judged, &rules, shared)
        || (shared.conditions().sandboxed && !parts.allow_network);
    let watched = WatchedCall {
        tool,
        input: &state.call().input,
        accesses: judged.accesses(),
        manifest: &parts.manifest,
        session: &connection.id,
        root: parts.roots.workspace(),
        allowed_by_user: &allowed_by_user,
        is_network_decided,
        led_to: None,
    };
    match state.unless_cancelled(watchdog::ask_watchdogs(&parts.watchdogs, watched)).await {
        // A person answered «always» about this very call.
        Some(Ok(_))
            if has_exception(&PolicyRequest { tool, accesses: judged.accesses() }, &rules) =>
        {
            Ok((state, judged, Vec::new()))
        }
        Some(Ok(reasons)) => Ok((state, judged, reasons)),
        Some(Err(reason)) => Err(judged.refuse(state, ErrorCode::WatchdogDenied, reason)),
        None => Err(judged.refuse_cancelled(state)),
    }
}

impl Granted {
    /// Returns the code of the tool.
    pub(super) fn tool(&self) -> &Tool {
        self.registered.tool()
    }

    /// Returns the contract of the tool.
    pub(super) fn contract(&self) -> &Contract {
        self.registered.contract()
    }

    /// Returns the accesses with resolved paths.
    pub(super) fn accesses(&self) -> &[ResolvedAccess] {
        &self.accesses
    }

    /// Returns the accesses as the journal records them.
    pub(super) fn recorded_accesses(&self) -> &str {
        &self.recorded_accesses
    }

    /// Returns the capabilities of the tool in this connection.
    pub(super) fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Returns the files that the call may read and change.
    pub(super) fn grant(&self) -> &Arc<Grant> {
        &self.grant
    }

    /// Returns the hosts that the call may reach.
    pub(super) fn hosts(&self) -> &Arc<HostScope> {
        &self.hosts
    }
}
