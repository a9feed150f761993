//! The decision about a call, and what it rests on. Asking someone, and treating ask as deny where nobody can be
//! asked, is the runtime's part; so are watchdogs.

use std::sync::Arc;

use haft_contract::{ToolId, Variables};

use crate::access::{Canonical, Subject};
use crate::explain::allowing_pattern;
use crate::pattern::{Fit, Reading};
use crate::rank::{Candidate, Rank, Verdict, verdict};
use crate::rule::{Action, Rule, RuleScope, ScopedRule};
use crate::rule_set::{CompiledRule, RuleSet};

#[cfg(test)]
mod tests;

/// A call that wants to happen.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The tool.
    pub tool: &'a ToolId,
    /// What it would touch. A call that touches nothing is judged on the tool alone.
    pub accesses: &'a [Canonical],
}

/// What shall happen, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What shall happen.
    pub action: Action,
    /// Why.
    pub because: Because,
    /// What would allow the call; `None` if it is allowed.
    pub remedy: Option<Remedy>,
}

/// What a decision rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Because {
    /// The tool called.
    pub tool: ToolId,
    /// The access that decided; `None` for a call that touches nothing.
    pub access: Option<Canonical>,
    /// What decided it.
    pub ground: Ground,
    /// The rule that would allow the access if its condition were met; `None` if it is allowed, or there is no such rule.
    pub lapsed: Option<ScopedRule>,
}

/// What decided an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ground {
    /// A rule.
    Rule(ScopedRule),
    /// A deny of haft itself, of the manifest or of an agent, which no rule of project or session changes.
    Pinned(ScopedRule),
    /// A deny or ask that may match something in a command that is not known.
    MayContain(ScopedRule),
    /// A deny or ask that may match something beneath a directory all of which is reached.
    MayReach(ScopedRule),
    /// No rule matches, so someone is asked.
    NoRule,
}

/// What would allow a call that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// This rule would allow the access, added for the session.
    Add(Rule),
    /// No rule for this access alone helps: this rule would have to change.
    Change(ScopedRule),
}

/// Decides a call: of what its accesses get, the strictest.
pub fn decide(question: &Question<'_>, rules: &RuleSet) -> Decision {
    let mut accesses = question.accesses.iter();
    let Some(first) = accesses.next() else { return judge(question.tool, None, rules) };
    let mut strictest = judge(question.tool, Some(first), rules);
    for access in accesses {
        let decision = judge(question.tool, Some(access), rules);
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
pub fn judge(tool: &ToolId, access: Option<&Canonical>, rules: &RuleSet) -> Decision {
    let own = judge_apart(tool, access, rules);
    let above = rules.ceilings().iter().filter_map(|it| judge_beneath(tool, access, it));
    above.fold(own, stricter)
}

/// Returns what the ceilings above the rules say of an access: an allow where none of them says anything else.
pub fn judge_ceilings(tool: &ToolId, access: Option<&Canonical>, rules: &RuleSet) -> Action {
    let above = rules.ceilings().iter().filter_map(|it| judge_beneath(tool, access, it));
    above.map(|decision| decision.action).max().unwrap_or(Action::Allow)
}

/// Returns what one ceiling says of an access, if it says anything. No rule that is added beneath it helps.
fn judge_beneath(tool: &ToolId, access: Option<&Canonical>, ceiling: &RuleSet) -> Option<Decision> {
    let decision = judge_apart(tool, access, ceiling);
    let rule = match &decision.because.ground {
        Ground::NoRule => return None,
        Ground::Rule(rule)
        | Ground::Pinned(rule)
        | Ground::MayContain(rule)
        | Ground::MayReach(rule) => rule.clone(),
    };
    let remedy = decision.remedy.is_some().then_some(Remedy::Change(rule));
    Some(Decision { remedy, ..decision })
}

/// Returns the stricter of two decisions; of two as strict, the one that no added rule changes.
fn stricter(one: Decision, other: Decision) -> Decision {
    let is_final = |decision: &Decision| matches!(decision.remedy, Some(Remedy::Change(_)));
    let rank = |decision: &Decision| (decision.action, is_final(decision));
    let (mut decided, loose) = if rank(&other) > rank(&one) { (other, one) } else { (one, other) };
    // What would lift the one does not lift the other.
    if !is_final(&decided) && is_final(&loose) {
        decided.remedy = loose.remedy;
    }
    decided
}

/// Decides one access by the rules of a set alone, without its ceilings.
fn judge_apart(tool: &ToolId, access: Option<&Canonical>, rules: &RuleSet) -> Decision {
    let capability = access.map(Canonical::capability);
    let subject = access.map_or(Subject::Nothing, Canonical::subject);
    let speaking = |rule: &'_ Arc<CompiledRule>| rule.permission.exactness(tool, capability);
    let in_force = || rules.iter().filter_map(|rule| Some((speaking(rule)?, &**rule)));
    let reached = verdict(in_force(), subject);
    let is_allowed = reached.action == Action::Allow;
    let lapsed = || {
        let lapsed = rules.lapsed().filter_map(|rule| Some((speaking(rule)?, &**rule)));
        let otherwise = verdict(in_force().chain(lapsed), subject);
        let is_conditional = |winner: &Candidate<'_>| winner.rule.rule.when.is_some();
        otherwise.winner.filter(|_| otherwise.action == Action::Allow).filter(is_conditional)
    };
    Decision {
        action: reached.action,
        remedy: (!is_allowed).then(|| remedy(tool, access, &reached)),
        because: Because {
            tool: tool.clone(),
            access: access.cloned(),
            ground: ground(&reached, subject),
            lapsed: (!is_allowed).then(lapsed).flatten().map(|winner| winner.rule.into()),
        },
    }
}

fn ground(verdict: &Verdict<'_>, subject: Subject<'_>) -> Ground {
    let decided_so = |winner: &Candidate<'_>| winner.rule.rule.action == verdict.action;
    match (verdict.winner.filter(decided_so), verdict.holding) {
        (Some(winner), _) if verdict.is_pinned => Ground::Pinned(winner.rule.into()),
        (Some(winner), _) => Ground::Rule(winner.rule.into()),
        (None, Some(holding)) => match subject {
            Subject::Path(_) => Ground::MayReach(holding.rule.into()),
            Subject::Command(_) | Subject::Host(_) | Subject::Name(_) | Subject::Nothing => {
                Ground::MayContain(holding.rule.into())
            }
        },
        (None, None) => Ground::NoRule,
    }
}

fn remedy(tool: &ToolId, access: Option<&Canonical>, verdict: &Verdict<'_>) -> Remedy {
    if let Some(pinned) = verdict.winner.filter(|_| verdict.is_pinned) {
        return Remedy::Change(pinned.rule.into());
    }
    // What a preset holds back goes free with the preset, once a rule is written.
    if let Some(holding) = verdict.holding.filter(|holding| is_written(holding)) {
        return Remedy::Change(holding.rule.into());
    }
    let pattern = allowing_pattern(access.map_or(Subject::Nothing, Canonical::subject));
    // A tool whose rules are about something else, as bash's are about commands, is helped by naming the capability.
    let permissions = [Some(tool.as_str()), access.map(Canonical::capability)];
    let narrow =
        permissions.into_iter().flatten().map(|name| Rule::new(name, &pattern, Action::Allow));
    let helpful = narrow.into_iter().find(|rule| would_win(rule, tool, access, verdict.winner));
    match (helpful, verdict.winner.filter(is_written)) {
        (Some(rule), _) => Remedy::Add(rule),
        (None, Some(winner)) => Remedy::Change(winner.rule.into()),
        // Nothing is in the way of a rule, and what cannot be spelled is allowed with all the tool does.
        (None, None) => Remedy::Add(Rule::new(tool.as_str(), "*", Action::Allow)),
    }
}

/// Returns whether the rule, added for the session, would decide this very access.
fn would_win(
    rule: &Rule,
    tool: &ToolId,
    access: Option<&Canonical>,
    winner: Option<Candidate<'_>>,
) -> bool {
    let scope = RuleScope::Session;
    let session_rule = ScopedRule { scope, rule: rule.clone() };
    let Ok(compiled) = CompiledRule::compile(session_rule, &Variables::default()) else {
        return false;
    };
    let exactness = compiled.permission.exactness(tool, access.map(Canonical::capability));
    let fit =
        compiled.pattern.fit(access.map_or(Subject::Nothing, Canonical::subject), Reading::Narrow);
    let (Some(exactness), Fit::Yes(spelled_bytes)) = (exactness, fit) else { return false };
    let rank = Rank { exactness, spelled_bytes, scope, action: Action::Allow };
    winner.is_none_or(|winner| !is_written(&winner) || rank > winner.rank)
}

fn is_written(candidate: &Candidate<'_>) -> bool {
    candidate.rule.scope != RuleScope::Preset
}
