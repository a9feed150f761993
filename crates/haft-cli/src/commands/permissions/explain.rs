//! `haft permissions explain`: prints the outcome that a call would have. The runtime judges the call.

use haft::CallExplanation;
use haft_contract::{ErrorCode, Refusal};
use haft_policy::RuleAction;
use serde::Serialize;

use crate::arguments::cli_context::CliContext;
use crate::arguments::input;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::views::remedy;
use haft_app::{compose, quote};

#[derive(Serialize)]
struct PermissionExplainReport<'a> {
    tool: &'a str,
    outcome: RuleAction,
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
    if let Some(Refusal { code, because, .. }) = &explanation.refusal
        && CommandStatus::of_code(*code) == CommandStatus::Usage
    {
        let hint = match code {
            ErrorCode::ToolNotFound => "haft tools list".to_owned(),
            _ => format!("haft tools show {}", quote::shell(tool)),
        };
        return Err(CommandError::usage(because).hint(hint));
    }
    let access = |one: &'_ haft::AccessExplanation| ExplainedAccess {
        access: one.access.clone(),
        action: one.action,
        text: one.text.clone(),
    };
    let report = PermissionExplainReport {
        tool: &explanation.tool,
        outcome: explanation.outcome,
        accesses: explanation.accesses.iter().map(access).collect(),
        refusal: explanation.refusal.as_ref().map(|refusal| ExplainedRefusal {
            code: refusal.code,
            message: &refusal.because,
            change: remedy::changing_setting(refusal),
        }),
        reasons: &explanation.reasons,
    };
    cx.print_answer(&report, || text(&explanation))?;
    Ok(CommandStatus::Done)
}

fn text(explanation: &CallExplanation) -> String {
    let tool = &explanation.tool;
    let mut text = match explanation.outcome {
        RuleAction::Allow => format!("{tool} would be executed\n"),
        RuleAction::Ask => {
            format!("haft would ask about {tool}; without a terminal, it would refuse the call\n")
        }
        RuleAction::Deny => format!("{tool} would be refused\n"),
    };
    for access in &explanation.accesses {
        let action = access.action.to_string();
        text.push_str(&format!("\n{action:<5} {}\n      {}\n", access.access, access.text));
    }
    if let Some(refusal) = &explanation.refusal {
        let Refusal { code, because, .. } = refusal;
        text.push_str(&format!("\nrefused with {}\n      {because}\n", code.as_str()));
        if let Some(change) = remedy::changing_setting(refusal) {
            text.push_str(&format!("\nwhat would change it\n      {change}\n"));
        }
    }
    // The accesses above show what rules ask about. The other reasons come from watchdogs.
    let is_new =
        |reason: &&String| explanation.accesses.iter().all(|access| access.text != **reason);
    let others: Vec<&String> = explanation.reasons.iter().filter(is_new).collect();
    if !others.is_empty() {
        text.push_str("\nasked because\n");
        text.extend(others.iter().map(|reason| format!("      {reason}\n")));
    }
    text
}
