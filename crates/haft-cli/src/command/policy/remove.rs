//! `haft policy remove`: takes back what was allowed for a project.

use haft_policy::Rule;
use serde::Serialize;

use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::state::State;
use crate::{output, settings};

#[derive(Serialize)]
struct Answer<'a> {
    removed: &'a Rule,
    file: &'a std::path::Path,
}

/// Runs the command.
pub(super) fn run(
    number: usize,
    setting_args: &SettingArgs,
    state: &State,
) -> Result<Status, CommandError> {
    let settings = settings::resolve(setting_args, state)?;
    let removed = settings.project.remove(number)?;
    if setting_args.json {
        output::json(&Answer { removed: &removed, file: settings.project.path() })?;
    } else {
        output::data(&output::visible(&format!("removed `{removed}` for this project")))?;
    }
    Ok(Status::Done)
}
