//! `haft policy check`: whether all rules can be used, and which of them never decide.

use serde::Serialize;

use super::findings::{Finding, findings};
use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::state::State;
use crate::{compose, output, settings};

#[derive(Serialize)]
struct Answer {
    rules: usize,
    findings: Vec<Finding>,
}

/// Runs the command.
pub(super) async fn run(setting_args: &SettingArgs, state: &State) -> Result<Status, CommandError> {
    let settings = settings::resolve(setting_args, state)?;
    // Making a runtime and a session compiles everything, with what variables stand for here.
    let runtime = compose::unrecorded_runtime(&settings, state).await?;
    compose::session(&runtime, &settings, "cli")?;
    let rules = compose::rules_in_force(&settings, &runtime.registry())?;
    let variables = compose::variables(runtime.roots());
    let answer = Answer { rules: rules.len(), findings: findings(&rules, &variables) };
    let status = if answer.findings.is_empty() { Status::Done } else { Status::Failed };
    if setting_args.json {
        output::json(&answer)?;
    } else {
        output::data(&output::visible(&text(&answer)))?;
    }
    Ok(status)
}

fn text(answer: &Answer) -> String {
    let mut text: String = answer
        .findings
        .iter()
        .map(|finding| format!("{}: {}\n", finding.rule, finding.why))
        .collect();
    let reported = match answer.findings.len() {
        0 => "nothing to report".to_owned(),
        1 => "1 never decides".to_owned(),
        count => format!("{count} never decide"),
    };
    text.push_str(&format!("{} rules can be used, {reported}\n", answer.rules));
    text
}
