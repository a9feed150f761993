//! `haft permissions test`: checks the examples of all rules, one by one. Reading a manifest checks them too, but stops with an
//! error at the first mistake; this command lists them all.

use haft_policy::RuleScope;
use serde::Serialize;
use serde_json::json;

use super::examples::{ExampleExpectation, ExampleResult, check_example};
use crate::arguments::cli_context::CliContext;
use crate::error::{CommandResult, CommandStatus};
use crate::views::path_text::counted;
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

/// Runs the command.
pub(super) fn run(cx: &CliContext) -> CommandResult {
    let settings =
        settings::resolve_with(&cx.setting_args.overrides(), &cx.host, ExampleChecks::Unchecked)?;
    let manifest = settings::find_manifest(&cx.setting_args.overrides(), &cx.host)?;
    let manifest = manifest.map(|file| file.parse_with(ExampleChecks::Unchecked)).transpose()?;
    // All rules of the manifest, even if it is not trusted: its author wants to test them.
    let of_manifest = manifest.unwrap_or_default().permissions;
    let of_others = settings.rules.iter().filter(|(scope, _)| *scope != RuleScope::Manifest);
    let rules =
        of_others.cloned().chain(of_manifest.into_iter().map(|rule| (RuleScope::Manifest, rule)));
    let variables = compose::variables(&compose::roots(&settings)?, &settings, &cx.host);
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
    let answer = json!({"examples": examples, "failed": failed});
    cx.print_answer(&answer, || text(&examples, failed))?;
    Ok(if failed == 0 { CommandStatus::Done } else { CommandStatus::Failed })
}

fn text(tested: &[TestedExample], failed: usize) -> String {
    let mut text = String::new();
    for examples in
        tested.chunk_by(|one, other| (one.scope, &one.rule) == (other.scope, &other.rule))
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
    let examples = counted(tested.len(), "example");
    text.push_str(&format!("{separator}{examples}, {failed} failed\n"));
    text
}
