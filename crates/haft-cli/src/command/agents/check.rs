//! `haft agents check`: what is wrong with which agent, and in which line.

use std::path::Path;

use haft_agent::{AgentSeverity, check_agents, find_agents};

use crate::agents::places;
use crate::command::checked::Checked;
use crate::error::{CommandError, Status};
use crate::settings::Settings;

/// Runs the command.
pub(super) fn run(
    named: Option<&Path>,
    settings: &Settings,
    is_json: bool,
) -> Result<Status, CommandError> {
    let found = named.map_or_else(|| find_agents(&places(settings)), check_agents);
    let errors = found.problems.iter().filter(|it| it.severity == AgentSeverity::Error).count();
    let problems = &found.problems;
    Checked { noun: "agent", names: found.names(), problems, errors }.tell(is_json)
}
