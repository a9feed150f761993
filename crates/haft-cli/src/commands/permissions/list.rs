//! `haft permissions list`: every rule in force and where it comes from, the nearest first, as they are consulted.

use std::path::Path;

use haft_policy::{Rule, RuleScope};
use serde::Serialize;

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandResult, CommandStatus};
use crate::views::table::table;
use haft_app::{RuleOrigin, list_rules};

/// Columns of a line of names.
const WIDTH: usize = 80;

#[derive(Serialize)]
struct RuleListEntry<'a> {
    /// The number to remove it by.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<usize>,
    scope: RuleScope,
    origin: String,
    /// The line of the file that it begins in.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(flatten)]
    rule: &'a Rule,
}

#[derive(Serialize)]
struct PermissionListReport<'a> {
    rules: Vec<RuleListEntry<'a>>,
    /// Protected names, which no rule makes writable.
    protected: Vec<&'a str>,
    project_file: &'a Path,
    /// The user's own configuration, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_file: Option<&'a Path>,
}

/// Runs the command.
pub(super) async fn run(shows_source: bool, cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    let rules = list_rules(&settings, &cx.host).await?;
    let listed = rules.iter().map(|listed| RuleListEntry {
        number: listed.number,
        scope: listed.scope,
        origin: match &listed.origin {
            RuleOrigin::Preset(preset) => format!("haft permissions preset {}", preset.name()),
            RuleOrigin::Haft => "haft".to_owned(),
            RuleOrigin::File(None) => "-".to_owned(),
            RuleOrigin::File(Some(path)) => path.display().to_string(),
            RuleOrigin::Agent => "the agent's file".to_owned(),
            RuleOrigin::Process => "command line".to_owned(),
        },
        line: listed.line,
        rule: &listed.rule,
    });
    let answer = PermissionListReport {
        rules: listed.collect(),
        protected: settings.sandbox.protected.patterns().collect(),
        project_file: settings.project.path(),
        user_file: settings.user_configuration.as_deref(),
    };
    cx.print_answer(&answer, || text(&answer, shows_source))?;
    Ok(CommandStatus::Done)
}

/// Returns the rules of each scope below its origin, and the protected names.
fn text(answer: &PermissionListReport<'_>, shows_source: bool) -> String {
    // The origin is often a long path, so it stands once above its rules.
    let of_scopes = answer.rules.chunk_by(|one, other| one.scope == other.scope);
    let sections = of_scopes.map(|rules| {
        let heading = rules
            .first()
            .map_or(String::new(), |first| format!("{} ({})\n", first.scope, first.origin));
        let is_numbered = rules.iter().any(|listed| listed.number.is_some());
        let is_conditional = rules.iter().any(|listed| listed.rule.when.is_some());
        let numbers = is_numbered.then_some("N");
        let conditions = is_conditional.then_some("WHEN");
        let sources = shows_source.then_some("SOURCE");
        let headings: Vec<&str> = numbers
            .into_iter()
            .chain(["ACTION", "PERMISSION", "PATTERN"])
            .chain(conditions)
            .chain(sources)
            .collect();
        let rows = rules.iter().map(|listed| {
            let Rule { permission, pattern, action, when, .. } = listed.rule;
            let number = listed.number.map(|number| number.to_string());
            let when = when.map_or(String::new(), |condition| condition.to_string());
            let words = [action.to_string(), permission.clone(), pattern.clone()];
            let source = match listed.line {
                Some(line) => format!("{}:{line}", listed.origin),
                None => listed.origin.clone(),
            };
            let words = number.into_iter().chain(words).chain(is_conditional.then_some(when));
            words.chain(shows_source.then_some(source)).collect()
        });
        let table = table(&headings, rows);
        heading + &table.lines().map(|line| format!("  {}\n", line.trim_end())).collect::<String>()
    });
    let mut protected = vec!["protected names (haft, sandbox.protect)".to_owned()];
    let mut line = String::new();
    for name in &answer.protected {
        if !line.is_empty() && line.chars().count() + 2 + name.chars().count() > WIDTH {
            protected.push(std::mem::take(&mut line));
        }
        line.push_str("  ");
        line.push_str(name);
    }
    let protected = format!("{}\n{line}\n", protected.join("\n"));
    sections.chain([protected]).collect::<Vec<_>>().join("\n")
}
