//! `haft plan check`: reports all problems of a plan together. Nothing is run or recorded.

use std::path::PathBuf;

use clap::Args;
use haft_plan::{PlanInput, PlanProblem, check_text};
use serde::Serialize;

use crate::arguments::cli_context::CliContext;
use crate::arguments::input;
use crate::error::{CommandResult, CommandStatus};
use crate::plan_run::{self, PlanText};
use crate::views::path_text::counted;
use haft_app::compose;

/// Check a plan, and print all of its problems
///
/// The plan is checked against the tools that are on offer, as haft plan run does: form, ids, tools and their inputs,
/// dependencies and references. Each problem is one line: the node, the field, what was found and expected, and a stable
/// code. The rules are not checked; haft plan run --dry-run does that. The exit status is 1 if the plan has problems.
#[derive(Args)]
#[command(after_long_help = concat!("\
Examples:
  haft plan check report.json
  haft plan check report.json --input '{\"path\":\"src\"}'
  generate-plan | haft plan check - --json

", sample_plan!()))]
pub(crate) struct PlanCheckArgs {
    /// The plan, or - for standard input
    file: PathBuf,
    /// Check references to the input, too, with this one: JSON, or @FILE to read it from a file
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
}

/// The JSON form of the result.
#[derive(Serialize)]
struct PlanCheckReport<'a> {
    valid: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<usize>,
    /// The dangerous tools that it calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    dangerous: Option<Vec<&'a str>>,
    problems: &'a [PlanProblem],
}

pub(super) async fn run(args: &PlanCheckArgs, cx: &CliContext) -> CommandResult {
    let PlanText { name, text, .. } = PlanText::read(&args.file)?;
    let given = args.input.as_deref().map(input::read_plan_input).transpose()?;
    let settings = cx.resolve_settings()?;
    let registry = compose::registry(&settings, &cx.host).await?;
    let input = given.as_ref().map_or(PlanInput::Unknown, PlanInput::Given);
    let checked = check_text(&text, &plan_run::catalogue(&registry, &settings, &cx.host), input);
    let dangerous = checked.as_ref().ok().map(plan_run::dangerous);
    let report = PlanCheckReport {
        valid: checked.is_ok(),
        nodes: checked.as_ref().ok().map(|plan| plan.nodes().len()),
        dangerous: dangerous.clone(),
        problems: checked.as_ref().err().map_or(&[], Vec::as_slice),
    };
    cx.print_answer(&report, || match &checked {
        Ok(plan) => {
            let nodes = counted(plan.nodes().len(), "node");
            let tools = match dangerous.unwrap_or_default().as_slice() {
                [] => "no dangerous tools".to_owned(),
                names => format!("dangerous tools: {}", names.join(", ")),
            };
            format!("{name} is valid: {nodes}, {tools}")
        }
        Err(problems) => {
            problems.iter().map(|problem| plan_run::problem_line(problem) + "\n").collect()
        }
    })?;
    Ok(if checked.is_ok() { CommandStatus::Done } else { CommandStatus::Failed })
}
