//! Who is asked by web_search, and what keeps a provider from being asked. Nobody is asked here.

use haft_tools::{SearchProvider, WebSearch};
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
pub(super) fn searches(search: &WebSearch) -> Vec<SearchReport> {
    let report = |provider: &SearchProvider| SearchReport {
        kind: provider.wire().name(),
        url: provider.base().to_string(),
        problem: provider.hindrance().map(str::to_owned),
    };
    search.providers.iter().map(report).collect()
}
