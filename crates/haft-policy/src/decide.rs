//! The decision about a call, and its basis. The runtime asks a person. If no person can be asked, the runtime treats ask
//! as deny. Watchdogs are the runtime's part, too.

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
    /// The accesses of the call. A call without accesses is judged by its tool alone.
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
    let is_final =
        |decision: &PolicyDecision| matches!(decision.remedy, Some(RuleRemedy::Change(_)));
    let rank = |decision: &PolicyDecision| (decision.action, is_final(decision));
    let mut decided = decide_own_rules(tool, access, rules);
    for restriction in &*rules.restrictions {
        let Some(other) = decide_restriction(tool, access, restriction) else { continue };
        // The stricter one counts; of two equally strict ones, the one that no added rule changes.
        let (mut strict, loose) =
            if rank(&other) > rank(&decided) { (other, decided) } else { (decided, other) };
        // The remedy for the one does not lift the other.
        if !is_final(&strict) && is_final(&loose) {
            strict.remedy = loose.remedy;
        }
        decided = strict;
    }
    decided
}

/// Returns the strictest action of the restrictions for an access; an allow if no restriction matches it.
pub fn decide_restrictions(
    tool: &ToolId,
    access: Option<&ResolvedAccess>,
    rules: &RuleSet,
) -> RuleAction {
    let above = rules.restrictions.iter().filter_map(|it| decide_restriction(tool, access, it));
    above.map(|decision| decision.action).max().unwrap_or(RuleAction::Allow)
}

/// Returns the decision of one restriction about an access, if a rule of it matches. No rule added to the own rules
/// changes that decision.
fn decide_restriction(
    tool: &ToolId,
    access: Option<&ResolvedAccess>,
    restriction: &RuleSet,
) -> Option<PolicyDecision> {
    let decision = decide_own_rules(tool, access, restriction);
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

/// Decides one access by the rules of a set alone, without its restrictions.
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
        let lapsed = rules.inactive.iter().filter_map(|rule| Some((speaking(rule)?, &**rule)));
        let otherwise = verdict(in_force().chain(lapsed), subject);
        let is_conditional = |winner: &RankedRule<'_>| winner.rule.rule.when.is_some();
        otherwise.winner.filter(|_| otherwise.action == RuleAction::Allow).filter(is_conditional)
    };
    let basis = match (reached.winner, reached.possible_match) {
        (Some(winner), _) if winner.rule.rule.action == reached.action => {
            let rule = winner.rule.into();
            if reached.is_fixed { DecisionBasis::Fixed(rule) } else { DecisionBasis::Rule(rule) }
        }
        (_, Some(holding)) => match subject {
            MatchSubject::Path(_) => DecisionBasis::MayReach(holding.rule.into()),
            MatchSubject::Command(_)
            | MatchSubject::Host(_)
            | MatchSubject::Name(_)
            | MatchSubject::Nothing => DecisionBasis::MayContain(holding.rule.into()),
        },
        (_, None) => DecisionBasis::NoRule,
    };
    PolicyDecision {
        action: reached.action,
        remedy: (!is_allowed).then(|| remedy(tool, access, &reached)),
        reason: DecisionReason {
            tool: tool.clone(),
            access: access.cloned(),
            basis,
            inactive_rule: (!is_allowed).then(lapsed).flatten().map(|winner| winner.rule.into()),
        },
    }
}

fn remedy(tool: &ToolId, access: Option<&ResolvedAccess>, verdict: &RuleVerdict<'_>) -> RuleRemedy {
    if let Some(pinned) = verdict.winner.filter(|_| verdict.is_fixed) {
        return RuleRemedy::Change(pinned.rule.into());
    }
    // Once a rule is written, the rules of the preset no longer count.
    if let Some(holding) = verdict.possible_match.filter(|holding| is_written(holding)) {
        return RuleRemedy::Change(holding.rule.into());
    }
    let subject = access.map_or(MatchSubject::Nothing, ResolvedAccess::subject);
    let pattern = allowing_pattern(subject);
    // The rules of a tool may be about something else, as those of bash are about commands. Then the rule must name the
    // capability.
    let permissions = [Some(tool.as_str()), access.map(ResolvedAccess::capability)];
    let narrow =
        permissions.into_iter().flatten().map(|name| Rule::new(name, &pattern, RuleAction::Allow));
    // The rule helps if it would decide this very access, added for the session.
    let helpful = narrow.into_iter().find(|rule| {
        let scope = RuleScope::Session;
        let session_rule = ScopedRule { scope, rule: rule.clone() };
        let Ok(compiled) = CompiledRule::compile(session_rule, &PatternVariables::default()) else {
            return false;
        };
        let exactness = compiled.permission.exactness(tool, access.map(ResolvedAccess::capability));
        let fit = compiled.pattern.fit(subject, MatchWidth::Narrow);
        let (Some(exactness), PatternFit::Yes(spelled_bytes)) = (exactness, fit) else {
            return false;
        };
        let rank = RuleRank { exactness, spelled_bytes, scope, action: RuleAction::Allow };
        verdict.winner.is_none_or(|winner| !is_written(&winner) || rank > winner.rank)
    });
    match (helpful, verdict.winner.filter(is_written)) {
        (Some(rule), _) => RuleRemedy::Add(rule),
        (None, Some(winner)) => RuleRemedy::Change(winner.rule.into()),
        // No written rule is in the way. If no pattern spells the access, the rule allows every call of the tool.
        (None, None) => RuleRemedy::Add(Rule::new(tool.as_str(), "*", RuleAction::Allow)),
    }
}

fn is_written(candidate: &RankedRule<'_>) -> bool {
    candidate.rule.scope != RuleScope::Preset
}

/// Returns the narrowest pattern that a rule can use to allow the access.
pub(crate) fn allowing_pattern(subject: MatchSubject<'_>) -> String {
    match subject {
        MatchSubject::Path(path) => escape_path(path.relative.as_ref().unwrap_or(&path.absolute)),
        MatchSubject::Command(CommandLine::Argv(argv)) => {
            let spelled = argv.iter().take_while(|argument| !argument.is_empty());
            let words: Vec<String> = spelled.map(|argument| escape(argument)).collect();
            let pattern = words.join(" ");
            match words.first() {
                None => "*".to_owned(),
                Some(program) if pattern.len() > SUGGESTION_BYTES_MAX => format!("{program} *"),
                // An empty argument cannot be spelled, so the pattern ends before it.
                Some(_) if words.len() < argv.len() => format!("{pattern} *"),
                Some(_) => pattern,
            }
        }
        MatchSubject::Command(CommandLine::Partial(_) | CommandLine::Unknown(_))
        | MatchSubject::Nothing => "*".to_owned(),
        MatchSubject::Host(host) => normal_host(host),
        MatchSubject::Name(name) => escape(name),
    }
}
