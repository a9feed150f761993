//! The hosts that one call may reach: what its tool requires and what rules allow, less what rules deny. Names are not
//! resolved here; whoever connects does that, and is told whether an address of this machine or its networks was meant.

use std::net::IpAddr;
use std::sync::Arc;

use haft_contract::ToolId;

use crate::access::{Canonical, Subject};
use crate::capability::Capabilities;
use crate::pattern::{HostPattern, normal_host};
use crate::rank::{Verdict, verdict};
use crate::rule::{Action, Exactness, RuleScope};
use crate::rule_set::{CompiledRule, RuleSet};

#[cfg(test)]
mod tests;

const CAPABILITY: &str = "net.fetch";

/// Last labels of names that public name servers do not give out.
const LOCAL_DOMAINS: &[&str] = &["localhost", "local", "internal", "lan", "home.arpa"];

/// The hosts that one call may reach; none by default. Nothing is worked out before a host is asked about. Cloning is cheap
/// enough for one per call.
#[derive(Clone, Debug, Default)]
pub struct HostScope {
    /// What is required, by any of these.
    required: Vec<Capabilities>,
    /// What is required and lies outside of this is not granted.
    ceiling: Option<Capabilities>,
    /// The rules that speak of hosts of this call.
    rules: Vec<(Exactness, Arc<CompiledRule>)>,
    /// Whether a rule alone can grant a host.
    rules_grant: bool,
    /// Hosts about which somebody was asked, and said yes.
    answered: Vec<String>,
}

/// A host that a call may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostGrant {
    /// It was named as what it is: an address, or a name that only means something here, such as `localhost`. Private,
    /// loopback and link-local addresses may be connected to for such a grant, and for no other: a wildcard or a public
    /// name must not lead to them, whatever it resolves to.
    pub as_such: bool,
}

impl HostScope {
    /// Returns the hosts of one call of a tool that reaches the network by itself: those that it requires and the agent
    /// has. Rules take away from them and add none.
    pub fn of_tool(
        tool: &ToolId,
        own: &Capabilities,
        effective: &Capabilities,
        rules: &RuleSet,
    ) -> Self {
        Self {
            required: vec![own.clone()],
            ceiling: Some(effective.clone()),
            rules: speaking(tool, rules, |_| true),
            rules_grant: false,
            answered: Vec::new(),
        }
    }

    /// Returns the hosts of one call of a tool that runs commands: its own, those that `agent` requires by itself, since
    /// nobody knows beforehand which commands will be run, and those that a rule about `net.fetch` allows.
    ///
    /// That the tool may be called at all says nothing of hosts: a rule `allow bash "*"` grants none.
    pub fn of_commands(
        tool: &ToolId,
        own: &Capabilities,
        agent: &Capabilities,
        rules: &RuleSet,
    ) -> Self {
        Self {
            required: vec![own.clone(), agent.clone()],
            ceiling: None,
            rules: speaking(tool, rules, |rule| !rule.pattern.is_everything()),
            rules_grant: true,
            answered: Vec::new(),
        }
    }

    /// Returns the scope after these accesses of the call were judged and allowed, by a rule or by an answer. An answer
    /// lifts an ask about its very host, and no deny.
    pub fn with_allowed(mut self, accesses: &[Canonical]) -> Self {
        self.answered.extend(accesses.iter().filter_map(|access| match access {
            Canonical::Net { host } => Some(normal_host(host)),
            Canonical::Read { .. }
            | Canonical::Write { .. }
            | Canonical::Shell { .. }
            | Canonical::Named { .. } => None,
        }));
        self
    }

    /// Returns whether nothing grants any host, so that the call has no network at all.
    pub fn is_empty(&self) -> bool {
        let grants = |(_, rule): &(Exactness, Arc<CompiledRule>)| self.grants(rule);
        self.patterns().next().is_none() && !self.rules.iter().any(grants)
    }

    /// Returns how the call may reach the host, if it may.
    pub fn admits(&self, host: &str) -> Option<HostGrant> {
        let host = normal_host(host);
        let rules = self.rules.iter().map(|(exactness, rule)| (*exactness, &**rule));
        let verdict = verdict(rules, Subject::Host(&host));
        let fits = |pattern: &&HostPattern| pattern.fit(&host).is_some();
        let is_below_ceiling = self
            .ceiling
            .as_ref()
            .is_none_or(|ceiling| ceiling.hosts().any(|pattern| fits(&pattern)));
        let mut required = self.patterns().filter(fits).filter(|_| is_below_ceiling);
        let winner = verdict.winner.map(|winner| winner.rule);
        let granting = winner.filter(|rule| self.grants(rule));
        let is_open = self.is_open(&verdict, &host);
        let is_required = is_open && required.clone().next().is_some();
        if !is_required && granting.is_none() {
            return None;
        }
        let is_spelled = (is_required && required.any(|pattern| pattern.spells(&host)))
            || granting.is_some_and(|rule| rule.pattern.spells_host(&host));
        Some(HostGrant { as_such: is_spelled && is_local(&host) })
    }

    fn patterns(&self) -> impl Iterator<Item = &HostPattern> + Clone {
        self.required.iter().flat_map(Capabilities::hosts)
    }

    /// Returns whether rules leave a required host open. Nobody can be asked while a command runs, so what a rule wants
    /// asked is closed unless it was; where no rule says anything, requiring it was enough.
    fn is_open(&self, verdict: &Verdict<'_>, host: &str) -> bool {
        match verdict.action {
            Action::Allow => true,
            Action::Ask => {
                verdict.winner.is_none() || self.answered.iter().any(|answered| answered == host)
            }
            Action::Deny => false,
        }
    }

    /// Returns whether the rule grants the hosts that it matches, required or not.
    fn grants(&self, rule: &CompiledRule) -> bool {
        let is_written = match rule.scope {
            RuleScope::Manifest | RuleScope::Project | RuleScope::Session => true,
            RuleScope::Preset | RuleScope::Builtin => false,
        };
        let is_about_hosts = matches!(rule.rule.permission.as_str(), CAPABILITY | "net.*");
        self.rules_grant && is_written && is_about_hosts && rule.rule.action == Action::Allow
    }
}

/// Returns the rules that speak of hosts: by the capability, or by the tool where `also` agrees.
fn speaking(
    tool: &ToolId,
    rules: &RuleSet,
    also: impl Fn(&CompiledRule) -> bool,
) -> Vec<(Exactness, Arc<CompiledRule>)> {
    let by_capability = |rule: &CompiledRule| rule.permission.names(CAPABILITY);
    let exactness = |rule: &Arc<CompiledRule>| {
        let exactness = rule.permission.exactness(tool, Some(CAPABILITY))?;
        (by_capability(rule) || also(rule)).then(|| (exactness, Arc::clone(rule)))
    };
    rules.iter().filter_map(exactness).collect()
}

/// Returns whether the host is an address, or a name that public name servers do not give out.
fn is_local(host: &str) -> bool {
    let is_in = |domain: &&str| host.strip_suffix(*domain).is_some_and(|rest| rest.ends_with('.'));
    host.parse::<IpAddr>().is_ok() || !host.contains('.') || LOCAL_DOMAINS.iter().any(is_in)
}
