//! Judges hosts that a running call is redirected to. The pipeline judged the declared hosts before the call began, and
//! may have asked a person about them. Another host comes up while no person can be asked. Rules and watchdogs judge it
//! before it is resolved. This module does not know which server redirected the call.

use std::net::IpAddr;

use haft_contract::{ErrorCode, Remedy, ToolError};
use haft_policy::{ResolvedAccess, RuleAction, decide_access, is_local_host};
use haft_sandbox::proxy::{ConnectionDenial, Host, reserved_range};

use super::GrantedNet;
use super::target::HttpTarget;
use crate::watchdog::{WatchedCall, ask_watchdogs};

impl GrantedNet {
    /// Returns whether the call did not speak of this host.
    pub(super) fn is_redirect(&self, target: &HttpTarget) -> bool {
        !self.declared_hosts.contains(&target.host.to_string())
    }

    /// Refuses what rules or watchdogs do not let pass as it is.
    pub(super) async fn judge_redirect(&self, target: &HttpTarget) -> Result<(), ToolError> {
        let HttpTarget { host, url, .. } = target;
        let access = ResolvedAccess::Net { host: host.to_string() };
        let decision = decide_access(&self.tool, Some(&access), &self.connection.rules());
        let why = decision.explain();
        let refused = |message| ToolError::new(ErrorCode::PermissionDenied, message);
        match decision.action {
            RuleAction::Allow => {}
            RuleAction::Deny => {
                return Err(refused(why).decided_by(decision.grounds().decided_by));
            }
            // A page that leads to an internal host wants to learn how to allow it. The error must not say it.
            RuleAction::Ask if is_internal_host(host) => {
                return Err(ToolError::new(ErrorCode::CapabilityDenied, internal_host_text(host)));
            }
            RuleAction::Ask => {
                let message = format!(
                    "this call was not about {host}, and haft asks no person while a call runs: call with {url} ({why})"
                );
                return Err(refused(message).with_remedy(Remedy::AllowHost(host.to_string())));
            }
        }
        // If the call has no granted hosts, it cannot connect, so watchdogs need not judge.
        if self.hosts.is_empty() {
            return Ok(());
        }
        let parts = &self.connection.shared.parts;
        let watched = WatchedCall {
            tool: &self.tool,
            input: &self.redirect_input,
            accesses: std::slice::from_ref(&access),
            manifest: &parts.manifest,
            session: &self.connection.id,
            root: parts.roots.workspace(),
            allowed_by_user: &[],
            is_network_decided: true,
            led_to: Some(url.as_str()),
        };
        let reasons = ask_watchdogs(&parts.watchdogs, watched)
            .await
            .map_err(|reason| ToolError::new(ErrorCode::WatchdogDenied, reason))?;
        if reasons.is_empty() {
            return Ok(());
        }
        let message = format!(
            "a watchdog wants a person to decide about {host}, and haft asks no person while a call runs: call with \
             {url} ({})",
            reasons.join("; ")
        );
        Err(ToolError::new(ErrorCode::WatchdogDenied, message))
    }
}

/// Returns why a redirect to a host is refused. For an internal host, the error does not say how to reach it.
pub(super) fn redirect_denied_error(denial: &ConnectionDenial) -> ToolError {
    let message = match denial {
        ConnectionDenial::NotGranted { host }
        | ConnectionDenial::OtherPorts { host, .. }
        | ConnectionDenial::Reserved { host, .. }
            if is_internal_host(host) =>
        {
            internal_host_text(host)
        }
        ConnectionDenial::Reserved { host, range, .. } => {
            format!("host {host} has an address that is {range}, and no page may lead there")
        }
        denial => return super::denied_error(denial),
    };
    ToolError::new(ErrorCode::CapabilityDenied, message)
}

/// Returns whether the host is one of this machine or its networks, or the like, by what it is called.
fn is_internal_host(host: &Host) -> bool {
    let name = host.to_string();
    match name.parse::<IpAddr>() {
        Ok(address) => reserved_range(address).is_some(),
        Err(_) => is_local_host(&name),
    }
}

/// Returns the message about a redirect to an internal host. It does not say how to allow the host.
fn internal_host_text(host: &Host) -> String {
    format!("{host} is one of this machine or its networks, and no page may lead there")
}
