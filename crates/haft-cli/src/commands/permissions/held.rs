//! Which rules about paths the kernel holds around processes, and why it cannot hold the others.

use haft_contract::PatternVariables;
use haft_policy::{Conditions, NotHeldReason, Rule, RuleErrors, RuleScope, RuleSet, held_rules};
use serde::Serialize;

/// A rule that denies paths, or asks about them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct PathRuleReport {
    /// The rule.
    pub(super) rule: String,
    /// Whether the kernel keeps the paths from every confined process.
    held_by_kernel: bool,
    /// Why it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<&'static str>,
}

/// Returns the rules that keep paths back.
pub(super) fn path_rules(
    rules: &[(RuleScope, Rule)],
    variables: &PatternVariables,
) -> Result<Vec<PathRuleReport>, RuleErrors> {
    let rules = RuleSet::compile(rules.iter().cloned(), variables, Conditions::default())?;
    let held = held_rules(&rules, &variables.workspace).into_iter();
    let report = held.map(|held| PathRuleReport {
        rule: held.rule.to_string(),
        held_by_kernel: held.not_held.is_none(),
        why: held.not_held.map(|why| match why {
            NotHeldReason::OneTool => {
                "it binds one tool; name the permission fs.read or fs.write to bind every process"
            }
            NotHeldReason::EveryCall => {
                "it is about every call; name the permission fs.read or fs.write to bind every process"
            }
            NotHeldReason::OutsideWorkspace => {
                "its pattern is about places outside the workspace, which are not searched; name the directory without *"
            }
        }),
    });
    Ok(report.collect())
}
