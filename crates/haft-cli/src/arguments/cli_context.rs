//! The two values that every command works with: the settings of the command line, and the process that haft runs in.

use serde::Serialize;

use crate::arguments::setting_args::SettingArgs;
use crate::error::CommandError;
use crate::views::output;
use haft_app::host::AppHost;
use haft_app::settings::{self, EffectiveSettings};

/// The settings of the command line, and the process as an application sees it.
#[derive(Clone)]
pub(crate) struct CliContext {
    pub(crate) setting_args: SettingArgs,
    pub(crate) host: AppHost,
}

impl CliContext {
    /// Returns the settings that hold in this directory, with the options of the command line.
    pub(crate) fn resolve_settings(&self) -> Result<EffectiveSettings, CommandError> {
        Ok(settings::resolve(&self.setting_args.overrides(), &self.host)?)
    }

    /// Prints the answer of a command: with --json as one line of JSON, and else as text without control characters.
    pub(crate) fn print_answer(
        &self,
        answer: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<(), CommandError> {
        if self.setting_args.json {
            output::write_json(answer)
        } else {
            output::write_data(&haft_contract::escape_controls(&text()))
        }
    }
}
