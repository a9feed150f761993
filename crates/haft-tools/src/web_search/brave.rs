//! The Brave Search API: `web/search`, with the key in a header of its own. Highlighting is switched off, or else snippets
//! would hold markup.

use haft_contract::{NetRequest, ToolError};
use serde_json::Value;
use url::Url;

use super::SearchResult;
use super::provider::{SearchApiKey, endpoint, parse_results};

/// What stands for what in text of a page; the ampersand is last, so that nothing is replaced twice.
const ESCAPES: &[(&str, &str)] = &[
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&nbsp;", " "),
    ("&amp;", "&"),
];

pub(super) const DEFAULT_URL: &str = "https://api.search.brave.com/res/v1/";

pub(super) fn request(
    base: &Url,
    query: &str,
    results_max: u32,
    key: Option<&SearchApiKey>,
) -> Result<NetRequest, ToolError> {
    let mut url = endpoint(base, "web/search")?;
    url.query_pairs_mut()
        .append_pair("q", query)
        .append_pair("count", &results_max.to_string())
        .append_pair("text_decorations", "false")
        .append_pair("result_filter", "web");
    let mut request = NetRequest::get(url);
    request.headers.push(("accept".to_owned(), "application/json".to_owned()));
    if let Some(key) = key {
        request.headers.push(("x-subscription-token".to_owned(), key.text().to_owned()));
    }
    Ok(request)
}

pub(super) fn results(answer: &Value) -> Option<Vec<SearchResult>> {
    match answer.get("web") {
        Some(web) => {
            let results = parse_results(web.get("results")?, "description")?.into_iter();
            Some(results.map(unescaped).collect())
        }
        // Where nothing was found, there is no such part.
        None if answer.get("type").is_some_and(|kind| kind == "search") => Some(Vec::new()),
        None => None,
    }
}

/// Titles and descriptions are made for pages, and escaped as such.
fn unescaped(result: SearchResult) -> SearchResult {
    let plain = |text: &str| {
        ESCAPES.iter().fold(text.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
    };
    SearchResult { title: plain(&result.title), url: result.url, snippet: plain(&result.snippet) }
}
