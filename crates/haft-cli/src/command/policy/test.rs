//! `haft policy test`: the examples that rules carry, one by one. When a manifest is used they are checked, too, but then
//! the first look at a mistake is an error; here it is a list.

use haft_contract::Variables;
use haft_policy::{Rule, RuleScope};
use serde::Serialize;

use super::examples::{Expected, Found, found};
use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::manifest::Examples;
use crate::state::State;
use crate::{compose, output, settings};

#[derive(Serialize)]
struct Tested {
    scope: RuleScope,
    rule: String,
    example: String,
    expected: Expected,
    found: Found,
}

#[derive(Serialize)]
struct Answer {
    examples: Vec<Tested>,
    failed: usize,
}

/// Runs the command.
pub(super) fn run(setting_args: &SettingArgs, state: &State) -> Result<Status, CommandError> {
    let settings = settings::resolve_with(setting_args, state, Examples::Left)?;
    let manifest = settings::find_manifest(setting_args)?;
    let manifest = manifest.map(|file| file.parse_with(Examples::Left)).transpose()?;
    // All of the manifest's, trusted or not: its author wants to know.
    let of_manifest = manifest.unwrap_or_default().permissions;
    let of_others = settings.rules.iter().filter(|(scope, _)| *scope != RuleScope::Manifest);
    let rules =
        of_others.cloned().chain(of_manifest.into_iter().map(|rule| (RuleScope::Manifest, rule)));
    let variables = compose::variables(&compose::roots(&settings)?);
    let examples: Vec<Tested> =
        rules.flat_map(|(scope, rule)| examples_of(scope, &rule, &variables)).collect();
    let failed = examples.iter().filter(|example| example.found == Found::Fails).count();
    let answer = Answer { examples, failed };
    if setting_args.json {
        output::json(&answer)?;
    } else {
        output::data(&output::visible(&text(&answer)))?;
    }
    Ok(if failed == 0 { Status::Done } else { Status::Failed })
}

fn examples_of(scope: RuleScope, rule: &Rule, variables: &Variables) -> Vec<Tested> {
    let with = |expected: Expected| {
        let examples = match expected {
            Expected::Match => &rule.match_examples,
            Expected::NotMatch => &rule.not_match_examples,
        };
        examples.iter().map(move |example| (expected, example))
    };
    let tested = |(expected, example): (Expected, &String)| Tested {
        scope,
        rule: rule.to_string(),
        example: example.clone(),
        expected,
        found: found(scope, rule, (expected, example), variables),
    };
    with(Expected::Match).chain(with(Expected::NotMatch)).map(tested).collect()
}

fn text(answer: &Answer) -> String {
    let mut text = String::new();
    for examples in
        answer.examples.chunk_by(|one, other| (one.scope, &one.rule) == (other.scope, &other.rule))
    {
        let Some(first) = examples.first() else { continue };
        text.push_str(&format!("{} rule `{}`\n", first.scope, first.rule));
        for tested in examples {
            let found = match tested.found {
                Found::Holds => "ok  ",
                Found::Fails => "FAIL",
                Found::NothingToMatch => "-   ",
            };
            let verb = match tested.expected {
                Expected::Match => "matches",
                Expected::NotMatch => "does not match",
            };
            text.push_str(&format!("  {found}  {verb:<14}  {}\n", tested.example));
        }
    }
    let separator = if text.is_empty() { "" } else { "\n" };
    let count = answer.examples.len();
    let noun = if count == 1 { "example" } else { "examples" };
    text.push_str(&format!("{separator}{count} {noun}, {} failed\n", answer.failed));
    text
}
