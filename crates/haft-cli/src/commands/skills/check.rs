//! `haft skills check`: reports the problems of skills, each with its line.

use std::path::Path;

use haft::{check_skills, find_skills};

use crate::commands::file_check_report::FileCheckReport;
use crate::error::{CommandError, CommandStatus};
use haft_app::host::AppHost;
use haft_app::settings::EffectiveSettings;
use haft_app::skills::skill_paths;

/// Runs the command.
pub(super) fn run(
    named: Option<&Path>,
    settings: &EffectiveSettings,
    host: &AppHost,
    is_json: bool,
) -> Result<CommandStatus, CommandError> {
    let found = named.map_or_else(|| find_skills(&skill_paths(settings, host)), check_skills);
    let names = found.skills.iter().map(|skill| skill.name.as_str()).collect();
    FileCheckReport { noun: "skill", names, problems: &found.problems }.print_report(is_json)
}
