//! `haft policy test`: checks the examples of all rules, one by one. Reading a manifest checks them too, but stops with an
//! error at the first mistake; this command lists them all.

use haft_policy::RuleScope;
use serde::Serialize;

use super::examples::{ExampleExpectation, ExampleResult, check_example};
use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandStatus};
use crate::views::output;
use haft_app::host::AppHost;
use haft_app::manifest::ExampleChecks;
use haft_app::{compose, settings};

#[derive(Serialize)]
struct TestedExample {
    scope: RuleScope,
    rule: String,
    example: String,
    expected: ExampleExpectation,
    found: ExampleResult,
}

#[derive(Serialize)]
struct PolicyTestReport {
    examples: Vec<TestedExample>,
    failed: usize,
}

/// Runs the command.
pub(super) fn run(
    setting_args: &SettingArgs,
    host: &AppHost,
) -> Result<CommandStatus, CommandError> {
    let settings =
        settings::resolve_with(&setting_args.overrides(), host, ExampleChecks::Unchecked)?;
    let manifest = settings::find_manifest(&setting_args.overrides(), host)?;
    let manifest = manifest.map(|file| file.parse_with(ExampleChecks::Unchecked)).transpose()?;
    // All rules of the manifest, even if it is not trusted: its author wants to test them.
    let of_manifest = manifest.unwrap_or_default().permissions;
    let of_others = settings.rules.iter().filter(|(scope, _)| *scope != RuleScope::Manifest);
    let rules =
        of_others.cloned().chain(of_manifest.into_iter().map(|rule| (RuleScope::Manifest, rule)));
    let variables = compose::variables(&compose::roots(&settings)?, host);
    let mut examples = Vec::new();
    for (scope, rule) in rules {
        let matching = rule.match_examples.iter().map(|it| (ExampleExpectation::Match, it));
        let other = rule.not_match_examples.iter().map(|it| (ExampleExpectation::NotMatch, it));
        examples.extend(matching.chain(other).map(|(expected, example)| TestedExample {
            scope,
            rule: rule.to_string(),
            example: example.clone(),
            expected,
            found: check_example(scope, &rule, (expected, example), &variables),
        }));
    }
    let failed = examples.iter().filter(|example| example.found == ExampleResult::Fails).count();
    let answer = PolicyTestReport { examples, failed };
    if setting_args.json {
        output::write_json(&answer)?;
    } else {
        output::write_data(&output::escape_controls(&text(&answer)))?;
    }
    Ok(if failed == 0 { CommandStatus::Done } else { CommandStatus::Failed })
}

fn text(answer: &PolicyTestReport) -> String {
    let mut text = String::new();
    for examples in
        answer.examples.chunk_by(|one, other| (one.scope, &one.rule) == (other.scope, &other.rule))
    {
        let Some(first) = examples.first() else { continue };
        text.push_str(&format!("{} rule `{}`\n", first.scope, first.rule));
        for tested in examples {
            let found = match tested.found {
                ExampleResult::Holds => "ok  ",
                ExampleResult::Fails => "FAIL",
                ExampleResult::NothingToMatch => "-   ",
            };
            let verb = match tested.expected {
                ExampleExpectation::Match => "matches",
                ExampleExpectation::NotMatch => "does not match",
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
