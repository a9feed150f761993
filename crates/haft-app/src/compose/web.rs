//! The options of the tools that use the web: the providers of web_search with their keys, and the program that turns pages
//! into text.

use haft_tools::{PageReaderProgram, ToolOptions, WebSearchOptions};

use crate::app_error::AppError;
use crate::host::AppHost;
use crate::settings::EffectiveSettings;

/// The program that turns pages into text.
const READER: &str = "haft-reader";

/// Returns the options of the tools.
pub(super) fn options(
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<ToolOptions, AppError> {
    let program = host.companion(READER)?;
    let page_reader = program.is_file().then(|| PageReaderProgram { program, args: Vec::new() });
    Ok(ToolOptions { page_reader, web_search: search(settings, host) })
}

/// Returns the providers that web_search asks, with the keys that the environment of `host` holds.
pub fn search(settings: &EffectiveSettings, host: &AppHost) -> WebSearchOptions {
    settings.web_search.options(&|name| host.variable_text(name))
}
