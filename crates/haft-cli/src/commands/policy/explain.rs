//! `haft policy explain`: what would become of a call, in words. The judging is the runtime's.

use haft::CallExplanation;
use haft_contract::{ErrorCode, Refusal};
use haft_policy::RuleAction;
use serde::Serialize;

use crate::arguments::input;
use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandStatus};
use crate::views::output;
use crate::views::remedy;
use haft_app::host::AppHost;
use haft_app::{compose, quote, settings};

#[derive(Serialize)]
struct PolicyExplainReport<'a> {
    tool: &'a str,
    outcome: RuleAction,
    accesses: Vec<ExplainedAccess<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<ExplainedRefusal<'a>>,
    reasons: &'a [String],
}

#[derive(Serialize)]
struct ExplainedAccess<'a> {
    access: &'a str,
    action: RuleAction,
    text: &'a str,
}

#[derive(Serialize)]
struct ExplainedRefusal<'a> {
    code: ErrorCode,
    message: &'a str,
    /// What would change it; rules say so in the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<String>,
}

/// Runs the command.
pub(super) async fn run(
    tool: &str,
    given: &str,
    setting_args: &SettingArgs,
    host: &AppHost,
) -> Result<CommandStatus, CommandError> {
    let input = input::read(tool, given)?;
    let settings = settings::resolve(&setting_args.overrides(), host)?;
    let runtime = compose::unrecorded_runtime(&settings, host).await?;
    let session = compose::open_connection(&runtime, &settings, host, "cli")?;
    let explanation = session.explain(tool, input).await?;
    check_usage(&explanation, tool)?;
    if setting_args.json {
        output::write_json(&answer(&explanation))?;
    } else {
        output::write_data(&output::escape_controls(&text(&explanation)))?;
    }
    Ok(CommandStatus::Done)
}

/// An unknown tool, or an input that does not fit, has not been judged: there is nothing to explain.
fn check_usage(explanation: &CallExplanation, tool: &str) -> Result<(), CommandError> {
    let Some(Refusal { code, because, .. }) = &explanation.refusal else { return Ok(()) };
    match CommandStatus::of_code(*code) {
        CommandStatus::Usage => {
            let hint = match code {
                ErrorCode::ToolNotFound => "haft tools list".to_owned(),
                _ => format!("haft tools show {}", quote::shell(tool)),
            };
            Err(CommandError::usage(because).hint(hint))
        }
        _ => Ok(()),
    }
}

fn answer(explanation: &CallExplanation) -> PolicyExplainReport<'_> {
    let accesses = explanation.accesses.iter();
    let refusal = explanation.refusal.as_ref();
    PolicyExplainReport {
        tool: &explanation.tool,
        outcome: explanation.outcome,
        accesses: accesses
            .map(|one| ExplainedAccess { access: &one.access, action: one.action, text: &one.text })
            .collect(),
        refusal: refusal.map(|refusal| ExplainedRefusal {
            code: refusal.code,
            message: &refusal.because,
            change: remedy::changing_setting(refusal),
        }),
        reasons: &explanation.reasons,
    }
}

fn text(explanation: &CallExplanation) -> String {
    let tool = &explanation.tool;
    let mut text = match explanation.outcome {
        RuleAction::Allow => format!("{tool} would be executed\n"),
        RuleAction::Ask => {
            format!("somebody would be asked about {tool}; where nobody is, it is refused\n")
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
    // What rules ask about is said above; what is left are the reasons of watchdogs.
    let is_new =
        |reason: &&String| explanation.accesses.iter().all(|access| access.text != **reason);
    let others: Vec<&String> = explanation.reasons.iter().filter(is_new).collect();
    if !others.is_empty() {
        text.push_str("\nasked because\n");
        text.extend(others.iter().map(|reason| format!("      {reason}\n")));
    }
    text
}
