//! What the tools of a profile are told by whoever composes them: what only the operator can know. Without it, the tools
//! that need it say how it is given.

use crate::web_fetch::PageReaderProgram;
use crate::web_search::WebSearchOptions;

/// What some tools are told. By default, nothing.
#[derive(Clone, Debug, Default)]
pub struct ToolOptions {
    /// What turns pages and documents into text.
    pub page_reader: Option<PageReaderProgram>,
    /// Who is asked by web_search.
    pub web_search: WebSearchOptions,
}
