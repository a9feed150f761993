//! The decision about a call, and what it rests on. Asking someone, and treating ask as deny where nobody can be
//! asked, is the runtime's part; so are watchdogs.

use std::sync::Arc;

use haft_contract::{CommandLine, PatternVariables, ToolId};

use crate::access::{MatchSubject, ResolvedAccess};
use crate::decision::{DecisionBasis, DecisionReason, PolicyDecision, RuleRemedy};
use crate::pattern::{MatchWidth, PatternFit, escape, escape_path, normal_host};
use crate::rank::{RankedRule, RuleRank, RuleVerdict, verdict};
use crate::rule::{Rule, RuleAction, RuleScope, ScopedRule};
use crate::rule_set::{CompiledRule, RuleSet};

#[cfg(test)]
mod tests;

/// Longest pattern of a rule that haft proposes, in bytes.
///
/// Limit (calls): «always» is not offered.
pub(crate) const SUGGESTION_BYTES_MAX: usize = 200;

/// A call that wants to happen.
#[derive(Clone, Copy, Debug)]
pub struct PolicyRequest<'a> {
    /// The tool.
    pub tool: &'a ToolId,
    /// What it would touch. A call that touches nothing is judged on the tool alone.
    pub accesses: &'a [ResolvedAccess],
}

/// Decides a call: of what its accesses get, the strictest.
pub fn decide(question: &PolicyRequest<'_>, rules: &RuleSet) -> PolicyDecision {
    let mut accesses = question.accesses.iter();
    let Some(first) = accesses.next() else { return decide_access(question.tool, None, rules) };
    let mut strictest = decide_access(question.tool, Some(first), rules);
    for access in accesses {
        let decision = decide_access(question.tool, Some(access), rules);
        // The first of several as strict is named, so the answer does not depend on chance.
        if decision.action > strictest.action {
            strictest = decision;
        }
    }
    strictest
}

/// Decides one access of a call, or with `None` a call that touches nothing.
///
/// A host that has to ask uses it to list every access that needs an answer.
pub fn decide_access(
    tool: &ToolId,
    access: Option<&ResolvedAccess>,
    rules: &RuleSet,
) -> PolicyDecision {
    let own = decide_own_rules(tool, access, rules);
    let above = rules.restrictions().iter().filter_map(|it| decide_restriction(tool, access, it));
    above.fold(own, stricter)
}

/// Returns what the ceilings above the rules say of an access: an allow where none of them says anything else.
pub fn decide_restrictions(
    tool: &ToolId,
    access: Option<&ResolvedAccess>,
    rules: &RuleSet,
) -> RuleAction {
    let above = rules.restrictions().iter().filter_map(|it| decide_restriction(tool, access, it));
    above.map(|decision| decision.action).max().unwrap_or(RuleAction::Allow)
}

/// Returns what one ceiling says of an access, if it says anything. No rule that is added beneath it helps.
fn decide_restriction(
    tool: &ToolId,
    access: Option<&ResolvedAccess>,
    ceiling: &RuleSet,
) -> Option<PolicyDecision> {
    let decision = decide_own_rules(tool, access, ceiling);
    let rule = match &decision.reason.basis {
        DecisionBasis::NoRule => return None,
        DecisionBasis::Rule(rule)
        | DecisionBasis::Fixed(rule)
        | DecisionBasis::MayContain(rule)
        | DecisionBasis::MayReach(rule) => rule.clone(),
    };
    let remedy = decision.remedy.is_some().then_some(RuleRemedy::Change(rule));
    Some(PolicyDecision { remedy, ..decision })
}

/// Returns the stricter of two decisions; of two as strict, the one that no added rule changes.
fn stricter(one: PolicyDecision, other: PolicyDecision) -> PolicyDecision {
    let is_final =
        |decision: &PolicyDecision| matches!(decision.remedy, Some(RuleRemedy::Change(_)));
    let rank = |decision: &PolicyDecision| (decision.action, is_final(decision));
    let (mut decided, loose) = if rank(&other) > rank(&one) { (other, one) } else { (one, other) };
    // What would lift the one does not lift the other.
    if !is_final(&decided) && is_final(&loose) {
        decided.remedy = loose.remedy;
    }
    decided
}

/// Decides one access by the rules of a set alone, without its ceilings.
fn decide_own_rules(
    tool: &ToolId,
    access: Option<&ResolvedAccess>,
    rules: &RuleSet,
) -> PolicyDecision {
    let capability = access.map(ResolvedAccess::capability);
    let subject = access.map_or(MatchSubject::Nothing, ResolvedAccess::subject);
    let speaking = |rule: &'_ Arc<CompiledRule>| rule.permission.exactness(tool, capability);
    let in_force = || rules.iter().filter_map(|rule| Some((speaking(rule)?, &**rule)));
    let reached = verdict(in_force(), subject);
    let is_allowed = reached.action == RuleAction::Allow;
    let lapsed = || {
        let lapsed = rules.inactive_rules().filter_map(|rule| Some((speaking(rule)?, &**rule)));
        let otherwise = verdict(in_force().chain(lapsed), subject);
        let is_conditional = |winner: &RankedRule<'_>| winner.rule.rule.when.is_some();
        otherwise.winner.filter(|_| otherwise.action == RuleAction::Allow).filter(is_conditional)
    };
    PolicyDecision {
        action: reached.action,
        remedy: (!is_allowed).then(|| remedy(tool, access, &reached)),
        reason: DecisionReason {
            tool: tool.clone(),
            access: access.cloned(),
            basis: ground(&reached, subject),
            inactive_rule: (!is_allowed).then(lapsed).flatten().map(|winner| winner.rule.into()),
        },
    }
}

fn ground(verdict: &RuleVerdict<'_>, subject: MatchSubject<'_>) -> DecisionBasis {
    let decided_so = |winner: &RankedRule<'_>| winner.rule.rule.action == verdict.action;
    match (verdict.winner.filter(decided_so), verdict.possible_match) {
        (Some(winner), _) if verdict.is_fixed => DecisionBasis::Fixed(winner.rule.into()),
        (Some(winner), _) => DecisionBasis::Rule(winner.rule.into()),
        (None, Some(holding)) => match subject {
            MatchSubject::Path(_) => DecisionBasis::MayReach(holding.rule.into()),
            MatchSubject::Command(_)
            | MatchSubject::Host(_)
            | MatchSubject::Name(_)
            | MatchSubject::Nothing => DecisionBasis::MayContain(holding.rule.into()),
        },
        (None, None) => DecisionBasis::NoRule,
    }
}

fn remedy(tool: &ToolId, access: Option<&ResolvedAccess>, verdict: &RuleVerdict<'_>) -> RuleRemedy {
    if let Some(pinned) = verdict.winner.filter(|_| verdict.is_fixed) {
        return RuleRemedy::Change(pinned.rule.into());
    }
    // What a preset holds back goes free with the preset, once a rule is written.
    if let Some(holding) = verdict.possible_match.filter(|holding| is_written(holding)) {
        return RuleRemedy::Change(holding.rule.into());
    }
    let pattern = allowing_pattern(access.map_or(MatchSubject::Nothing, ResolvedAccess::subject));
    // A tool whose rules are about something else, as bash's are about commands, is helped by naming the capability.
    let permissions = [Some(tool.as_str()), access.map(ResolvedAccess::capability)];
    let narrow =
        permissions.into_iter().flatten().map(|name| Rule::new(name, &pattern, RuleAction::Allow));
    let helpful = narrow.into_iter().find(|rule| would_win(rule, tool, access, verdict.winner));
    match (helpful, verdict.winner.filter(is_written)) {
        (Some(rule), _) => RuleRemedy::Add(rule),
        (None, Some(winner)) => RuleRemedy::Change(winner.rule.into()),
        // Nothing is in the way of a rule, and what cannot be spelled is allowed with all the tool does.
        (None, None) => RuleRemedy::Add(Rule::new(tool.as_str(), "*", RuleAction::Allow)),
    }
}

/// Returns whether the rule, added for the session, would decide this very access.
fn would_win(
    rule: &Rule,
    tool: &ToolId,
    access: Option<&ResolvedAccess>,
    winner: Option<RankedRule<'_>>,
) -> bool {
    let scope = RuleScope::Session;
    let session_rule = ScopedRule { scope, rule: rule.clone() };
    let Ok(compiled) = CompiledRule::compile(session_rule, &PatternVariables::default()) else {
        return false;
    };
    let exactness = compiled.permission.exactness(tool, access.map(ResolvedAccess::capability));
    let fit = compiled
        .pattern
        .fit(access.map_or(MatchSubject::Nothing, ResolvedAccess::subject), MatchWidth::Narrow);
    let (Some(exactness), PatternFit::Yes(spelled_bytes)) = (exactness, fit) else { return false };
    let rank = RuleRank { exactness, spelled_bytes, scope, action: RuleAction::Allow };
    winner.is_none_or(|winner| !is_written(&winner) || rank > winner.rank)
}

fn is_written(candidate: &RankedRule<'_>) -> bool {
    candidate.rule.scope != RuleScope::Preset
}

/// Returns the narrowest pattern that a rule can use to allow the access.
pub(crate) fn allowing_pattern(subject: MatchSubject<'_>) -> String {
    match subject {
        MatchSubject::Path(path) => escape_path(path.relative.as_ref().unwrap_or(&path.absolute)),
        MatchSubject::Command(CommandLine::Argv(argv)) => allowing_command(argv),
        MatchSubject::Command(CommandLine::Unknown(_)) | MatchSubject::Nothing => "*".to_owned(),
        MatchSubject::Host(host) => normal_host(host),
        MatchSubject::Name(name) => escape(name),
    }
}

fn allowing_command(argv: &[String]) -> String {
    let spelled = argv.iter().take_while(|argument| !argument.is_empty());
    let words: Vec<String> = spelled.map(|argument| escape(argument)).collect();
    let pattern = words.join(" ");
    match words.first() {
        None => "*".to_owned(),
        Some(program) if pattern.len() > SUGGESTION_BYTES_MAX => format!("{program} *"),
        // An empty argument cannot be spelled; whatever stands from there on is left open.
        Some(_) if words.len() < argv.len() => format!("{pattern} *"),
        Some(_) => pattern,
    }
}
