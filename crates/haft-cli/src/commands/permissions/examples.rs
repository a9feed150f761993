//! Checks one example of a rule. A rule compiles only if its examples hold, so this compiles the rule with that one example.

use haft_contract::PatternVariables;
use haft_policy::{Conditions, Rule, RuleScope, RuleSet};
use serde::Serialize;

/// The expected result of an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ExampleExpectation {
    Match,
    NotMatch,
}

/// The result of an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ExampleResult {
    Holds,
    Fails,
    /// The pattern has a variable that stands for nothing here, so that it matches nothing whatever the example.
    NothingToMatch,
}

/// Returns what an example of a rule shows; other examples of the rule do not matter.
pub(super) fn check_example(
    scope: RuleScope,
    rule: &Rule,
    (expected, example): (ExampleExpectation, &str),
    variables: &PatternVariables,
) -> ExampleResult {
    let holds = |expected: ExampleExpectation| {
        let mut rule = rule.clone();
        rule.match_examples.clear();
        rule.not_match_examples.clear();
        match expected {
            ExampleExpectation::Match => rule.match_examples.push(example.to_owned()),
            ExampleExpectation::NotMatch => rule.not_match_examples.push(example.to_owned()),
        }
        RuleSet::compile([(scope, rule)], variables, Conditions::default()).is_ok()
    };
    match (holds(ExampleExpectation::Match), holds(ExampleExpectation::NotMatch)) {
        (true, true) => ExampleResult::NothingToMatch,
        (matches, _) if matches == (expected == ExampleExpectation::Match) => ExampleResult::Holds,
        _ => ExampleResult::Fails,
    }
}
