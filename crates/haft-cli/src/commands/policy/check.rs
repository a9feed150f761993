//! `haft policy check`: checks that all rules can be used, and finds those that never decide.

use serde::Serialize;

use super::findings::{UnusedRule, unused_rules};
use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandStatus};
use crate::views::output;
use haft_app::host::AppHost;
use haft_app::{compose, settings};

#[derive(Serialize)]
struct PolicyCheckReport {
    rules: usize,
    findings: Vec<UnusedRule>,
}

/// Runs the command.
pub(super) async fn run(
    setting_args: &SettingArgs,
    host: &AppHost,
) -> Result<CommandStatus, CommandError> {
    let settings = settings::resolve(&setting_args.overrides(), host)?;
    // Making a runtime and a session compiles everything, with what variables stand for here.
    let runtime = compose::unrecorded_runtime(&settings, host).await?;
    compose::open_connection(&runtime, &settings, host, "cli")?;
    let rules = compose::rules_in_force(&settings, &runtime.registry())?;
    let variables = compose::variables(runtime.roots(), host);
    let answer =
        PolicyCheckReport { rules: rules.len(), findings: unused_rules(&rules, &variables) };
    let status =
        if answer.findings.is_empty() { CommandStatus::Done } else { CommandStatus::Failed };
    if setting_args.json {
        output::write_json(&answer)?;
    } else {
        output::write_data(&output::escape_controls(&text(&answer)))?;
    }
    Ok(status)
}

fn text(answer: &PolicyCheckReport) -> String {
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
