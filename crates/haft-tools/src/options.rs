//! What the tools of a profile are told by whoever composes them: what only the operator can know. Without it, the tools
//! that need it say how it is given.

use crate::web_fetch::ExtractorProgram;
use crate::web_search::WebSearch;

/// What some tools are told. By default, nothing.
#[derive(Clone, Debug, Default)]
pub struct ToolOptions {
    /// What turns pages and documents into text.
    pub extractor: Option<ExtractorProgram>,
    /// Who is asked by web_search.
    pub web_search: WebSearch,
}
