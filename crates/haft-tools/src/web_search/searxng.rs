//! SearXNG, as its search API is documented: `/search` with `format=json`. It takes no bound for the number of results.

use haft_contract::NetRequest;
use serde_json::Value;
use url::Url;

use super::result::SearchResult;

/// Returns the request. SearXNG itself knows no keys; a proxy in front of it may.
pub(super) fn request(mut url: Url, query: &str, key: Option<&str>) -> NetRequest {
    url.query_pairs_mut().append_pair("q", query).append_pair("format", "json");
    let mut request = NetRequest::get(url);
    request.headers.push(("accept".to_owned(), "application/json".to_owned()));
    if let Some(key) = key {
        request.headers.push(("authorization".to_owned(), format!("Bearer {}", key)));
    }
    request
}

pub(super) fn results(answer: &Value) -> Option<Vec<SearchResult>> {
    SearchResult::parse_list(answer.get("results")?, "content")
}
