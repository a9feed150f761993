//! The Tavily API: `search`, asked with JSON and a bearer key. Neither its answers nor the pages' content are asked for.

use haft_contract::{Method, NetRequest};
use serde_json::{Value, json};
use url::Url;

use super::result::SearchResult;

pub(super) const DEFAULT_URL: &str = "https://api.tavily.com/";

pub(super) fn request(url: Url, query: &str, results_max: u32, key: Option<&str>) -> NetRequest {
    let body = json!({"query": query, "max_results": results_max, "search_depth": "basic"});
    let mut headers = vec![
        ("accept".to_owned(), "application/json".to_owned()),
        ("content-type".to_owned(), "application/json".to_owned()),
    ];
    if let Some(key) = key {
        headers.push(("authorization".to_owned(), format!("Bearer {}", key)));
    }
    NetRequest {
        method: Method::Post,
        url: url.into(),
        headers,
        body: Some(body.to_string().into_bytes()),
    }
}

pub(super) fn results(answer: &Value) -> Option<Vec<SearchResult>> {
    SearchResult::parse_list(answer.get("results")?, "content")
}
