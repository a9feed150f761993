//! `haft skills check`: what is wrong with which skill, and in which line.

use std::path::Path;

use haft::{check_skills, find_skills};

use crate::command::checked::Checked;
use crate::error::{CommandError, Status};
use crate::settings::Settings;
use crate::skills::places;

/// Runs the command.
pub(super) fn run(
    named: Option<&Path>,
    settings: &Settings,
    is_json: bool,
) -> Result<Status, CommandError> {
    let found = named.map_or_else(|| find_skills(&places(settings)), check_skills);
    let names = found.skills.iter().map(|skill| skill.name.as_str()).collect();
    Checked { noun: "skill", names, problems: &found.problems }.tell(is_json)
}
