//! `haft permissions list`: every rule in force and where it comes from, the nearest first, as they are consulted.

use std::path::Path;

use haft_policy::{Rule, RuleScope};
use serde::Serialize;

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandResult, CommandStatus};
use crate::views::table::table;
use haft_app::compose;
use haft_app::manifest::rule_lines;

/// Columns of a line of names.
const WIDTH: usize = 80;

#[derive(Serialize)]
struct RuleListEntry<'a> {
    /// The number to remove it by.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<usize>,
    scope: RuleScope,
    origin: &'a str,
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

/// The rules of a file with their lines, taken one after the other.
struct RuleLines(Vec<(Rule, usize)>);

impl RuleLines {
    /// Returns those of a file; none if it cannot be read.
    fn read(file: Option<&Path>) -> Self {
        let text = file.and_then(|file| std::fs::read_to_string(file).ok());
        Self(text.map_or(Vec::new(), |text| rule_lines(&text)))
    }

    /// Returns the line of a rule, and leaves out the rules before it. A file that the user has not trusted yet has more rules
    /// than are in force.
    fn take(&mut self, rule: &Rule) -> Option<usize> {
        let place = self.0.iter().position(|(known, _)| known == rule)?;
        self.0.drain(..=place).next_back().map(|(_, line)| line)
    }
}

/// Runs the command.
pub(super) async fn run(shows_source: bool, cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    let registry = compose::registry(&settings, &cx.host).await?;
    let mut rules = compose::rules_in_force(&settings, &registry)?;
    // A stable sort: rules of one scope stay in the order in which they were written.
    rules.sort_by_key(|(scope, _)| std::cmp::Reverse(*scope));
    let manifest = settings.manifest.as_ref();
    let manifest = manifest.map_or("-".to_owned(), |path| path.display().to_string());
    let preset = format!("haft permissions preset {}", settings.preset.name());
    let user = settings.user_configuration.as_ref();
    let user = user.map_or("-".to_owned(), |path| path.display().to_string());
    let project = settings.project.path().display().to_string();
    let origin = |scope: RuleScope| match scope {
        RuleScope::Preset => preset.as_str(),
        RuleScope::Builtin => "haft",
        RuleScope::Manifest => &manifest,
        RuleScope::User => &user,
        RuleScope::Agent => "the agent's file",
        RuleScope::Project => &project,
        RuleScope::Session => "command line",
    };
    let of_preset = settings.preset.rules();
    let mut of_manifest = RuleLines::read(settings.manifest.as_deref());
    let mut of_user = RuleLines::read(settings.user_configuration.as_deref());
    let mut of_project = RuleLines::read(Some(settings.project.path()));
    let mut project_rules = 0;
    let listed = rules.iter().map(|(scope, rule)| {
        let number = (*scope == RuleScope::Project).then(|| {
            project_rules += 1;
            project_rules
        });
        let line = match scope {
            RuleScope::Manifest => of_manifest.take(rule),
            RuleScope::User => of_user.take(rule),
            RuleScope::Project => of_project.take(rule),
            RuleScope::Preset | RuleScope::Builtin | RuleScope::Agent | RuleScope::Session => None,
        };
        // Hosts that the manifest requires are rules of the preset that the preset does not have by itself.
        let is_required = *scope == RuleScope::Preset && !of_preset.contains(rule);
        let origin = if is_required { manifest.as_str() } else { origin(*scope) };
        RuleListEntry { number, scope: *scope, origin, line, rule }
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
                None => listed.origin.to_owned(),
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
