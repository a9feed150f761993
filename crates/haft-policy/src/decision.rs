//! The decision about a call, as data. `decide` makes it, and `explain` says it in words.

use haft_contract::ToolId;

use crate::access::ResolvedAccess;
use crate::rule::{Rule, RuleAction, ScopedRule};

/// What shall happen, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyDecision {
    /// What shall happen.
    pub action: RuleAction,
    /// Why.
    pub reason: DecisionReason,
    /// What would allow the call; `None` if it is allowed.
    pub remedy: Option<RuleRemedy>,
}

/// What a decision rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionReason {
    /// The tool called.
    pub tool: ToolId,
    /// The access that decided; `None` for a call that touches nothing.
    pub access: Option<ResolvedAccess>,
    /// What decided it.
    pub basis: DecisionBasis,
    /// The rule that would allow the access if its condition were met; `None` if it is allowed, or there is no such rule.
    pub inactive_rule: Option<ScopedRule>,
}

/// What decided an access.
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
    /// No rule matches, so someone is asked.
    NoRule,
}

/// What would allow a call that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleRemedy {
    /// This rule would allow the access, added for the session.
    Add(Rule),
    /// No rule for this access alone helps: this rule would have to change.
    Change(ScopedRule),
}
