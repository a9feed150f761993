//! The providers that web_search asks, and known problems with them. haft sends no request here.

use haft_tools::{SearchProvider, WebSearchOptions};
use serde::Serialize;

/// A provider of searches.
#[derive(Serialize)]
pub(super) struct SearchReport {
    pub(super) kind: &'static str,
    pub(super) url: String,
    /// Why it cannot be asked, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
}

/// Returns the providers in the order of the manifest.
pub(super) fn search_reports(search: &WebSearchOptions) -> Vec<SearchReport> {
    let report = |provider: &SearchProvider| SearchReport {
        kind: provider.kind().name(),
        url: provider.base().to_string(),
        problem: provider.unavailable_reason().map(str::to_owned),
    };
    search.providers.iter().map(report).collect()
}
