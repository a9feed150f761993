//! `haft permissions remove`: removes a rule that the user allowed for a project.

use haft_policy::Rule;
use serde::Serialize;

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandResult, CommandStatus};

#[derive(Serialize)]
struct PermissionRemoveReport<'a> {
    removed: &'a Rule,
    file: &'a std::path::Path,
}

/// Runs the command.
pub(super) fn run(number: usize, cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    let removed = settings.project.remove(number)?;
    cx.print_answer(
        &PermissionRemoveReport { removed: &removed, file: settings.project.path() },
        || format!("removed `{removed}` for this project"),
    )?;
    Ok(CommandStatus::Done)
}
