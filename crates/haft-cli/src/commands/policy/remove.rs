//! `haft policy remove`: removes a rule that the user allowed for a project.

use haft_policy::Rule;
use serde::Serialize;

use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandStatus};
use crate::views::output;
use haft_app::host::AppHost;
use haft_app::settings;

#[derive(Serialize)]
struct PolicyRemoveReport<'a> {
    removed: &'a Rule,
    file: &'a std::path::Path,
}

/// Runs the command.
pub(super) fn run(
    number: usize,
    setting_args: &SettingArgs,
    host: &AppHost,
) -> Result<CommandStatus, CommandError> {
    let settings = settings::resolve(&setting_args.overrides(), host)?;
    let removed = settings.project.remove(number)?;
    if setting_args.json {
        output::write_json(&PolicyRemoveReport {
            removed: &removed,
            file: settings.project.path(),
        })?;
    } else {
        output::write_data(&output::escape_controls(&format!(
            "removed `{removed}` for this project"
        )))?;
    }
    Ok(CommandStatus::Done)
}
