//! The settings of tools that only the operator knows. Without a setting, the tool that needs it says how to set it.

use crate::web_fetch::PageReaderProgram;
use crate::web_search::WebSearchOptions;

/// The settings of some tools. By default, none are set.
#[derive(Clone, Debug, Default)]
pub struct ToolOptions {
    /// The program that converts pages and documents to text.
    pub page_reader: Option<PageReaderProgram>,
    /// The providers and limits of web_search.
    pub web_search: WebSearchOptions,
}
