//! The results of a search: read from a provider's list, and bounded before a model sees them.

use haft_contract::is_invisible;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{SNIPPET_BYTES_MAX, TITLE_BYTES_MAX};
use crate::web_fetch::parse_url;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct SearchResult {
    pub(super) title: String,
    pub(super) url: String,
    pub(super) snippet: String,
}

impl SearchResult {
    /// Returns the results that a list holds, and skips items without a URL. `snippet` is the provider's name for snippets.
    pub(super) fn parse_list(list: &Value, snippet: &str) -> Option<Vec<Self>> {
        let text =
            |item: &Value, name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
        let results = list.as_array()?.iter().filter_map(|item| {
            let url = text(item, "url")?;
            let title = text(item, "title").unwrap_or_default();
            Some(Self { title, url, snippet: text(item, snippet).unwrap_or_default() })
        });
        Some(results.collect())
    }

    /// Returns the result within bounds, or `None` if its URL cannot be fetched.
    pub(super) fn bounded(self) -> Option<Self> {
        Some(Self {
            title: one_line(&self.title, TITLE_BYTES_MAX),
            // The URL as web_fetch would ask for it: the original may hold line feeds and invisible characters.
            url: parse_url(&self.url).ok()?.into(),
            snippet: one_line(&self.snippet, SNIPPET_BYTES_MAX),
        })
    }
}

fn one_line(text: &str, bytes_max: usize) -> String {
    // The owner of the page wrote the text. A person who looks at the results must see everything that a model reads.
    let visible: String =
        text.chars().filter(|one| one.is_whitespace() || !is_invisible(*one)).collect();
    let words: Vec<&str> = visible.split_whitespace().collect();
    let mut line = words.join(" ");
    if line.len() > bytes_max {
        line.truncate(line.floor_char_boundary(bytes_max));
        line.push('…');
    }
    line
}
