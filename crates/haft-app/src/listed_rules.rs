//! Every rule in force and where it comes from, the nearest first, as they are consulted.

use std::path::{Path, PathBuf};

use haft_policy::{Rule, RuleScope};

use crate::app_error::AppError;
use crate::compose;
use crate::host::AppHost;
use crate::manifest::rule_lines;
use crate::preset::Preset;
use crate::settings::EffectiveSettings;

/// A rule in force.
#[derive(Clone, Debug)]
pub struct ListedRule {
    /// The number to remove it by, of a rule for this project.
    pub number: Option<usize>,
    /// The scope of the rule.
    pub scope: RuleScope,
    /// Where it comes from.
    pub origin: RuleOrigin,
    /// The line of the file that it begins in.
    pub line: Option<usize>,
    /// The rule itself.
    pub rule: Rule,
}

/// Where a rule comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleOrigin {
    /// A preset.
    Preset(Preset),
    /// haft itself.
    Haft,
    /// A file of the user or of the workspace; none if the settings are not from a file.
    File(Option<PathBuf>),
    /// The file of an agent.
    Agent,
    /// The process, for as long as it runs.
    Process,
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

/// Returns the rules in force.
///
/// # Errors
///
/// Fails if the tools cannot be found, and if a rule names no tool.
pub async fn list_rules(
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<Vec<ListedRule>, AppError> {
    let registry = compose::registry(settings, host).await?;
    let mut rules = compose::rules_in_force(settings, &registry)?;
    // A stable sort: rules of one scope stay in the order in which they were written.
    rules.sort_by_key(|(scope, _)| std::cmp::Reverse(*scope));
    let mut of_manifest = RuleLines::read(settings.manifest.as_deref());
    let mut of_user = RuleLines::read(settings.user_configuration.as_deref());
    let mut of_project = RuleLines::read(Some(settings.project.path()));
    let of_preset = settings.preset.rules();
    let mut project_rules = 0;
    let listed = rules.into_iter().map(|(scope, rule)| {
        let number = (scope == RuleScope::Project).then(|| {
            project_rules += 1;
            project_rules
        });
        let (origin, line) = match scope {
            // Hosts that the manifest requires are rules of the preset that the preset does not have by itself.
            RuleScope::Preset if !of_preset.contains(&rule) => {
                (RuleOrigin::File(settings.manifest.clone()), None)
            }
            RuleScope::Preset => (RuleOrigin::Preset(settings.preset), None),
            RuleScope::Builtin => (RuleOrigin::Haft, None),
            RuleScope::Manifest => {
                (RuleOrigin::File(settings.manifest.clone()), of_manifest.take(&rule))
            }
            RuleScope::User => {
                (RuleOrigin::File(settings.user_configuration.clone()), of_user.take(&rule))
            }
            RuleScope::Agent => (RuleOrigin::Agent, None),
            RuleScope::Project => {
                let file = settings.project.path().to_owned();
                (RuleOrigin::File(Some(file)), of_project.take(&rule))
            }
            RuleScope::Session => (RuleOrigin::Process, None),
        };
        ListedRule { number, scope, origin, line, rule }
    });
    Ok(listed.collect())
}
