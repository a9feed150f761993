//! `haft skills check`: reports the problems of skills, each with its line.

use std::path::Path;

use haft::{check_skills, find_skills};

use crate::arguments::cli_context::CliContext;
use crate::commands::file_check_report::FileCheckReport;
use crate::error::CommandResult;
use haft_app::skills::skill_paths;

/// Runs the command.
pub(super) fn run(named: Option<&Path>, cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    let found = named.map_or_else(|| find_skills(&skill_paths(&settings, &cx.host)), check_skills);
    let names = found.skills.iter().map(|skill| skill.name.as_str()).collect();
    FileCheckReport { noun: "skill", names, problems: &found.problems }.print_report(cx)
}
