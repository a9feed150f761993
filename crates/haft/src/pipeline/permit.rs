//! Permission rules, and the network guard in front of commands.

use haft_contract::ErrorCode;
use haft_policy::{
    Action, Canonical, Ground, HostScope, NetworkRefusal, Question, RuleSet, decide, judge,
};

use super::capable::Capable;
use super::refusal::Stop;
use crate::ask::ASK_LINES_MAX;
use crate::run::RunState;

/// A call that rules allow, or about which they want a person asked.
pub(super) struct Permitted {
    capable: Capable,
    reasons: Vec<String>,
}

pub(super) fn permit(capable: Capable, run: &RunState) -> Result<Permitted, Stop> {
    let rules = run.session.rules();
    let reasons = match reasons_to_ask(&capable, &rules) {
        Ok(reasons) => reasons,
        Err(denied) => return Err(capable.refuse(ErrorCode::PermissionDenied, denied)),
    };
    if let Some(refusal) = guarded(&capable, &rules, run) {
        return Err(capable.refuse(refusal.code, refusal.message));
    }
    Ok(Permitted { capable, reasons })
}

/// Returns why rules want a person asked, one line for each access, and nothing where they allow the call; or why they
/// deny it.
pub(super) fn reasons_to_ask(capable: &Capable, rules: &RuleSet) -> Result<Vec<String>, String> {
    let (tool, accesses) = (&capable.valid().contract().id, capable.accesses());
    let decision = decide(&Question { tool, accesses }, rules);
    match decision.action {
        Action::Allow => Ok(Vec::new()),
        Action::Deny => Err(decision.explain()),
        // Nobody is asked about the session's own outputs, unless a rule says so.
        Action::Ask if capable.only_own_outputs() && decision.because.ground == Ground::NoRule => {
            Ok(Vec::new())
        }
        Action::Ask if accesses.is_empty() => Ok(vec![decision.explain()]),
        Action::Ask => {
            let judged = accesses.iter().map(|access| judge(tool, Some(access), rules));
            let asking = judged.filter(|judged| judged.action == Action::Ask);
            Ok(at_most(ASK_LINES_MAX, asking.map(|judged| judged.explain())))
        }
    }
}

/// Returns the hosts that the call may reach, as far as the rules go.
pub(super) fn hosts(capable: &Capable, rules: &RuleSet, run: &RunState) -> HostScope {
    let contract = capable.valid().contract();
    let (tool, own, shared) = (&contract.id, capable.capabilities(), &run.session.shared);
    if contract.requires.shell.is_empty() {
        HostScope::of_tool(tool, own, &capable.valid().offer().effective, rules)
    } else {
        // A command that knows its hosts gets a way to these alone: it may follow what they tell it to go to.
        HostScope::of_commands(tool, own, &shared.agent, rules).wanted_by(capable.accesses())
    }
}

/// Returns the distinct lines, and how many more there would be.
pub(super) fn at_most(count: usize, lines: impl Iterator<Item = String>) -> Vec<String> {
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

/// Returns why the network guard refuses a command, if it does. Where hosts are granted, or the network is, commands may
/// well use it.
fn guarded(capable: &Capable, rules: &RuleSet, run: &RunState) -> Option<NetworkRefusal> {
    let parts = &run.session.shared.parts;
    let refusal = capable.accesses().iter().find_map(|access| match access {
        Canonical::Shell { command } => parts.network_guard.check(command),
        Canonical::Read { .. }
        | Canonical::Write { .. }
        | Canonical::Net { .. }
        | Canonical::Named { .. } => None,
    })?;
    let hosts = hosts(capable, rules, run);
    let has_network = parts.allow_network && hosts.is_unbounded();
    let is_offline = !has_network && hosts.is_empty();
    is_offline.then_some(refusal)
}

impl Permitted {
    /// Returns the call and why rules want a person asked, if they do.
    pub(super) fn into_parts(self) -> (Capable, Vec<String>) {
        (self.capable, self.reasons)
    }
}
