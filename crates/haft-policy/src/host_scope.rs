//! The hosts that one call may reach: what its tool requires and what rules allow, less what rules deny. Names are not
//! resolved here. The code that connects resolves them, and a [`HostGrant`] tells it whether private addresses are allowed.

use std::net::IpAddr;
use std::sync::Arc;

use haft_contract::ToolId;

use crate::access::{MatchSubject, ResolvedAccess};
use crate::capability::Capabilities;
use crate::pattern::{HostPattern, normal_host};
use crate::rank::{RuleVerdict, verdict};
use crate::rule::{Exactness, RuleAction, RuleScope};
use crate::rule_set::{CompiledRule, RuleSet};

#[cfg(test)]
mod tests;

const CAPABILITY: &str = "net.fetch";

/// Last labels of names that public name servers do not give out.
const LOCAL_DOMAINS: &[&str] = &["localhost", "local", "internal", "lan", "home.arpa"];

/// Rules that speak of hosts, and how exactly they name the call.
type HostRules = Vec<(Exactness, Arc<CompiledRule>)>;

/// The hosts that one call may reach; none by default. Nothing is worked out before a host is asked about. Cloning is cheap
/// enough for one per call.
#[derive(Clone, Debug, Default)]
pub struct HostScope {
    /// Each of these requires hosts.
    required: Vec<Capabilities>,
    /// A required host outside of this is not granted.
    effective: Option<Capabilities>,
    /// A host must fit a pattern of each of these to be granted at all.
    host_restrictions: Vec<Vec<HostPattern>>,
    /// The rules that speak of hosts of this call.
    rules: HostRules,
    /// Such rules of each restriction.
    rule_restrictions: Vec<HostRules>,
    /// Whether a rule alone can grant a host.
    rules_grant: bool,
    /// Hosts that a person approved.
    approved_hosts: Vec<String>,
    /// The only hosts that the call wants, where it said which.
    declared_hosts: Option<Vec<String>>,
    /// Whether a person was asked about the call, and said yes.
    was_approved: bool,
}

/// A host that a call may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostGrant {
    /// It was named as what it is, by a requirement, a rule or a person who was asked about it: an address, or a name that
    /// only means something here, such as `localhost`. Private, loopback and link-local addresses may be connected to for
    /// such a grant, and for no other: a wildcard or a public name must not lead to them, whatever it resolves to.
    pub allows_private_addresses: bool,
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
            effective: Some(effective.clone()),
            host_restrictions: own
                .host_restrictions()
                .chain(effective.host_restrictions())
                .collect(),
            rules: speaking(tool, rules, |_| true),
            rule_restrictions: rules
                .restrictions
                .iter()
                .map(|it| speaking(tool, it, |_| true))
                .collect(),
            ..Self::default()
        }
    }

    /// Returns the hosts of one call of a tool that runs commands: its own, those that `agent` requires by itself, and
    /// those that a rule about `net.fetch` allows. The agent's hosts count because the commands are not known beforehand.
    ///
    /// A rule that allows the tool grants no hosts: `allow bash "*"` grants none.
    pub fn of_commands(
        tool: &ToolId,
        own: &Capabilities,
        agent: &Capabilities,
        rules: &RuleSet,
    ) -> Self {
        let names_some = |rule: &CompiledRule| !rule.pattern.is_everything();
        let restrictions = rules.restrictions.iter();
        Self {
            required: vec![own.clone(), agent.clone()],
            host_restrictions: own.host_restrictions().chain(agent.host_restrictions()).collect(),
            rules: speaking(tool, rules, names_some),
            rule_restrictions: restrictions.map(|it| speaking(tool, it, names_some)).collect(),
            rules_grant: true,
            ..Self::default()
        }
    }

    /// Returns whether a rule allows calls of the tool to reach some host without an answer from a person.
    pub fn allows_some(tool: &ToolId, rules: &RuleSet) -> bool {
        let allows =
            |(_, rule): &(Exactness, Arc<CompiledRule>)| rule.rule.action == RuleAction::Allow;
        speaking(tool, rules, |_| true).iter().any(allows)
    }

    /// Returns the scope after these accesses of the call were judged and allowed, by a rule or by an answer. An answer
    /// lifts an ask about its very host, and no deny.
    pub fn with_allowed(mut self, accesses: &[ResolvedAccess]) -> Self {
        self.approved_hosts.extend(hosts_of(accesses));
        self
    }

    /// Returns the scope after a person was asked about the call and said yes. Rules that let it pass as a whole say nothing of
    /// addresses of this machine and its networks.
    pub fn with_approval(mut self) -> Self {
        self.was_approved = true;
        self
    }

    /// Returns the scope of a call that says beforehand which hosts it reaches: of all that it may reach, these. A call that
    /// says of none keeps them all, since it does not know them.
    pub fn limited_to_declared(mut self, accesses: &[ResolvedAccess]) -> Self {
        self.declared_hosts = Some(hosts_of(accesses)).filter(|hosts| !hosts.is_empty());
        self
    }

    /// Returns whether nothing grants any host, so that the call has no network at all.
    pub fn is_empty(&self) -> bool {
        let grants = |(_, rule): &(Exactness, Arc<CompiledRule>)| self.grants(rule);
        let is_shut = self.host_restrictions.iter().any(Vec::is_empty);
        is_shut || (self.patterns().next().is_none() && !self.rules.iter().any(grants))
    }

    /// Returns whether no restriction keeps any host from the call. Only then can the call use the ordinary network, where
    /// haft does not judge hosts.
    pub fn is_unrestricted(&self) -> bool {
        let admits_all = |patterns: &Vec<HostPattern>| {
            patterns.iter().any(|pattern| matches!(pattern, HostPattern::Any))
        };
        let says_no = |(_, rule): &(Exactness, Arc<CompiledRule>)| {
            rule.rule.action != RuleAction::Allow && rule.pattern.is_about_hosts()
        };
        self.host_restrictions.iter().all(admits_all)
            && !self.rule_restrictions.iter().flatten().any(says_no)
    }

    /// Returns how the call may reach the host, if it may.
    pub fn admits(&self, host: &str) -> Option<HostGrant> {
        let host = normal_host(host);
        if self.declared_hosts.as_ref().is_some_and(|wanted| !wanted.contains(&host)) {
            return None;
        }
        let is_spelled = self.spelled_grant(&host)?;
        Some(HostGrant { allows_private_addresses: is_spelled && is_local_host(&host) })
    }

    /// Returns whether the call may reach the host at this address, although the address is not public: this very host is
    /// granted, and so is the address or a range with it.
    pub fn admits_address(&self, host: &str, address: IpAddr) -> bool {
        let address = address.to_canonical().to_string();
        self.admits(host).is_some()
            && self.spelled_grant(&normal_host(host)) == Some(true)
            && self.spelled_grant(&address) == Some(true)
    }

    /// Returns whether a grant of the host names this very host; `None` if the host is not granted.
    fn spelled_grant(&self, host: &str) -> Option<bool> {
        let host = host.to_owned();
        let fits = |pattern: &&HostPattern| pattern.fit(&host).is_some();
        // A restriction leaves the host open, or a person was asked about it.
        let is_left_open = |restriction: &HostRules| {
            let reached = verdict_of(restriction, &host);
            !reached.has_match() || self.is_open(&reached, &host)
        };
        if !self.host_restrictions.iter().all(|patterns| patterns.iter().any(|it| fits(&it)))
            || !self.rule_restrictions.iter().all(is_left_open)
        {
            return None;
        }
        let reached = verdict_of(&self.rules, &host);
        let is_effective = self
            .effective
            .as_ref()
            .is_none_or(|effective| effective.hosts().any(|pattern| fits(&pattern)));
        let mut required = self.patterns().filter(fits).filter(|_| is_effective);
        let winner = reached.winner.map(|winner| winner.rule);
        let granting = winner.filter(|rule| self.grants(rule));
        let is_open = self.is_open(&reached, &host);
        let is_required = is_open && required.clone().next().is_some();
        if !is_required && granting.is_none() {
            return None;
        }
        // The rules about hosts may allow this very host, although a rule about the tool decides the call.
        let about_hosts = self.rules.iter().filter(|(_, rule)| is_about_hosts(rule));
        let about_hosts = about_hosts.map(|(exactness, rule)| (*exactness, &**rule));
        let host_winner = verdict(about_hosts, MatchSubject::Host(&host)).winner;
        let is_named = host_winner.is_some_and(|winner| self.spells(winner.rule, &host));
        let is_spelled = (is_required && required.any(|pattern| pattern.spells(&host)))
            || winner.is_some_and(|rule| self.spells(rule, &host))
            || (reached.action == RuleAction::Allow && is_named)
            || (self.was_approved && self.is_answered(&reached, &host));
        Some(is_spelled)
    }

    fn patterns(&self) -> impl Iterator<Item = &HostPattern> + Clone {
        self.required.iter().flat_map(Capabilities::hosts)
    }

    /// Returns whether a written rule allows this very host.
    fn spells(&self, rule: &CompiledRule, host: &str) -> bool {
        // A rule about a tool that runs commands speaks of commands, too, and so grants no hosts.
        let speaks_of_hosts = !self.rules_grant || is_about_hosts(rule);
        let allows = rule.rule.action == RuleAction::Allow && is_written(rule);
        speaks_of_hosts && allows && rule.pattern.spells_host(host)
    }

    /// Returns whether a person was asked about this very host, and said yes.
    fn is_answered(&self, verdict: &RuleVerdict<'_>, host: &str) -> bool {
        verdict.action == RuleAction::Ask
            && self.approved_hosts.iter().any(|answered| answered == host)
    }

    /// Returns whether rules leave a required host open. haft cannot ask a person while a command runs. If a rule asks about
    /// the host, the host is closed unless a person approved it before. If no rule matches, the requirement is enough.
    fn is_open(&self, verdict: &RuleVerdict<'_>, host: &str) -> bool {
        match verdict.action {
            RuleAction::Allow => true,
            RuleAction::Ask => verdict.winner.is_none() || self.is_answered(verdict, host),
            RuleAction::Deny => false,
        }
    }

    /// Returns whether the rule grants the hosts that it matches, required or not.
    fn grants(&self, rule: &CompiledRule) -> bool {
        self.rules_grant
            && is_written(rule)
            && is_about_hosts(rule)
            && rule.rule.action == RuleAction::Allow
    }
}

fn hosts_of(accesses: &[ResolvedAccess]) -> Vec<String> {
    let hosts = accesses.iter().filter_map(|access| match access {
        ResolvedAccess::Net { host } => Some(normal_host(host)),
        ResolvedAccess::Read { .. }
        | ResolvedAccess::Write { .. }
        | ResolvedAccess::Shell { .. }
        | ResolvedAccess::Named { .. } => None,
    });
    hosts.collect()
}

fn verdict_of<'r>(rules: &'r HostRules, host: &str) -> RuleVerdict<'r> {
    verdict(rules.iter().map(|(exactness, rule)| (*exactness, &**rule)), MatchSubject::Host(host))
}

/// Returns whether the manifest, the user, the project or the session wrote the rule. Other rules came with haft or an agent.
fn is_written(rule: &CompiledRule) -> bool {
    match rule.scope {
        RuleScope::Manifest | RuleScope::User | RuleScope::Project | RuleScope::Session => true,
        RuleScope::Preset | RuleScope::Builtin | RuleScope::Agent => false,
    }
}

fn is_about_hosts(rule: &CompiledRule) -> bool {
    matches!(rule.rule.permission.as_str(), CAPABILITY | "net.*")
}

/// Returns the rules that speak of hosts: by the capability, or by the tool where `also` agrees.
fn speaking(tool: &ToolId, rules: &RuleSet, also: impl Fn(&CompiledRule) -> bool) -> HostRules {
    let by_capability = |rule: &CompiledRule| rule.permission.names(CAPABILITY);
    let exactness = |rule: &Arc<CompiledRule>| {
        let exactness = rule.permission.exactness(tool, Some(CAPABILITY))?;
        (by_capability(rule) || also(rule)).then(|| (exactness, Arc::clone(rule)))
    };
    rules.iter().filter_map(exactness).collect()
}

/// Returns whether the host is an address, or a name that public name servers do not give out. A grant has to name it as what
/// it is before private, loopback and link-local addresses are connected to.
pub fn is_local_host(host: &str) -> bool {
    let is_in = |domain: &&str| host.strip_suffix(*domain).is_some_and(|rest| rest.ends_with('.'));
    host.parse::<IpAddr>().is_ok() || !host.contains('.') || LOCAL_DOMAINS.iter().any(is_in)
}
