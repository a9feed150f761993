//! `haft skills show`: prints a skill as a model gets it.

use std::path::PathBuf;

use haft::{SkillSource, find_skills, load_skill, near_matches};
use serde::Serialize;

use crate::error::{CommandError, CommandStatus};
use crate::views::output;
use haft_app::host::AppHost;
use haft_app::settings::EffectiveSettings;
use haft_app::skills::skill_paths;

#[derive(Serialize)]
struct SkillDetails<'a> {
    name: &'a str,
    description: &'a str,
    source: SkillSource,
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<PathBuf>,
    files: Vec<String>,
    has_more_files: bool,
    body: String,
}

/// Runs the command.
pub(super) fn run(
    name: &str,
    settings: &EffectiveSettings,
    host: &AppHost,
    is_json: bool,
) -> Result<CommandStatus, CommandError> {
    let found = find_skills(&skill_paths(settings, host));
    let skill = found.skills.iter().find(|skill| skill.name == name);
    let skill = skill.ok_or_else(|| {
        let names = || found.skills.iter().map(|skill| skill.name.as_str());
        let near = near_matches(name, names());
        let advice = if near.is_empty() {
            format!("expected one of {}", names().collect::<Vec<_>>().join(", "))
        } else {
            format!("did you mean {}?", near.join(" or "))
        };
        // If the skill's directory has a problem, that is why the skill is left out.
        let of_name = |problem: &&haft::FileProblem| {
            problem.file.ancestors().any(|part| part.file_name().is_some_and(|part| part == name))
        };
        let problem = found.problems.iter().find(of_name).map(|problem| format!("\n{problem}"));
        let problem = problem.unwrap_or_default();
        CommandError::usage(format!("no skill is called {name:?}: {advice}{problem}"))
            .hint("haft skills list")
    })?;
    let loaded = load_skill(skill).map_err(|err| CommandError::failed(err.message))?;
    if !is_json {
        output::write_data(&haft_tools::skill_text(&loaded))?;
        return Ok(CommandStatus::Done);
    }
    output::write_json(&SkillDetails {
        name: &skill.name,
        description: &skill.description,
        source: skill.source,
        directory: loaded.directory,
        files: loaded.files,
        has_more_files: loaded.has_more_files,
        body: loaded.body,
    })?;
    Ok(CommandStatus::Done)
}
