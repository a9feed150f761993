//! Which of the rules that match an access decides. The order is total, so the order in which rules are given never
//! matters: exactness of the permission, bytes that the pattern spells out, scope, strictness.

use crate::access::MatchSubject;
use crate::pattern::PatternFit;
use crate::rule::{Exactness, RuleAction, RuleScope};
use crate::rule_set::CompiledRule;

/// How strong a rule is for one access. The fields are compared in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RuleRank {
    pub(crate) exactness: Exactness,
    pub(crate) spelled_bytes: usize,
    pub(crate) scope: RuleScope,
    pub(crate) action: RuleAction,
}

/// A rule that matches an access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RankedRule<'r> {
    pub(crate) rank: RuleRank,
    pub(crate) rule: &'r CompiledRule,
}

/// The answer of the rules to one access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuleVerdict<'r> {
    pub(crate) action: RuleAction,
    /// The rule that decides; none matches where this is empty, and then the action is ask.
    pub(crate) winner: Option<RankedRule<'r>>,
    /// The winner is a deny of haft itself, of the manifest or of an agent, which no other rule can change.
    pub(crate) is_fixed: bool,
    /// A deny or ask that may match something in a command that is not known, or beneath a directory all of which is
    /// reached, and so forbids to allow it.
    pub(crate) possible_match: Option<RankedRule<'r>>,
}

impl RuleVerdict<'_> {
    /// Returns whether any rule says something.
    pub(crate) fn has_match(&self) -> bool {
        self.winner.is_some() || self.possible_match.is_some()
    }

    /// Returns whether the same rule decides here and there, or no rule in either.
    pub(crate) fn is_same_rule(&self, other: &RuleVerdict<'_>) -> bool {
        match (self.winner, other.winner) {
            (Some(one), Some(other)) => std::ptr::eq(one.rule, other.rule),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

/// The strongest rules met so far, one for each part that they can play.
#[derive(Clone, Copy, Default)]
struct StrongestRules<'r> {
    winner: Option<RankedRule<'r>>,
    holding: Option<RankedRule<'r>>,
}

/// Weighs the rules that speak of a call for one of its accesses.
pub(crate) fn verdict<'r>(
    rules: impl Iterator<Item = (Exactness, &'r CompiledRule)>,
    subject: MatchSubject<'_>,
) -> RuleVerdict<'r> {
    let [mut written, mut manifest, mut builtin, mut preset] = [StrongestRules::default(); 4];
    for (exactness, rule) in rules {
        let fit = rule.pattern.fit(subject, rule.reading());
        let candidate = |spelled_bytes| RankedRule {
            rank: RuleRank {
                exactness,
                spelled_bytes,
                scope: rule.scope,
                action: rule.rule.action,
            },
            rule,
        };
        match rule.scope {
            RuleScope::Preset => preset.add(fit, candidate),
            RuleScope::Builtin => {
                builtin.add(fit, candidate);
                written.add(fit, candidate);
            }
            RuleScope::Manifest | RuleScope::Agent => {
                manifest.add(fit, candidate);
                written.add(fit, candidate);
            }
            RuleScope::User | RuleScope::Project | RuleScope::Session => {
                written.add(fit, candidate)
            }
        }
    }
    let denies = |candidate: &RankedRule<'_>| candidate.rule.rule.action == RuleAction::Deny;
    // The manifest may make exceptions to its own denies, and none to haft's.
    let pinned = [builtin, manifest].into_iter().find_map(|layer| layer.winner.filter(denies));
    if let Some(pinned) = pinned {
        return RuleVerdict {
            action: RuleAction::Deny,
            winner: Some(pinned),
            is_fixed: true,
            possible_match: None,
        };
    }
    if written.winner.is_none() {
        // A preset fills what is left open; it never competes with a rule that someone wrote.
        written = StrongestRules { holding: written.holding.or(preset.holding), ..preset };
    }
    let action = written.winner.map_or(RuleAction::Ask, |winner| winner.rule.rule.action);
    let action = if written.holding.is_some() { action.max(RuleAction::Ask) } else { action };
    RuleVerdict { action, winner: written.winner, is_fixed: false, possible_match: written.holding }
}

impl<'r> StrongestRules<'r> {
    fn add(&mut self, fit: PatternFit, candidate: impl FnOnce(usize) -> RankedRule<'r>) {
        match fit {
            PatternFit::No => {}
            PatternFit::Possible => self.holding = stronger(self.holding, Some(candidate(0))),
            PatternFit::Yes(spelled_bytes) => {
                self.winner = stronger(self.winner, Some(candidate(spelled_bytes)));
            }
        }
    }
}

fn stronger<'r>(
    one: Option<RankedRule<'r>>,
    other: Option<RankedRule<'r>>,
) -> Option<RankedRule<'r>> {
    // Rules equal in rank do the same; comparing the rules themselves only settles which of them is named.
    one.into_iter().chain(other).max_by(|one, other| {
        one.rank.cmp(&other.rank).then_with(|| one.rule.rule.cmp(&other.rule.rule))
    })
}
