//! The Brave Search API: `web/search`, with the key in a separate header. Highlighting is switched off, or else snippets
//! would hold markup.

use haft_contract::NetRequest;
use serde_json::Value;
use url::Url;

use super::result::SearchResult;

/// HTML escapes and their characters. The ampersand is last, so that nothing is replaced twice.
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
    mut url: Url,
    query: &str,
    results_max: u32,
    key: Option<&str>,
) -> NetRequest {
    url.query_pairs_mut()
        .append_pair("q", query)
        .append_pair("count", &results_max.to_string())
        .append_pair("text_decorations", "false")
        .append_pair("result_filter", "web");
    let mut request = NetRequest::get(url);
    request.headers.push(("accept".to_owned(), "application/json".to_owned()));
    if let Some(key) = key {
        request.headers.push(("x-subscription-token".to_owned(), key.to_owned()));
    }
    request
}

pub(super) fn results(answer: &Value) -> Option<Vec<SearchResult>> {
    match answer.get("web") {
        Some(web) => {
            // Brave escapes titles and descriptions for HTML.
            let plain =
                |text: String| ESCAPES.iter().fold(text, |text, (from, to)| text.replace(from, to));
            let results = SearchResult::parse_list(web.get("results")?, "description")?.into_iter();
            let unescaped = results.map(|SearchResult { title, url, snippet }| SearchResult {
                title: plain(title),
                url,
                snippet: plain(snippet),
            });
            Some(unescaped.collect())
        }
        // Where nothing was found, there is no such part.
        None if answer.get("type").is_some_and(|kind| kind == "search") => Some(Vec::new()),
        None => None,
    }
}
