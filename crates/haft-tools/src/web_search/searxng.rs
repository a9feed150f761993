//! SearXNG, as its search API is documented: `/search` with `format=json`. It has no bound of its own for results.

use haft_contract::{NetRequest, ToolError};
use serde_json::Value;
use url::Url;

use super::SearchResult;
use super::provider::{SearchApiKey, endpoint, parse_results};

/// Returns the request. An instance by itself knows no keys; one behind a guard may.
pub(super) fn request(
    base: &Url,
    query: &str,
    key: Option<&SearchApiKey>,
) -> Result<NetRequest, ToolError> {
    let mut url = endpoint(base, "search")?;
    url.query_pairs_mut().append_pair("q", query).append_pair("format", "json");
    let mut request = NetRequest::get(url);
    request.headers.push(("accept".to_owned(), "application/json".to_owned()));
    if let Some(key) = key {
        request.headers.push(("authorization".to_owned(), format!("Bearer {}", key.text())));
    }
    Ok(request)
}

pub(super) fn results(answer: &Value) -> Option<Vec<SearchResult>> {
    parse_results(answer.get("results")?, "content")
}
