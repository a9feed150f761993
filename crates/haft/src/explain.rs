//! Explains the decision about a call, without executing it and without a row in the journal. The same stages judge it
//! as judge real calls. They stop before a person is asked or a tool runs.

use haft_contract::Refusal;
use haft_policy::RuleAction;

/// The decision about a call, and the reasons for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallExplanation {
    /// The tool as it was called.
    pub tool: String,
    /// The paths that the input names, as they are spelled there.
    pub paths: Vec<String>,
    /// The decision of rules about each access, or about the tool if the call has no accesses.
    pub accesses: Vec<AccessExplanation>,
    /// The refusal, if a stage refuses the call before a person would be asked.
    pub refusal: Option<Refusal>,
    /// The decision: the call executes, a person is asked, or the call is refused.
    pub outcome: RuleAction,
    /// The reasons to ask a person, one line each.
    pub reasons: Vec<String>,
}

/// The decision of rules about one access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessExplanation {
    /// The access.
    pub access: String,
    /// The decision.
    pub action: RuleAction,
    /// Which rule decides, why, and what would change it.
    pub text: String,
}
