//! `haft policy preset`: a preset as it ships, comments and all, to read or to start a manifest from.

use crate::error::{CommandError, Status};
use crate::output;
use crate::preset::Preset;

/// Runs the command.
pub(super) fn run(preset: Preset) -> Result<Status, CommandError> {
    output::data(preset.text())?;
    Ok(Status::Done)
}
