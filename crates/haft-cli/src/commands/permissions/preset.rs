//! `haft permissions preset`: prints a preset with its comments, to read or to start a manifest from.

use crate::error::{CommandResult, CommandStatus};
use crate::views::output;
use haft_app::Preset;

/// Runs the command.
pub(super) fn run(preset: Preset) -> CommandResult {
    output::write_data(preset.text())?;
    Ok(CommandStatus::Done)
}
