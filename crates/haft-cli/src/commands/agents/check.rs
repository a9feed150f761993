//! `haft agents check`: what is wrong with which agent, and in which line.

use std::path::Path;

use haft_agent::{check_agent_files, find_agents};

use super::unknown_names;
use crate::commands::file_check_report::FileCheckReport;
use crate::error::{CommandError, CommandStatus};
use haft_app::compose::agent_paths;
use haft_app::host::AppHost;
use haft_app::settings::EffectiveSettings;

/// Runs the command.
pub(super) async fn run(
    named: Option<&Path>,
    settings: &EffectiveSettings,
    host: &AppHost,
    is_json: bool,
) -> Result<CommandStatus, CommandError> {
    let mut found =
        named.map_or_else(|| find_agents(&agent_paths(settings, host)), check_agent_files);
    found.problems.extend(unknown_names::name_problems(&found.references, settings, host).await);
    FileCheckReport { noun: "agent", names: found.names(), problems: &found.problems }
        .print_report(is_json)
}
