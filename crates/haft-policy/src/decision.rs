//! The decision about a call, as data. `decide` makes it, and `explain` says it in words.

use haft_contract::ToolId;

use crate::access::ResolvedAccess;
use crate::rule::{Rule, RuleAction, RuleScope, ScopedRule};

/// The action for a call, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyDecision {
    /// The action.
    pub action: RuleAction,
    /// The reason.
    pub reason: DecisionReason,
    /// The change that would allow the call; `None` if it is allowed.
    pub remedy: Option<RuleRemedy>,
}

impl PolicyDecision {
    /// Returns whether a rule that a person wrote denies the access, and no preset. Only a change of that rule is advised then,
    /// although a nearer or more exact rule may outrank it.
    pub fn is_written_deny(&self) -> bool {
        let deciding = match &self.reason.basis {
            DecisionBasis::Rule(rule)
            | DecisionBasis::Fixed(rule)
            | DecisionBasis::MayContain(rule)
            | DecisionBasis::MayReach(rule) => Some(rule),
            DecisionBasis::NoRule => None,
        };
        self.action == RuleAction::Deny && deciding.is_some_and(|it| it.scope != RuleScope::Preset)
    }
}

/// The reason for a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionReason {
    /// The tool called.
    pub tool: ToolId,
    /// The access that decided; `None` for a call that touches nothing.
    pub access: Option<ResolvedAccess>,
    /// The basis of the decision.
    pub basis: DecisionBasis,
    /// The rule that would allow the access if its condition were met; `None` if it is allowed, or there is no such rule.
    pub inactive_rule: Option<ScopedRule>,
}

/// The basis of the decision about an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecisionBasis {
    /// A rule.
    Rule(ScopedRule),
    /// A deny of haft itself, of the manifest or of an agent, which no rule of project or session changes.
    Fixed(ScopedRule),
    /// A deny or ask that may match something in a command that is not known.
    MayContain(ScopedRule),
    /// A deny or ask that may match something beneath a directory all of which is reached.
    MayReach(ScopedRule),
    /// No rule matches, so haft asks a person.
    NoRule,
}

/// The change that would allow a refused call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleRemedy {
    /// This rule would allow the access, added for the session.
    Add(Rule),
    /// No rule for this access alone helps: this rule would have to change.
    Change(ScopedRule),
}
