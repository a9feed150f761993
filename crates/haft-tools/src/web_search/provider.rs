//! A provider of searches: where it is asked, with which key, and what is made of its answer. What it sends is only data
//! here; keys are in requests and nowhere else.

use std::fmt;
use std::str::FromStr;

use haft_contract::{Cx, ErrorCode, NetRequest, NetResponse, ToolError, is_invisible};
use serde_json::Value;
use url::Url;

use super::{
    ANSWER_BYTES_MAX, SNIPPET_BYTES_MAX, SearchResult, TITLE_BYTES_MAX, brave, searxng, tavily,
};
use crate::web_fetch::{parse_url, status_text};

/// What is repeated of a provider's complaint, in characters.
const COMPLAINT_CHARS_MAX: usize = 300;

/// How a provider is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SearchProviderKind {
    /// An instance of SearXNG, anybody's own.
    Searxng,
    /// The Brave Search API.
    Brave,
    /// The Tavily API.
    Tavily,
}

/// No provider is spoken to in a way of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind {0:?}: expected \"searxng\", \"brave\" or \"tavily\"")]
pub struct UnknownSearchProviderKind(pub String);

/// Says why a provider cannot be asked. Keys are not repeated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SearchProviderError {
    /// It is anybody's own, and nobody said where it is.
    #[error("url: expected where the instance is, such as \"https://searx.example.org\"")]
    MissingUrl,
    /// Its URL cannot be asked.
    #[error("{0}")]
    InvalidUrl(String),
    /// It answers nobody without a key.
    #[error("{0} answers nobody without a key")]
    MissingKey(&'static str),
    /// A key would go over the network for everybody to read.
    #[error("url: a key would go to {0} unencrypted: use https")]
    Unencrypted(String),
    /// The key cannot be part of a header.
    #[error(
        "the key is empty, or holds a character that no key has, such as a line feed or a space"
    )]
    InvalidKey,
}

/// A key, which is shown to nobody but the provider.
#[derive(Clone, PartialEq, Eq)]
pub struct SearchApiKey(String);

/// Who is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchProvider {
    kind: SearchProviderKind,
    base: Url,
    key: Option<SearchApiKey>,
    /// Why it cannot be asked now, if so.
    unavailable_reason: Option<String>,
}

impl SearchProviderKind {
    /// Returns the name that settings use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Searxng => "searxng",
            Self::Brave => "brave",
            Self::Tavily => "tavily",
        }
    }

    /// Returns the environment variable that usually holds the key, if it needs one.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Searxng => None,
            Self::Brave => Some("BRAVE_API_KEY"),
            Self::Tavily => Some("TAVILY_API_KEY"),
        }
    }

    fn default_url(self) -> Option<&'static str> {
        match self {
            Self::Searxng => None,
            Self::Brave => Some(brave::DEFAULT_URL),
            Self::Tavily => Some(tavily::DEFAULT_URL),
        }
    }
}

impl FromStr for SearchProviderKind {
    type Err = UnknownSearchProviderKind;

    fn from_str(name: &str) -> Result<Self, UnknownSearchProviderKind> {
        let all = [Self::Searxng, Self::Brave, Self::Tavily];
        all.into_iter()
            .find(|wire| wire.name() == name)
            .ok_or_else(|| UnknownSearchProviderKind(name.to_owned()))
    }
}

impl SearchApiKey {
    /// Returns a key, if it can be sent.
    pub fn new(text: &str) -> Result<Self, SearchProviderError> {
        let text = text.trim();
        let is_good = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_good { Ok(Self(text.to_owned())) } else { Err(SearchProviderError::InvalidKey) }
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SearchApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SearchKey(…)")
    }
}

impl SearchProvider {
    /// Returns a provider at a URL, or else at its usual place.
    pub fn new(
        wire: SearchProviderKind,
        url: Option<&str>,
        key: Option<SearchApiKey>,
    ) -> Result<Self, SearchProviderError> {
        let base = Self::base_url(wire, url)?;
        if wire.key_variable().is_some() && key.is_none() {
            return Err(SearchProviderError::MissingKey(wire.name()));
        }
        if key.is_some() && base.scheme() == "http" && !is_loopback(&base) {
            return Err(SearchProviderError::Unencrypted(base.into()));
        }
        Ok(Self { kind: wire, base, key, unavailable_reason: None })
    }

    /// Returns a provider that cannot be asked now, for this reason. The sessions that are its own hear of it, instead of
    /// being another one's while something is missing.
    pub fn unavailable(
        wire: SearchProviderKind,
        url: Option<&str>,
        why: String,
    ) -> Result<Self, SearchProviderError> {
        Ok(Self {
            kind: wire,
            base: Self::base_url(wire, url)?,
            key: None,
            unavailable_reason: Some(why),
        })
    }

    /// Returns where a provider is asked. What is wrong with that can be said without a key.
    pub fn base_url(
        wire: SearchProviderKind,
        url: Option<&str>,
    ) -> Result<Url, SearchProviderError> {
        let text = url.or(wire.default_url()).ok_or(SearchProviderError::MissingUrl)?;
        let mut base =
            parse_url(text).map_err(|err| SearchProviderError::InvalidUrl(err.message))?;
        if base.query().is_some() || base.fragment().is_some() {
            let message =
                "url: expected no query and no fragment: keys belong into the environment";
            return Err(SearchProviderError::InvalidUrl(message.to_owned()));
        }
        if !base.path().ends_with('/') {
            let path = format!("{}/", base.path());
            base.set_path(&path);
        }
        Ok(base)
    }

    /// Returns how it is spoken to.
    pub fn kind(&self) -> SearchProviderKind {
        self.kind
    }

    /// Returns why it cannot be asked now, if so.
    pub fn unavailable_reason(&self) -> Option<&str> {
        self.unavailable_reason.as_deref()
    }

    /// Returns where it is asked.
    pub fn base(&self) -> &Url {
        &self.base
    }

    /// Asks, and returns what was found, best first.
    pub(super) async fn search(
        &self,
        query: &str,
        results_max: u32,
        cx: &Cx,
    ) -> Result<Vec<SearchResult>, ToolError> {
        if let Some(why) = &self.unavailable_reason {
            return Err(self.search_error(ErrorCode::Unavailable, why));
        }
        let key = self.key.as_ref();
        let request = match self.kind {
            SearchProviderKind::Searxng => searxng::request(&self.base, query, key),
            SearchProviderKind::Brave => brave::request(&self.base, query, results_max, key),
            SearchProviderKind::Tavily => tavily::request(&self.base, query, results_max, key),
        };
        let answer = self
            .send_request(request.map_err(|err| self.search_error(err.code, &err.message))?, cx)
            .await?;
        let found = match self.kind {
            SearchProviderKind::Searxng => searxng::results(&answer),
            SearchProviderKind::Brave => brave::results(&answer),
            SearchProviderKind::Tavily => tavily::results(&answer),
        };
        let found = found.ok_or_else(|| {
            self.search_error(ErrorCode::Unavailable, "its answer holds no list of results")
        })?;
        let results_max = usize::try_from(results_max).unwrap_or(usize::MAX);
        let found = found.into_iter().map(|SearchResult { title, url, snippet }| SearchResult {
            title: self.without_key(&title),
            url: self.without_key(&url),
            snippet: self.without_key(&snippet),
        });
        Ok(found.filter_map(limit_result).take(results_max).collect())
    }

    async fn send_request(&self, request: NetRequest, cx: &Cx) -> Result<Value, ToolError> {
        let sent = cx.net().send(request).await;
        let response = sent.map_err(|err| self.search_error(err.code, &err.message))?;
        let status = response.status;
        let body =
            read_body(response).await.map_err(|err| self.search_error(err.code, &err.message))?;
        let parsed = serde_json::from_slice::<Value>(&body);
        if !(200..300).contains(&status) {
            let answer = parsed.unwrap_or_default();
            let complaint = error_detail(&answer).unwrap_or_default();
            // A key that the bound cuts in two would not be found any more.
            let complaint = shortened(&self.without_key(complaint));
            let advice = self.status_hint(status);
            let status = status_text(status);
            let said = if complaint.is_empty() { String::new() } else { format!(": {complaint}") };
            let message = format!("it answered {status}{said}{advice}");
            return Err(self.search_error(ErrorCode::Unavailable, &message));
        }
        parsed.map_err(|err| {
            self.search_error(ErrorCode::Unavailable, &format!("its answer is not JSON ({err})"))
        })
    }

    fn status_hint(&self, status: u16) -> &'static str {
        match (self.kind, status) {
            (SearchProviderKind::Searxng, 403) => {
                "; an instance answers in JSON only if its settings.yml has json among search.formats"
            }
            (SearchProviderKind::Brave | SearchProviderKind::Tavily, 401 | 403) => {
                "; check the key"
            }
            (_, 429 | 432) => "; its limit is reached",
            (_, 300..=399) => {
                "; it leads elsewhere, which is not followed: name the URL that it leads to"
            }
            _ => "",
        }
    }

    /// Returns the error of a search, in which there is no key, whatever the provider said.
    fn search_error(&self, code: ErrorCode, why: &str) -> ToolError {
        let host = self.base.host_str().unwrap_or_default();
        let message = format!("the search provider {} ({host}) failed: {why}", self.kind.name());
        ToolError::new(code, self.without_key(&message))
    }

    /// Returns what a provider says without the key, which some repeat.
    fn without_key(&self, text: &str) -> String {
        match &self.key {
            Some(key) => text.replace(key.text(), "[key]"),
            None => text.to_owned(),
        }
    }
}

async fn read_body(mut response: NetResponse) -> Result<Vec<u8>, ToolError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.body.chunk().await? {
        body.extend_from_slice(&chunk);
        if body.len() > ANSWER_BYTES_MAX {
            let message = format!("its answer is more than {ANSWER_BYTES_MAX} bytes");
            return Err(ToolError::new(ErrorCode::Unavailable, message));
        }
    }
    Ok(body)
}

/// Returns what a provider says is wrong, wherever it puts that.
fn error_detail(answer: &Value) -> Option<&str> {
    let places =
        ["/error/detail", "/detail/error", "/error/message", "/detail", "/error", "/message"];
    places.iter().find_map(|place| answer.pointer(place)?.as_str())
}

fn shortened(complaint: &str) -> String {
    let text: String =
        complaint.chars().filter(|char| !char.is_control()).take(COMPLAINT_CHARS_MAX).collect();
    text.trim_end_matches('.').to_owned()
}

/// Returns a result within bounds; nothing for one that leads nowhere.
pub(super) fn limit_result(result: SearchResult) -> Option<SearchResult> {
    let SearchResult { title, url, snippet } = result;
    Some(SearchResult {
        title: one_line(&title, TITLE_BYTES_MAX),
        // As it would be asked for: as it came it may hold line feeds and what nobody sees.
        url: parse_url(&url).ok()?.into(),
        snippet: one_line(&snippet, SNIPPET_BYTES_MAX),
    })
}

fn one_line(text: &str, bytes_max: usize) -> String {
    // Whoever owns the page wrote it, and a person who looks at the results should see all of what a model reads.
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

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Returns the URL of an endpoint below the base.
pub(super) fn endpoint(base: &Url, path: &str) -> Result<Url, ToolError> {
    base.join(path).map_err(|err| {
        ToolError::new(ErrorCode::Unavailable, format!("its URL cannot be used: {err}"))
    })
}

/// Returns the results that a list holds; what is none of them is left out.
pub(super) fn parse_results(list: &Value, snippet: &str) -> Option<Vec<SearchResult>> {
    let text = |item: &Value, name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
    let results = list.as_array()?.iter().filter_map(|item| {
        let url = text(item, "url")?;
        let title = text(item, "title").unwrap_or_default();
        Some(SearchResult { title, url, snippet: text(item, snippet).unwrap_or_default() })
    });
    Some(results.collect())
}
