//! `haft policy explain`: what would become of a call, in words. The judging is the runtime's.

use haft::Explanation;
use haft_contract::ErrorCode;
use haft_policy::Action;
use serde::Serialize;

use super::remedy;
use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::state::State;
use crate::{compose, input, output, quote, settings};

#[derive(Serialize)]
struct Answer<'a> {
    tool: &'a str,
    outcome: Action,
    accesses: Vec<Access<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<Refusal<'a>>,
    reasons: &'a [String],
}

#[derive(Serialize)]
struct Access<'a> {
    access: &'a str,
    action: Action,
    text: &'a str,
}

#[derive(Serialize)]
struct Refusal<'a> {
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
    state: &State,
) -> Result<Status, CommandError> {
    let input = input::read(tool, given)?;
    let settings = settings::resolve(setting_args, state)?;
    let runtime = compose::unrecorded_runtime(&settings, state).await?;
    let session = compose::session(&runtime, &settings, "cli")?;
    let explanation = session.explain(tool, input).await?;
    check_usage(&explanation, tool)?;
    if setting_args.json {
        output::json(&answer(&explanation))?;
    } else {
        output::data(&output::visible(&text(&explanation)))?;
    }
    Ok(Status::Done)
}

/// An unknown tool, or an input that does not fit, has not been judged: there is nothing to explain.
fn check_usage(explanation: &Explanation, tool: &str) -> Result<(), CommandError> {
    let Some((code, message)) = &explanation.refusal else { return Ok(()) };
    match Status::of_code(*code) {
        Status::Usage => {
            let hint = match code {
                ErrorCode::ToolNotFound => "haft tools list".to_owned(),
                _ => format!("haft tools show {}", quote::shell(tool)),
            };
            Err(CommandError::usage(message).hint(hint))
        }
        _ => Ok(()),
    }
}

fn answer(explanation: &Explanation) -> Answer<'_> {
    let accesses = explanation.accesses.iter();
    let refusal = explanation.refusal.as_ref();
    Answer {
        tool: &explanation.tool,
        outcome: explanation.outcome,
        accesses: accesses
            .map(|one| Access { access: &one.access, action: one.action, text: &one.text })
            .collect(),
        refusal: refusal.map(|(code, message)| {
            let change = remedy::of_refusal(*code, message);
            Refusal { code: *code, message, change }
        }),
        reasons: &explanation.reasons,
    }
}

fn text(explanation: &Explanation) -> String {
    let tool = &explanation.tool;
    let mut text = match explanation.outcome {
        Action::Allow => format!("{tool} would be executed\n"),
        Action::Ask => {
            format!("somebody would be asked about {tool}; where nobody is, it is refused\n")
        }
        Action::Deny => format!("{tool} would be refused\n"),
    };
    for access in &explanation.accesses {
        let action = access.action.to_string();
        text.push_str(&format!("\n{action:<5} {}\n      {}\n", access.access, access.text));
    }
    if let Some((code, message)) = &explanation.refusal {
        text.push_str(&format!("\nrefused with {}\n      {message}\n", code.as_str()));
        if let Some(change) = remedy::of_refusal(*code, message) {
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
