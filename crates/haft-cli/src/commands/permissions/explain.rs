//! `haft permissions explain`: prints the outcome that a call would have, stage by stage. The runtime judges the call.

mod outside;
mod stages;

use haft_contract::{ErrorCode, Refusal, RefusalSource};
use haft_policy::RuleAction;
use serde::Serialize;

use self::outside::change_of_roots;
use self::stages::{JudgingStageReport, stages};
use crate::arguments::cli_context::CliContext;
use crate::arguments::input;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::views::remedy;
use haft_app::{compose, quote};

#[derive(Serialize)]
struct PermissionExplainReport<'a> {
    tool: &'a str,
    outcome: RuleAction,
    stages: Vec<JudgingStageReport>,
    accesses: Vec<ExplainedAccess>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<ExplainedRefusal<'a>>,
    reasons: &'a [String],
}

#[derive(Serialize)]
struct ExplainedAccess {
    access: String,
    action: RuleAction,
    text: String,
}

#[derive(Serialize)]
struct ExplainedRefusal<'a> {
    code: ErrorCode,
    message: &'a str,
    /// The setting that would change it. For rules, the message says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<String>,
}

/// Runs the command.
pub(super) async fn run(tool: &str, given: &str, cx: &CliContext) -> CommandResult {
    let input = input::read(tool, given)?;
    let settings = cx.resolve_settings()?;
    let runtime = compose::unrecorded_runtime(&settings, &cx.host).await?;
    let session = compose::open_connection(&runtime, &settings, &cx.host, "cli")?;
    let explanation = session.explain(tool, input).await?;
    // Without a usable tool and input, there is no judgement to explain.
    if let Some(refusal @ Refusal { code, because, .. }) = &explanation.refusal
        && CommandStatus::of_code(*code) == CommandStatus::Usage
    {
        let hint = match code {
            ErrorCode::ToolNotFound => {
                let advised = remedy::terminal_advice(refusal).command;
                advised.unwrap_or_else(|| "haft tools list".to_owned())
            }
            _ => format!("haft tools show {}", quote::shell(tool)),
        };
        return Err(CommandError::usage(because).hint(hint));
    }
    let change = |refusal: &Refusal| match refusal.decided_by {
        RefusalSource::Roots => Some(change_of_roots(&explanation.paths, &runtime, &cx.host)),
        _ => remedy::changing_setting(refusal),
    };
    let access = |one: &'_ haft::AccessExplanation| ExplainedAccess {
        access: one.access.clone(),
        action: one.action,
        text: one.text.clone(),
    };
    let enforcement = compose::enforcement(&settings, &cx.host).await?;
    let report = PermissionExplainReport {
        tool: &explanation.tool,
        outcome: explanation.outcome,
        stages: stages(&explanation, enforcement),
        accesses: explanation.accesses.iter().map(access).collect(),
        refusal: explanation.refusal.as_ref().map(|refusal| ExplainedRefusal {
            code: refusal.code,
            message: &refusal.because,
            change: change(refusal),
        }),
        reasons: &explanation.reasons,
    };
    cx.print_answer(&report, || text(&report))?;
    Ok(CommandStatus::Done)
}

/// Returns the report in lines: the outcome, each stage, and what would change a refusal.
fn text(report: &PermissionExplainReport<'_>) -> String {
    let tool = report.tool;
    let mut text = match report.outcome {
        RuleAction::Allow => format!("{tool} would be executed\n\n"),
        RuleAction::Ask => {
            format!("haft would ask about {tool}; without a terminal, it would refuse the call\n\n")
        }
        RuleAction::Deny => format!("{tool} would be refused\n\n"),
    };
    text.extend(report.stages.iter().enumerate().map(|(index, stage)| stage.text(index + 1)));
    if let Some(change) = report.refusal.as_ref().and_then(|refusal| refusal.change.as_ref()) {
        text.push_str(&format!("\nwhat would change it\n      {change}\n"));
    }
    text
}
