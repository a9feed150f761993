//! Hosts that a call is led to while it runs, such as by a redirect. What the call declared was judged before it began, and a
//! person who was asked may have said yes; any other host comes up only now, when nobody can be asked, and is judged by rules
//! and watchdogs before it is resolved. Who led there is not known here.

use std::net::IpAddr;

use haft_contract::{ErrorCode, ToolError};
use haft_policy::{Action, Canonical, is_local_host, judge};
use haft_sandbox::proxy::{Denial, Host, reserved_range};

use super::GrantedNet;
use super::target::Target;
use crate::watchdog::{WatchedCall, consult};

impl GrantedNet {
    /// Returns whether the call did not speak of this host.
    pub(super) fn is_led(&self, target: &Target) -> bool {
        !self.judged.contains(&target.host.to_string())
    }

    /// Refuses what rules or watchdogs do not let pass as it is.
    pub(super) async fn judge_led(&self, target: &Target) -> Result<(), ToolError> {
        let access = Canonical::Net { host: target.host.to_string() };
        self.check_rules(target, &access)?;
        self.check_watchdogs(target, &access).await
    }

    fn check_rules(&self, target: &Target, access: &Canonical) -> Result<(), ToolError> {
        let Target { host, url, .. } = target;
        let decision = judge(&self.tool, Some(access), &self.session.rules());
        let why = decision.explain();
        let message = match decision.action {
            Action::Allow => return Ok(()),
            Action::Deny => why,
            // How to allow it is exactly what a page that leads there wants to be said.
            Action::Ask if is_inside(host) => {
                return Err(ToolError::new(ErrorCode::CapabilityDenied, inside(host)));
            }
            Action::Ask => format!(
                "this call was not about {host}, and nobody is asked while it runs: call with {url}, or start haft with \
                 `--allow-host {host}` ({why})"
            ),
        };
        Err(ToolError::new(ErrorCode::PermissionDenied, message))
    }

    async fn check_watchdogs(&self, target: &Target, access: &Canonical) -> Result<(), ToolError> {
        // Where no host is granted this one is not reached whatever watchdogs say.
        if self.hosts.is_empty() {
            return Ok(());
        }
        let Target { host, url, .. } = target;
        let parts = &self.session.shared.parts;
        let watched = WatchedCall {
            tool: &self.tool,
            input: &self.input,
            accesses: std::slice::from_ref(access),
            session: &self.session.id,
            root: parts.roots.workspace(),
            has_hosts: true,
            led_to: Some(url.as_str()),
        };
        let reasons = consult(&parts.watchdogs, watched)
            .await
            .map_err(|reason| ToolError::new(ErrorCode::WatchdogDenied, reason))?;
        if reasons.is_empty() {
            return Ok(());
        }
        let message = format!(
            "a watchdog wants a person asked about {host}, and nobody is asked while a call runs: call with {url} ({})",
            reasons.join("; ")
        );
        Err(ToolError::new(ErrorCode::WatchdogDenied, message))
    }
}

/// Returns why a host that the call is led to is not connected to. What lies inside is not told how to be reached.
pub(super) fn denied(denial: &Denial) -> ToolError {
    let message = match denial {
        Denial::NotGranted { host }
        | Denial::OtherPorts { host, .. }
        | Denial::Reserved { host, .. }
            if is_inside(host) =>
        {
            inside(host)
        }
        Denial::Reserved { host, range } => format!(
            "host {host} has an address that is {range}, and no page may lead there; go on without it"
        ),
        denial => return super::denied(denial),
    };
    ToolError::new(ErrorCode::CapabilityDenied, message)
}

/// Returns whether the host is one of this machine or its networks, or the like, by what it is called.
fn is_inside(host: &Host) -> bool {
    let name = host.to_string();
    match name.parse::<IpAddr>() {
        Ok(address) => reserved_range(address).is_some(),
        Err(_) => is_local_host(&name),
    }
}

fn inside(host: &Host) -> String {
    format!(
        "{host} is one of this machine or its networks, and no page may lead there; go on without it"
    )
}
