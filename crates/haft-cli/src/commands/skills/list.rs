//! `haft skills list`: the skills with where they come from.

use std::path::Path;

use haft::{FoundSkills, SkillSource, find_skills};
use serde::Serialize;

use crate::error::{CommandError, CommandStatus};
use crate::views::output;
use crate::views::path_text::shown;
use crate::views::table::table;
use haft_app::host::AppHost;
use haft_app::settings::EffectiveSettings;
use haft_app::skills::skill_paths;

#[derive(Serialize)]
struct SkillListEntry<'a> {
    name: &'a str,
    description: &'a str,
    source: SkillSource,
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<&'a Path>,
}

/// Runs the command.
pub(super) fn run(
    settings: &EffectiveSettings,
    host: &AppHost,
    is_json: bool,
) -> Result<CommandStatus, CommandError> {
    let found = find_skills(&skill_paths(settings, host));
    warn(&found);
    let listed: Vec<SkillListEntry<'_>> = listed(&found);
    if is_json {
        output::write_json(&listed)?;
    } else if listed.is_empty() {
        output::write_data("no skills")?;
    } else {
        let home = host.home().and_then(|home| home.canonicalize().ok());
        let rows = listed.iter().map(|one| {
            let place = match one.directory {
                Some(directory) => place(directory, home.as_deref()),
                None => "(bundled)".to_owned(),
            };
            vec![one.name.to_owned(), place, one.description.to_owned()]
        });
        output::write_data(&output::escape_controls(&table(
            &["SKILL", "DIRECTORY", "DESCRIPTION"],
            rows,
        )))?;
    }
    Ok(CommandStatus::Done)
}

fn listed(found: &FoundSkills) -> Vec<SkillListEntry<'_>> {
    let skills = found.skills.iter();
    skills
        .map(|skill| SkillListEntry {
            name: &skill.name,
            description: &skill.description,
            source: skill.source,
            directory: skill.directory(),
        })
        .collect()
}

/// Returns a directory as it is written in the working directory, or in the home.
fn place(directory: &Path, home: Option<&Path>) -> String {
    let shown = shown(directory);
    let of_home = home.and_then(|home| Path::new(&shown).strip_prefix(home).ok());
    of_home.map_or_else(|| shown.clone(), |rest| format!("~/{}", rest.display()))
}

fn warn(found: &FoundSkills) {
    if !found.problems.is_empty() {
        let message = match found.problems.len() {
            1 => "something is wrong with a skill".to_owned(),
            count => format!("{count} things are wrong with skills"),
        };
        output::print_warning(&message, Some("haft skills check"));
    }
}
