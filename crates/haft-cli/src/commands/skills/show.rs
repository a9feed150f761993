//! `haft skills show`: prints a skill as a model gets it.

use std::path::PathBuf;

use haft::{FileProblem, SkillSource, find_skills, load_skill};
use serde::Serialize;

use crate::arguments::cli_context::CliContext;
use crate::commands::file_check_report::unknown_name_error;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::views::output;
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
pub(super) fn run(name: &str, cx: &CliContext) -> CommandResult {
    let found = find_skills(&skill_paths(&cx.resolve_settings()?, &cx.host));
    let skill = found.skills.iter().find(|skill| skill.name == name);
    let skill = skill.ok_or_else(|| {
        let names: Vec<&str> = found.skills.iter().map(|skill| skill.name.as_str()).collect();
        let is_named = |problem: &&FileProblem| {
            problem.file.ancestors().any(|part| part.file_name().is_some_and(|part| part == name))
        };
        let problem = found.problems.iter().find(is_named);
        unknown_name_error("skill", name, &names, problem)
    })?;
    let loaded = load_skill(skill).map_err(|err| CommandError::failed(err.message))?;
    if !cx.setting_args.json {
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
