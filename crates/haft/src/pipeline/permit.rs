//! Applies permission rules, and the network guard in front of commands.

use std::net::IpAddr;

use haft_contract::{
    ErrorCode, Refusal, RefusalGrounds, RefusalSource, Remedy, ToolId, ToolOrigin,
};
use haft_policy::{
    DecisionBasis, HostScope, NetworkRefusal, PolicyDecision, PolicyRequest, ResolvedAccess, Rule,
    RuleAction, RuleScope, RuleSet, decide, decide_access, is_tool_named,
};

use super::call_state::CallState;
use super::capable::Judged;
use super::refusal::PipelineStop;
use crate::ask::ASK_LINES_MAX;
use crate::connection_state::ConnectionState;
use crate::shared::RuntimeShared;

/// Evidence that no rule denies the call, and the reasons why rules want a person asked.
pub(super) struct RulePermission {
    /// The reasons, one line for each access. Empty if rules allow the call, and name its tool if that is dangerous.
    pub(super) reasons: Vec<String>,
}

/// Applies the rules and the network guard. Refuses a call that a rule denies, and a command that needs the network
/// without having it.
pub(super) fn permit(
    state: CallState,
    judged: Judged,
    connection: &ConnectionState,
) -> Result<(CallState, Judged, RulePermission), PipelineStop> {
    let rules = connection.rules();
    let reasons = match reasons_to_ask(&state, &judged, &rules, connection, ReasonReader::Person) {
        Ok(reasons) => reasons,
        Err(denied) => return Err(judged.refuse_as(state, *denied)),
    };
    let shared = &connection.shared;
    let guard = shared.network_guard();
    let guarded = judged.accesses().iter().find_map(|access| match access {
        ResolvedAccess::Shell { command } => guard.check(command),
        ResolvedAccess::Read { .. }
        | ResolvedAccess::Write { .. }
        | ResolvedAccess::Net { .. }
        | ResolvedAccess::Named { .. } => None,
    });
    if let Some(NetworkRefusal { code, message, host }) = guarded
        && !has_network(&state, &judged, &rules, shared)
    {
        let mut grounds = RefusalGrounds::new(RefusalSource::NetworkGuard);
        grounds.remedies.extend(host.map(Remedy::AllowHost));
        return Err(judged.refuse_as(state, grounds.into_refusal(code, message)));
    }
    Ok((state, judged, RulePermission { reasons }))
}

/// The reader of the reasons to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReasonReader {
    /// A person, who gets all that a decision rests on.
    Person,
    /// The model whose call is refused, because no person can be asked.
    Model,
}

/// Returns why rules want a person asked, one line for each access. Returns no lines if rules allow the call, and an
/// error if they deny it. A model gets short reasons.
pub(super) fn reasons_to_ask(
    state: &CallState,
    judged: &Judged,
    rules: &RuleSet,
    connection: &ConnectionState,
    reader: ReasonReader,
) -> Result<Vec<String>, Box<Refusal>> {
    let (tool, accesses) = (&judged.contract().id, judged.accesses());
    let decision = decide(&PolicyRequest { tool, accesses }, rules);
    let explain = |decision: &PolicyDecision, reader: ReasonReader| match reader {
        ReasonReader::Model if connection.model_view.is_some() => {
            let mut decision = decision.clone();
            if let Ok(published) = ToolId::parse(&connection.published_name(tool)) {
                decision.reason.tool = published;
            }
            decision.explain_briefly()
        }
        ReasonReader::Model | ReasonReader::Person => decision.explain(),
    };
    let mut reasons = match decision.action {
        RuleAction::Allow => Vec::new(),
        RuleAction::Deny => {
            let mut grounds = decision.grounds();
            // A denial of a person is lifted by changing the rule, and not by a rule that outranks it.
            if !decision.is_written_deny() {
                grounds.remedies.extend(allowing_remedies(judged, rules, connection));
            }
            let because = explain(&decision, ReasonReader::Model);
            let refusal = grounds.into_refusal(ErrorCode::PermissionDenied, because);
            return Err(Box::new(refusal));
        }
        // The session's own outputs need no answer from a person, unless a rule says so.
        RuleAction::Ask
            if judged.only_own_outputs() && decision.reason.basis == DecisionBasis::NoRule =>
        {
            Vec::new()
        }
        RuleAction::Ask if accesses.is_empty() => vec![explain(&decision, reader)],
        RuleAction::Ask => {
            let judged = accesses.iter().map(|access| decide_access(tool, Some(access), rules));
            let asking = judged.filter(|judged| judged.action == RuleAction::Ask);
            distinct_lines(ASK_LINES_MAX, asking.map(|judged| explain(&judged, reader)))
        }
    };
    // An ask of the rules names the tool, too.
    if reasons.is_empty() && is_unnamed_danger(state, judged, rules) {
        let name = match reader {
            ReasonReader::Model => connection.published_name(tool),
            ReasonReader::Person => tool.to_string(),
        };
        reasons.push(format!("{name} is dangerous, and no rule that names it allows it"));
    }
    Ok(reasons)
}

/// The built-in tools whose name says no more than a rule about the capability: they change files or run a command line, and
/// nothing else. A rule on `fs.write` or `shell.run` names them, also one of a preset.
const FILE_AND_SHELL_TOOLS: [&str; 4] = ["apply_patch", "bash", "edit", "write"];

/// Returns whether the tool of a call is dangerous and the user did not name it.
pub(super) fn is_unnamed_danger(state: &CallState, judged: &Judged, rules: &RuleSet) -> bool {
    let contract = judged.contract();
    contract.dangerous && !state.call().is_tool_named && !is_named(judged, rules)
}

fn is_named(judged: &Judged, rules: &RuleSet) -> bool {
    let contract = judged.contract();
    let is_of_files = contract.origin == ToolOrigin::Native
        && FILE_AND_SHELL_TOOLS.contains(&contract.id.as_str());
    let (tool, accesses) = (&contract.id, judged.accesses());
    is_of_files || is_tool_named(&PolicyRequest { tool, accesses }, rules)
}

/// Returns the narrower names that the caller can use instead of an access to everything.
pub(super) fn naming_remedies(judged: &Judged, rules: &RuleSet) -> impl Iterator<Item = Remedy> {
    let tool = &judged.contract().id;
    let decisions = judged.accesses().iter().map(|access| decide_access(tool, Some(access), rules));
    decisions.flat_map(|decision| decision.grounds().remedies)
}

/// Returns what a user can allow for this session so that rules allow the call: its hosts, or else the whole tool.
pub(super) fn allowing_remedies(
    judged: &Judged,
    rules: &RuleSet,
    connection: &ConnectionState,
) -> Vec<Remedy> {
    let shared = &connection.shared;
    let tool = &judged.contract().id;
    let suffices = |allowed: Vec<Rule>| {
        let allowed = allowed.into_iter().map(|rule| (RuleScope::Session, rule));
        let with_them = rules.with_added(allowed, &shared.parts.variables, shared.conditions());
        with_them.is_ok_and(|rules| {
            decide(&PolicyRequest { tool, accesses: judged.accesses() }, &rules).action
                == RuleAction::Allow
                && (!judged.contract().dangerous || is_named(judged, &rules))
        })
    };
    let hosts: Vec<String> = judged.accesses().iter().filter_map(named_host).cloned().collect();
    if reaches_link(judged) {
        return Vec::new();
    }
    let of_hosts = hosts.iter().map(|host| Rule::new("net.fetch", host, RuleAction::Allow));
    if !hosts.is_empty() && suffices(of_hosts.collect()) {
        return hosts.into_iter().map(Remedy::AllowHost).collect();
    }
    let of_tool = suffices(vec![Rule::new(tool.as_str(), "*", RuleAction::Allow)]);
    of_tool.then(|| Remedy::AllowTool(tool.clone())).into_iter().collect()
}

/// Returns whether a call reaches an address of this link alone. Clouds serve credentials there, so haft proposes no rule that
/// allows it.
pub(super) fn reaches_link(judged: &Judged) -> bool {
    judged.accesses().iter().filter_map(named_host).any(|host| is_link_local(host))
}

fn is_link_local(host: &str) -> bool {
    match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => address.is_link_local(),
        Ok(IpAddr::V6(address)) => address.is_unicast_link_local(),
        Err(_) => false,
    }
}

/// Returns the host that an access is about, if it is about one.
pub(super) fn named_host(access: &ResolvedAccess) -> Option<&String> {
    match access {
        ResolvedAccess::Net { host } => Some(host),
        ResolvedAccess::Read { .. }
        | ResolvedAccess::Write { .. }
        | ResolvedAccess::Shell { .. }
        | ResolvedAccess::Named { .. } => None,
    }
}

/// Returns whether hosts or the whole network are granted to the commands of the call.
pub(super) fn has_network(
    state: &CallState,
    judged: &Judged,
    rules: &RuleSet,
    shared: &RuntimeShared,
) -> bool {
    let hosts = reachable_hosts(state, judged, rules, shared);
    !hosts.is_empty() || (shared.parts.allow_network && hosts.is_unrestricted())
}

/// Returns the hosts that the rules let the call reach.
pub(super) fn reachable_hosts(
    state: &CallState,
    judged: &Judged,
    rules: &RuleSet,
    shared: &RuntimeShared,
) -> HostScope {
    let contract = judged.contract();
    let (tool, own) = (&contract.id, judged.capabilities());
    if contract.requires.shell.is_empty() {
        HostScope::of_tool(tool, own, &state.catalog().effective, rules)
    } else {
        // A command that declares its hosts can reach only these hosts, because their answers may send it elsewhere.
        HostScope::of_commands(tool, own, &shared.agent_capabilities, rules)
            .limited_to_declared(judged.accesses())
    }
}

/// Returns the distinct lines, at most `count`, and then a line with the number of further ones.
pub(super) fn distinct_lines(count: usize, lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut shown: Vec<String> = Vec::new();
    let mut hidden = 0_usize;
    for line in lines {
        if shown.contains(&line) {
            continue;
        }
        if shown.len() < count {
            shown.push(line);
        } else {
            hidden += 1;
        }
    }
    if hidden > 0 {
        shown.push(format!("and {hidden} more"));
    }
    shown
}
