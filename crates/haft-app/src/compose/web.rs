//! The options of the tools that use the web: the providers of web_search with their keys, and this program as the reader
//! that turns pages into text.

use haft_tools::{PageReaderProgram, ToolOptions, WebSearchOptions};

use crate::app_error::AppError;
use crate::host::AppHost;
use crate::settings::EffectiveSettings;

/// The hidden command that turns pages into text.
const EXTRACT_COMMAND: &str = "extract-worker";

/// Returns the options of the tools.
pub(super) fn options(
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<ToolOptions, AppError> {
    let extractor =
        PageReaderProgram { program: host.program()?, args: vec![EXTRACT_COMMAND.into()] };
    Ok(ToolOptions { page_reader: Some(extractor), web_search: search(settings, host) })
}

/// Returns the providers that web_search asks, with the keys that the environment of `host` holds.
pub fn search(settings: &EffectiveSettings, host: &AppHost) -> WebSearchOptions {
    settings.web_search.options(&|name| host.variable_text(name))
}
