//! `haft permissions check`: checks that all rules can be used, and finds those that never decide.

use serde_json::json;

use super::findings::{UnusedRule, unused_rules};
use super::held::path_rules;
use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
use haft_app::compose;

/// Runs the command.
pub(super) async fn run(cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    // Making a runtime and a session compiles everything, with what variables stand for here.
    let runtime = compose::unrecorded_runtime(&settings, &cx.host).await?;
    compose::open_connection(&runtime, &settings, &cx.host, "cli")?;
    let rules = compose::rules_in_force(&settings, &runtime.registry())?;
    let variables = compose::variables(runtime.roots(), &cx.host);
    let findings = unused_rules(&rules, &variables);
    let path_rules = path_rules(&rules, &variables).map_err(CommandError::usage)?;
    let answer = json!({"rules": rules.len(), "findings": findings, "path_rules": path_rules});
    cx.print_answer(&answer, || {
        let line = |finding: &UnusedRule| format!("{}: {}\n", finding.rule, finding.why);
        let reported = match findings.len() {
            0 => "nothing to report".to_owned(),
            1 => "1 never decides".to_owned(),
            count => format!("{count} never decide"),
        };
        let lines: String = findings.iter().map(line).collect();
        format!("{lines}{} rules can be used, {reported}\n", rules.len())
    })?;
    Ok(if findings.is_empty() { CommandStatus::Done } else { CommandStatus::Failed })
}
