//! `haft agents check`: what is wrong with which agent, and in which line.

use std::path::Path;

use haft_agent::{check_agents, find_agents};

use super::naming;
use crate::agents::places;
use crate::command::checked::Checked;
use crate::error::{CommandError, Status};
use crate::settings::Settings;
use crate::state::State;

/// Runs the command.
pub(super) async fn run(
    named: Option<&Path>,
    settings: &Settings,
    state: &State,
    is_json: bool,
) -> Result<Status, CommandError> {
    let mut found = named.map_or_else(|| find_agents(&places(settings)), check_agents);
    found.problems.extend(naming::problems(&found.named, settings, state).await);
    Checked { noun: "agent", names: found.names(), problems: &found.problems }.tell(is_json)
}
