//! What the tools that use the web are told: who is asked by web_search, with keys of this environment, and that this very
//! program turns pages into text.

use haft_tools::{PageReaderProgram, ToolOptions, WebSearchOptions};

use crate::app_error::AppError;
use crate::host::AppHost;
use crate::settings::EffectiveSettings;

/// The hidden command that turns pages into text.
const EXTRACT_COMMAND: &str = "extract-worker";

/// Returns what the tools are told.
pub(super) fn options(
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<ToolOptions, AppError> {
    let extractor =
        PageReaderProgram { program: host.program()?, args: vec![EXTRACT_COMMAND.into()] };
    Ok(ToolOptions { page_reader: Some(extractor), web_search: search(settings, host) })
}

/// Returns who is asked by web_search.
pub fn search(settings: &EffectiveSettings, host: &AppHost) -> WebSearchOptions {
    settings.web_search.options(&|name| host.variable_text(name))
}
