//! `haft skills list`: the skills with where they come from.

use std::path::Path;

use haft::{FoundSkills, SkillSource, find_skills};
use serde::Serialize;

use crate::error::{CommandError, Status};
use crate::output;
use crate::python::shown;
use crate::settings::Settings;
use crate::skills::places;
use crate::table::table;

#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    description: &'a str,
    source: SkillSource,
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<&'a Path>,
}

/// Runs the command.
pub(super) fn run(settings: &Settings, is_json: bool) -> Result<Status, CommandError> {
    let found = find_skills(&places(settings));
    warn(&found);
    let listed: Vec<Listed<'_>> = listed(&found);
    if is_json {
        output::json(&listed)?;
    } else if listed.is_empty() {
        output::data("no skills")?;
    } else {
        let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
        let rows = listed.iter().map(|one| {
            let place = match one.directory {
                Some(directory) => place(directory, home.as_deref()),
                None => "(bundled)".to_owned(),
            };
            vec![one.name.to_owned(), place, one.description.to_owned()]
        });
        output::data(&output::visible(&table(&["SKILL", "DIRECTORY", "DESCRIPTION"], rows)))?;
    }
    Ok(Status::Done)
}

fn listed(found: &FoundSkills) -> Vec<Listed<'_>> {
    let skills = found.skills.iter();
    skills
        .map(|skill| Listed {
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
        output::warning(&message, Some("haft skills check"));
    }
}
