//! `haft plan check`: reports all problems of a plan together. Nothing is run or recorded.

use std::path::PathBuf;

use clap::Args;
use haft_contract::ToolId;
use haft_plan::{CheckedPlan, PlanInput, PlanProblem, check_text};
use serde::Serialize;

use crate::arguments::input;
use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandStatus};
use crate::plan_run::{self, PlanText};
use crate::views::output;
use haft_app::host::AppHost;
use haft_app::{compose, settings};

/// Check a plan, and print all of its problems
///
/// The plan is checked against the tools that are on offer, as haft run does: form, ids, tools and their inputs,
/// dependencies and references. Each problem is one line: the node, the field, what was found and expected, and a stable
/// code. The rules are not checked; haft run --dry-run does that. The exit status is 1 if the plan has problems.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft plan check report.json
  haft plan check report.json --input '{\"path\":\"src\"}'
  generate-plan | haft plan check - --json")]
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
    dangerous: Option<Vec<&'a ToolId>>,
    problems: &'a [PlanProblem],
}

pub(super) async fn run(
    args: &PlanCheckArgs,
    setting_args: &SettingArgs,
    host: &AppHost,
) -> Result<CommandStatus, CommandError> {
    let PlanText { name, text, .. } = PlanText::read(&args.file)?;
    let given = args.input.as_deref().map(input::read_plan_input).transpose()?;
    let settings = settings::resolve(&setting_args.overrides(), host)?;
    let registry = compose::registry(&settings, host).await?;
    let input = given.as_ref().map_or(PlanInput::Unknown, PlanInput::Given);
    let checked = check_text(&text, &plan_run::catalogue(&registry), input);
    if setting_args.json {
        output::write_json(&match &checked {
            Ok(plan) => PlanCheckReport {
                valid: true,
                nodes: Some(plan.nodes().len()),
                dangerous: Some(dangerous(plan)),
                problems: &[],
            },
            Err(problems) => {
                PlanCheckReport { valid: false, nodes: None, dangerous: None, problems }
            }
        })?;
    } else {
        let text = match &checked {
            Ok(plan) => {
                let nodes = match plan.nodes().len() {
                    1 => "1 node".to_owned(),
                    count => format!("{count} nodes"),
                };
                let names: Vec<&str> = dangerous(plan).into_iter().map(ToolId::as_str).collect();
                match names.as_slice() {
                    [] => format!("{name} is valid: {nodes}, no dangerous tools"),
                    names => {
                        format!("{name} is valid: {nodes}, dangerous tools: {}", names.join(", "))
                    }
                }
            }
            Err(problems) => {
                problems.iter().map(|problem| plan_run::problem_line(problem) + "\n").collect()
            }
        };
        output::write_data(&output::escape_controls(&text))?;
    }
    Ok(if checked.is_ok() { CommandStatus::Done } else { CommandStatus::Failed })
}

fn dangerous(plan: &CheckedPlan) -> Vec<&ToolId> {
    plan.dangerous_tools().into_iter().map(|contract| &contract.id).collect()
}
