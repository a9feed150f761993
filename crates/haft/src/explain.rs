//! What would become of a call, without executing it and without a trace in the journal: the same stages judge it that
//! judge calls, up to the point where somebody would be asked or something would run.

use haft_contract::Refusal;
use haft_policy::RuleAction;

/// What would become of a call, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallExplanation {
    /// The tool as it was called.
    pub tool: String,
    /// What rules say of each access; of a call that touches nothing, of the tool itself.
    pub accesses: Vec<AccessExplanation>,
    /// Why the call would be refused, if it would be before anybody is asked.
    pub refusal: Option<Refusal>,
    /// What would happen: the call executes, somebody is asked, or it is refused.
    pub outcome: RuleAction,
    /// Why somebody would be asked, one line each.
    pub reasons: Vec<String>,
}

/// What rules say of one access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessExplanation {
    /// The access.
    pub access: String,
    /// What would happen.
    pub action: RuleAction,
    /// Which rule decides, why, and what would change it.
    pub text: String,
}
