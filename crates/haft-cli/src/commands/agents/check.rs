//! `haft agents check`: what is wrong with which agent, and in which line.

use std::path::Path;

use haft_agent::{check_agent_files, find_agents};

use super::unknown_names;
use crate::arguments::cli_context::CliContext;
use crate::commands::file_check_report::FileCheckReport;
use crate::error::CommandResult;
use haft_app::compose::agent_paths;

/// Runs the command.
pub(super) async fn run(named: Option<&Path>, cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    let mut found =
        named.map_or_else(|| find_agents(&agent_paths(&settings, &cx.host)), check_agent_files);
    let unknown = unknown_names::name_problems(&found.references, &settings, &cx.host).await;
    found.problems.extend(unknown);
    FileCheckReport { noun: "agent", names: found.names(), problems: &found.problems }
        .print_report(cx)
}
