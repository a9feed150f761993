//! `haft permissions check`: checks that all rules can be used, finds those that never decide, and says what holds each deny.

use serde_json::json;

use super::findings::{UnusedRule, unused_rules};
use super::held::path_rules;
use super::holders::{HeldRuleReport, HoldingFacts};
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
    let variables = compose::variables(runtime.roots(), &settings, &cx.host);
    let findings = unused_rules(&rules, &variables);
    let enforcement = compose::enforcement(&settings, &cx.host).await?;
    let path_rules = path_rules(&rules, &variables).map_err(CommandError::usage)?;
    let facts =
        HoldingFacts { settings: &settings, host: &cx.host, enforcement, path_rules: &path_rules };
    let held = rules.iter().filter_map(|(scope, rule)| HeldRuleReport::of(*scope, rule, &facts));
    let held: Vec<HeldRuleReport> = held.collect();
    let answer = json!({
        "rules": rules.len(),
        "findings": findings,
        "held": held,
        "path_rules": path_rules,
    });
    cx.print_answer(&answer, || {
        let line = |finding: &UnusedRule| format!("{}: {}\n", finding.rule, finding.why);
        let reported = match findings.len() {
            0 => "nothing to report".to_owned(),
            1 => "1 never decides".to_owned(),
            count => format!("{count} never decide"),
        };
        let held: String = held.iter().map(HeldRuleReport::text).collect();
        let lines: String = findings.iter().map(line).collect();
        format!("{held}{lines}{} rules can be used, {reported}\n", rules.len())
    })?;
    Ok(if findings.is_empty() { CommandStatus::Done } else { CommandStatus::Failed })
}
