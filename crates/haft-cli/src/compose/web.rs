//! What the tools that use the web are told: who is asked by web_search, with keys of this environment, and that this very
//! program turns pages into text.

use haft_tools::{ExtractorProgram, ToolOptions, WebSearch};

use super::helper;
use crate::error::CommandError;
use crate::settings::Settings;

/// The hidden command that turns pages into text.
const EXTRACT_COMMAND: &str = "extract-worker";

/// Returns what the tools are told.
pub(super) fn options(settings: &Settings) -> Result<ToolOptions, CommandError> {
    let extractor = ExtractorProgram { program: helper()?, args: vec![EXTRACT_COMMAND.into()] };
    Ok(ToolOptions { extractor: Some(extractor), web_search: search(settings) })
}

/// Returns who is asked by web_search.
pub(crate) fn search(settings: &Settings) -> WebSearch {
    let key = |name: &str| Some(std::env::var_os(name)?.to_string_lossy().into_owned());
    settings.web_search.options(&key)
}
