//! `haft policy list`: every rule in force and where it comes from, the nearest first, as they are consulted.

use haft_policy::{Rule, RuleScope};
use serde::Serialize;

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandResult, CommandStatus};
use crate::views::table::table;
use haft_app::compose;

/// Columns of a line of names.
const WIDTH: usize = 80;

#[derive(Serialize)]
struct RuleListEntry<'a> {
    /// The number to remove it by.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<usize>,
    scope: RuleScope,
    origin: &'a str,
    #[serde(flatten)]
    rule: &'a Rule,
}

#[derive(Serialize)]
struct PolicyListReport<'a> {
    rules: Vec<RuleListEntry<'a>>,
    /// Protected names, which no rule makes writable.
    protected: Vec<&'a str>,
    project_file: &'a std::path::Path,
}

/// Runs the command.
pub(super) async fn run(cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    let registry = compose::registry(&settings, &cx.host).await?;
    let mut rules = compose::rules_in_force(&settings, &registry)?;
    // A stable sort: rules of one scope stay in the order in which they were written.
    rules.sort_by_key(|(scope, _)| std::cmp::Reverse(*scope));
    let manifest = settings.manifest.as_ref();
    let manifest = manifest.map_or("-".to_owned(), |path| path.display().to_string());
    let preset = format!("haft policy preset {}", settings.preset.name());
    let project = settings.project.path().display().to_string();
    let origin = |scope: RuleScope| match scope {
        RuleScope::Preset => preset.as_str(),
        RuleScope::Builtin => "haft",
        RuleScope::Manifest => &manifest,
        RuleScope::Agent => "the agent's file",
        RuleScope::Project => &project,
        RuleScope::Session => "command line",
    };
    let mut project_rules = 0;
    let listed = rules.iter().map(|(scope, rule)| {
        let number = (*scope == RuleScope::Project).then(|| {
            project_rules += 1;
            project_rules
        });
        RuleListEntry { number, scope: *scope, origin: origin(*scope), rule }
    });
    let answer = PolicyListReport {
        rules: listed.collect(),
        protected: settings.sandbox.protected.patterns().collect(),
        project_file: settings.project.path(),
    };
    cx.print_answer(&answer, || {
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
            let headings: Vec<&str> = numbers
                .into_iter()
                .chain(["ACTION", "PERMISSION", "PATTERN"])
                .chain(conditions)
                .collect();
            let rows = rules.iter().map(|listed| {
                let Rule { permission, pattern, action, when, .. } = listed.rule;
                let number = listed.number.map(|number| number.to_string());
                let when = when.map_or(String::new(), |condition| condition.to_string());
                let words = [action.to_string(), permission.clone(), pattern.clone()];
                number.into_iter().chain(words).chain(is_conditional.then_some(when)).collect()
            });
            let table = table(&headings, rows);
            heading
                + &table.lines().map(|line| format!("  {}\n", line.trim_end())).collect::<String>()
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
    })?;
    Ok(CommandStatus::Done)
}
