//! The table `[web_search]` of a manifest: who is asked by web_search, how often and for how long. Keys are never written
//! here: they come from the environment, and a manifest can only say which variable holds one.

use haft_contract::limits::TIMEOUT_MS_MAX;
use haft_tools::{SEARCH_MS_DEFAULT, SEARCHES_DEFAULT, SearchProvider, SearchProviderKind};
use serde::Deserialize;

use super::problem::{KeyProblem, out_of_bounds};

/// Providers of searches.
///
/// Limit (settings): the manifest is refused.
pub const SEARCH_PROVIDERS_MAX: usize = 10;
/// Largest `web_search.calls_max`.
///
/// Limit (settings): the manifest is refused.
pub const SEARCHES_MAX: u32 = 10_000;

/// The values of the table. Every key is optional; a missing key has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WebSearchSection {
    /// The providers, one of which is each session's.
    pub providers: Vec<ProviderEntry>,
    /// Searches of one session.
    pub calls_max: Option<u32>,
    /// Milliseconds for one search.
    pub timeout_ms: Option<u64>,
}

/// One provider.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderEntry {
    /// How it is spoken to.
    pub kind: String,
    /// Where it is, instead of its usual place.
    pub url: Option<String>,
    /// The environment variable that holds the key, instead of the usual one.
    pub key_variable: Option<String>,
}

impl WebSearchSection {
    /// Returns the keys whose values cannot be used, and what is wrong with them.
    pub(super) fn problems(&self) -> Vec<KeyProblem> {
        let calls = self.calls_max.map(u64::from);
        let calls = out_of_bounds("calls_max", calls, 1..=SEARCHES_MAX.into(), "searches");
        let time = 1..=TIMEOUT_MS_MAX;
        let time = out_of_bounds("timeout_ms", self.timeout_ms, time, "milliseconds");
        let count = (self.providers.len() > SEARCH_PROVIDERS_MAX).then(|| {
            let found = self.providers.len();
            (
                "providers",
                format!("expected at most {SEARCH_PROVIDERS_MAX} providers, found {found}"),
            )
        });
        let wrong = self.providers.iter().filter_map(ProviderEntry::problem);
        let wrong = wrong.map(|message| ("providers", message));
        calls.into_iter().chain(time).chain(count).chain(wrong).collect()
    }

    /// Returns what the tool is told, with keys that `lookup` finds.
    pub fn options(&self, lookup: &dyn Fn(&str) -> Option<String>) -> haft_tools::WebSearchOptions {
        let providers = self.providers.iter().filter_map(|entry| entry.provider(lookup));
        haft_tools::WebSearchOptions {
            providers: providers.collect(),
            calls_max: self.calls_max.unwrap_or(SEARCHES_DEFAULT),
            timeout_ms: self.timeout_ms.unwrap_or(SEARCH_MS_DEFAULT),
        }
    }
}

impl ProviderEntry {
    /// Returns the entry as a manifest spells it, without its key.
    pub(crate) fn summary(&self) -> String {
        let key = self.key_variable.as_ref().map(|name| format!(", key_variable = {name:?}"));
        let url = self.url.as_ref().map(|url| format!(", url = {url:?}"));
        let (url, key) = (url.unwrap_or_default(), key.unwrap_or_default());
        format!("web_search.providers = [{{ kind = {:?}{url}{key} }}]", self.kind)
    }

    /// Says what is wrong with an entry that can be seen without a key.
    fn problem(&self) -> Option<String> {
        let wire: SearchProviderKind = match self.kind.parse() {
            Ok(wire) => wire,
            Err(err) => return Some(format!("kind: {err}")),
        };
        if let Err(err) = SearchProvider::base_url(wire, self.url.as_deref()) {
            return Some(format!("{}: {err}", self.kind));
        }
        // Keys hold small letters. One that was put here by mistake must not become part of a message.
        let is_plain = |one: u8| one.is_ascii_uppercase() || one.is_ascii_digit() || one == b'_';
        let is_name = |name: &String| !name.is_empty() && name.bytes().all(is_plain);
        (!self.key_variable.as_ref().is_none_or(is_name)).then(|| {
            "key_variable: expected the name of an environment variable, in capitals, and not a key".to_owned()
        })
    }

    /// Returns the name of the variable that holds the key, if the provider needs one.
    pub fn variable(&self) -> Option<&str> {
        let usual = || self.kind.parse::<SearchProviderKind>().ok()?.key_variable();
        self.key_variable.as_deref().or_else(usual)
    }

    /// Returns the provider with its key. Returns `None` if the key is missing or the entry is not valid.
    fn provider(&self, lookup: &dyn Fn(&str) -> Option<String>) -> Option<SearchProvider> {
        let wire: SearchProviderKind = self.kind.parse().ok()?;
        let url = self.url.as_deref();
        let with_key = |key| SearchProvider::new(wire, url, key).map_err(|err| err.to_string());
        let found = match self.variable() {
            None => with_key(None),
            Some(variable) => match lookup(variable) {
                None => Err(format!(
                    "its key is missing: put it into the environment variable {variable}"
                )),
                Some(text) => haft_tools::SearchApiKey::new(&text)
                    .map_err(|err| format!("{variable} cannot be used: {err}"))
                    .and_then(|key| with_key(Some(key))),
            },
        };
        match found {
            Ok(provider) => Some(provider),
            Err(why) => SearchProvider::unavailable(wire, url, why).ok(),
        }
    }
}

#[cfg(test)]
mod tests;
