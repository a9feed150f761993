//! `tool_search`: finds tools by a few words. The host knows the tools, ranks them, and makes the found ones callable.

#[cfg(test)]
mod tests;

use haft_contract::limits::{TOOL_MATCHES_MAX, TOOL_QUERY_CHARS_MAX};
use haft_contract::{ConnectionStore, Cx, Tool, ToolError, ToolKind, ToolMatch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToolSearchInput {
    /// The tool's purpose in a few words, or its id.
    #[schemars(length(min = 1, max = TOOL_QUERY_CHARS_MAX))]
    query: String,
}

#[derive(Serialize)]
struct ToolSearchOutput {
    matches: Vec<ToolMatch>,
    /// A remark on them, such as that no tool fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

pub(crate) fn tool_search() -> Tool {
    Tool::new("tool_search")
        .description(
            "Find tools by what they do. Where there are many, not all are listed; those found here can be called from \
             then on, and are listed with their parameters.",
        )
        .kind(ToolKind::Search)
        .example_output(json!({"matches": [{"id": "a_tool", "description": "what it does"}]}))
        .keeps(ConnectionStore::FoundTools)
        .execute_with(|input: ToolSearchInput, cx: Cx| async move {
            // The first search of a session reads the data of every tool.
            let matches = cx.tool_index().find(&input.query, TOOL_MATCHES_MAX);
            // An empty list alone would be shown to a model as an empty text.
            let note = matches.is_empty().then_some("no tool fits: try other words");
            Ok::<_, ToolError>(ToolSearchOutput { matches, note })
        })
}
