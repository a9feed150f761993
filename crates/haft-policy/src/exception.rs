//! Exceptions from what watchdogs ask: rules that a person wrote or answered, and that spell one access exactly. A rule
//! that allows more says nothing to a watchdog that the user added. Which watchdogs exist is not known here.

use haft_contract::{CommandLine, PatternVariables, ToolId};

use crate::access::ResolvedAccess;
use crate::decide::{PolicyRequest, allowing_pattern, decide, decide_access};
use crate::decision::DecisionBasis;
use crate::lasting::{AlwaysWidth, LASTING_RULES_MAX, exact, lasting_rules};
use crate::rule::{Conditions, Rule, RuleAction, RuleScope, ScopedRule};
use crate::rule_set::RuleSet;

#[cfg(test)]
mod tests;

/// Returns whether a rule of the user allows the access: of the manifest, the project or the session.
pub fn is_allowed_by_user(tool: &ToolId, access: &ResolvedAccess, rules: &RuleSet) -> bool {
    deciding_rule(tool, access, rules).is_some()
}

/// Returns whether the user allowed each access of the call that does more than read, by a rule that spells it exactly. Of a
/// call that only reads, each read counts.
pub fn has_exception(question: &PolicyRequest<'_>, rules: &RuleSet) -> bool {
    let mut accesses = questionable(question.accesses).peekable();
    accesses.peek().is_some() && accesses.all(|access| is_exact(question.tool, access, rules))
}

/// Returns the rules that would be such an exception for this call, and that answer what rules ask about it; none if there
/// are no such rules, or too many were needed.
pub fn exception_rules(
    question: &PolicyRequest<'_>,
    rules: &RuleSet,
    variables: &PatternVariables,
) -> Vec<Rule> {
    let mut added = Vec::new();
    let mut with_added = rules.clone();
    for access in questionable(question.accesses) {
        if is_exact(question.tool, access, &with_added) {
            continue;
        }
        let Some(pattern) = exact_pattern(access) else { return Vec::new() };
        let permissions = [question.tool.as_str(), access.capability()];
        let found = permissions.into_iter().find_map(|permission| {
            let rule = Rule::new(permission, &pattern, RuleAction::Allow);
            let session_rule = (RuleScope::Session, rule.clone());
            let with_rule =
                with_added.with_added([session_rule], variables, Conditions::default()).ok()?;
            is_exact(question.tool, access, &with_rule).then_some((rule, with_rule))
        });
        let Some((rule, with_rule)) = found else { return Vec::new() };
        added.push(rule);
        with_added = with_rule;
    }
    if decide(question, &with_added).action != RuleAction::Allow {
        let lasting = lasting_rules(question, &with_added, variables, AlwaysWidth::Narrow);
        if lasting.is_empty() {
            return Vec::new();
        }
        added.extend(lasting);
    }
    if added.len() > LASTING_RULES_MAX { Vec::new() } else { added }
}

/// Returns the accesses that an exception has to spell.
fn questionable(accesses: &[ResolvedAccess]) -> impl Iterator<Item = &ResolvedAccess> {
    let is_read = |access: &ResolvedAccess| matches!(access, ResolvedAccess::Read { .. });
    let only_reads = accesses.iter().all(is_read);
    accesses.iter().filter(move |access| only_reads || !is_read(access))
}

fn is_exact(tool: &ToolId, access: &ResolvedAccess, rules: &RuleSet) -> bool {
    let decided = deciding_rule(tool, access, rules);
    decided.is_some_and(|decided| Some(decided.rule.pattern) == exact_pattern(access))
}

/// Returns the rule of the user that allows the access.
fn deciding_rule(tool: &ToolId, access: &ResolvedAccess, rules: &RuleSet) -> Option<ScopedRule> {
    let decision = decide_access(tool, Some(access), rules);
    let is_of_user = |scope: RuleScope| match scope {
        RuleScope::Manifest | RuleScope::User | RuleScope::Project | RuleScope::Session => true,
        RuleScope::Preset | RuleScope::Builtin | RuleScope::Agent => false,
    };
    match decision.reason.basis {
        DecisionBasis::Rule(rule)
            if decision.action == RuleAction::Allow && is_of_user(rule.scope) =>
        {
            Some(rule)
        }
        DecisionBasis::Rule(_)
        | DecisionBasis::Fixed(_)
        | DecisionBasis::MayContain(_)
        | DecisionBasis::MayReach(_)
        | DecisionBasis::NoRule => None,
    }
}

/// Returns the pattern that spells this access; `None` for one that no pattern spells.
fn exact_pattern(access: &ResolvedAccess) -> Option<String> {
    match access {
        ResolvedAccess::Shell { command: CommandLine::Argv(argv) } => exact(argv),
        ResolvedAccess::Shell { command: CommandLine::Partial(_) | CommandLine::Unknown(_) } => {
            None
        }
        ResolvedAccess::Read { .. }
        | ResolvedAccess::Write { .. }
        | ResolvedAccess::Net { .. }
        | ResolvedAccess::Named { .. } => Some(allowing_pattern(access.subject())),
    }
}
