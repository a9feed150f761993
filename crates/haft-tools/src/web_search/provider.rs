//! A provider of searches: its URL, its key, one search, and the errors of a search. Keys are in requests and nowhere else.

use std::fmt;
use std::str::FromStr;

use haft_contract::{Cx, ErrorCode, ToolError};
use serde_json::Value;
use url::Url;

use super::result::SearchResult;
use super::{ANSWER_BYTES_MAX, brave, searxng, tavily};
use crate::web_fetch::{parse_url, status_text};

/// Longest part of a provider's error message that haft repeats, in characters.
const COMPLAINT_CHARS_MAX: usize = 300;

/// The protocol of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SearchProviderKind {
    /// An instance of SearXNG.
    Searxng,
    /// The Brave Search API.
    Brave,
    /// The Tavily API.
    Tavily,
}

/// A kind of provider with that name does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind {0:?}: expected \"searxng\", \"brave\" or \"tavily\"")]
pub struct UnknownSearchProviderKind(pub String);

/// Says why a provider cannot be asked. Keys are not repeated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SearchProviderError {
    /// The kind has no usual URL, and the settings name none.
    #[error("url: expected where the instance is, such as \"https://searx.example.org\"")]
    MissingUrl,
    /// Its URL cannot be asked.
    #[error("{0}")]
    InvalidUrl(String),
    /// The provider requires a key, and none was given.
    #[error("{0} requires a key")]
    MissingKey(&'static str),
    /// A key would go over the network unencrypted.
    #[error("url: a key would go to {0} unencrypted: use https")]
    Unencrypted(String),
    /// The key cannot be part of a header.
    #[error(
        "the key is empty, or holds a character that no key has, such as a line feed or a space"
    )]
    InvalidKey,
}

/// A key. haft sends it to the provider and shows it nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct SearchApiKey(String);

/// A provider of searches.
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
        let is_loopback = match base.host() {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        if key.is_some() && base.scheme() == "http" && !is_loopback {
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

    /// Returns the URL of a provider, checked. This needs no key.
    pub fn base_url(
        wire: SearchProviderKind,
        url: Option<&str>,
    ) -> Result<Url, SearchProviderError> {
        let usual_url = match wire {
            SearchProviderKind::Searxng => None,
            SearchProviderKind::Brave => Some(brave::DEFAULT_URL),
            SearchProviderKind::Tavily => Some(tavily::DEFAULT_URL),
        };
        let text = url.or(usual_url).ok_or(SearchProviderError::MissingUrl)?;
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
        let unavailable = |why: &str| self.search_error(ErrorCode::Unavailable, why);
        let endpoint = |path: &str| {
            let url = self.base.join(path);
            url.map_err(|err| unavailable(&format!("its URL cannot be used: {err}")))
        };
        let key = self.key.as_ref().map(|key| key.0.as_str());
        let request = match self.kind {
            SearchProviderKind::Searxng => searxng::request(endpoint("search")?, query, key),
            SearchProviderKind::Brave => {
                brave::request(endpoint("web/search")?, query, results_max, key)
            }
            SearchProviderKind::Tavily => {
                tavily::request(endpoint("search")?, query, results_max, key)
            }
        };
        let failed = |err: ToolError| self.search_error(err.code, &err.message);
        let mut response = cx.net().send(request).await.map_err(failed)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.body.chunk().await.map_err(failed)? {
            body.extend_from_slice(&chunk);
            if body.len() > ANSWER_BYTES_MAX {
                return Err(unavailable(&format!(
                    "its answer is more than {ANSWER_BYTES_MAX} bytes"
                )));
            }
        }
        let parsed = serde_json::from_slice::<Value>(&body);
        if !(200..300).contains(&response.status) {
            let answer = parsed.unwrap_or_default();
            let places = [
                "/error/detail",
                "/detail/error",
                "/error/message",
                "/detail",
                "/error",
                "/message",
            ];
            let complaint = places.iter().find_map(|place| answer.pointer(place)?.as_str());
            // The key goes first: the bound could cut it in two, and then it would not be found any more.
            let complaint = self.without_key(complaint.unwrap_or_default());
            let visible = complaint.chars().filter(|char| !char.is_control());
            let complaint: String = visible.take(COMPLAINT_CHARS_MAX).collect();
            let complaint = complaint.trim_end_matches('.');
            let said = if complaint.is_empty() { String::new() } else { format!(": {complaint}") };
            let advice = match (self.kind, response.status) {
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
            };
            let message = format!("it answered {}{said}{advice}", status_text(response.status));
            return Err(unavailable(&message));
        }
        let answer =
            parsed.map_err(|err| unavailable(&format!("its answer is not JSON ({err})")))?;
        let found = match self.kind {
            SearchProviderKind::Searxng => searxng::results(&answer),
            SearchProviderKind::Brave => brave::results(&answer),
            SearchProviderKind::Tavily => tavily::results(&answer),
        };
        let found = found.ok_or_else(|| unavailable("its answer holds no list of results"))?;
        let results_max = usize::try_from(results_max).unwrap_or(usize::MAX);
        let found = found.into_iter().map(|SearchResult { title, url, snippet }| SearchResult {
            title: self.without_key(&title),
            url: self.without_key(&url),
            snippet: self.without_key(&snippet),
        });
        Ok(found.filter_map(SearchResult::bounded).take(results_max).collect())
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
            Some(key) => text.replace(&key.0, "[key]"),
            None => text.to_owned(),
        }
    }
}
