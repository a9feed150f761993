//! `haft skills list`: lists the skills and where they come from.

use std::path::Path;

use haft::{SkillSource, find_skills};
use serde::Serialize;

use crate::error::{CommandError, CommandStatus};
use crate::views::output;
use crate::views::path_text::shown_with_home;
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
    if !found.problems.is_empty() {
        let message = match found.problems.len() {
            1 => "something is wrong with a skill".to_owned(),
            count => format!("{count} things are wrong with skills"),
        };
        output::print_warning(&message, Some("haft skills check"));
    }
    let skills = found.skills.iter().map(|skill| SkillListEntry {
        name: &skill.name,
        description: &skill.description,
        source: skill.source,
        directory: skill.directory(),
    });
    let listed: Vec<SkillListEntry<'_>> = skills.collect();
    if is_json {
        output::write_json(&listed)?;
    } else if listed.is_empty() {
        output::write_data("no skills")?;
    } else {
        let home = host.home().and_then(|home| home.canonicalize().ok());
        let rows = listed.iter().map(|one| {
            let place = match one.directory {
                Some(directory) => shown_with_home(directory, home.as_deref()),
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
