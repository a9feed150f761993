//! The challenge in a server's refusal: the address of its metadata, and the scopes that a token needs.

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::client) struct Challenge {
    pub(in crate::client) resource_metadata: Option<String>,
    pub(in crate::client) scopes: Vec<String>,
    /// Whether a token was there and allows too little.
    pub(in crate::client) is_scope_missing: bool,
}

/// Returns the challenge of a refusal; `None` if it says nothing about tokens.
pub(in crate::client) fn challenge(headers: &HeaderMap) -> Option<Challenge> {
    let values = headers.get_all(WWW_AUTHENTICATE).into_iter();
    let mut values = values.filter_map(|value| value.to_str().ok());
    let parameters = values.find_map(bearer_parameters)?;
    let mut challenge = Challenge::default();
    for (name, value) in Parameters(parameters) {
        match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => challenge.resource_metadata = Some(value),
            "scope" => challenge.scopes = value.split_whitespace().map(str::to_owned).collect(),
            "error" => challenge.is_scope_missing = value == "insufficient_scope",
            _ => {}
        }
    }
    Some(challenge)
}

/// Returns the parameters of the scheme for tokens, and everything after them. Other schemes may come before it.
fn bearer_parameters(value: &str) -> Option<&str> {
    const SCHEME: &str = "bearer";
    let lower = value.to_ascii_lowercase();
    let mut is_quoted = false;
    let mut is_start = true;
    for (at, char) in lower.char_indices() {
        let rest = lower.get(at..)?;
        if is_start && !is_quoted && rest.starts_with(SCHEME) {
            let after = at + SCHEME.len();
            if lower.get(after..)?.chars().next().is_none_or(|next| next.is_ascii_whitespace()) {
                return value.get(after..);
            }
        }
        is_quoted ^= char == '"';
        is_start = matches!(char, ',' | ' ' | '\t');
    }
    None
}

/// Reads `name=value` and `name="value"`, one after the other, until something else comes.
struct Parameters<'a>(&'a str);

impl Iterator for Parameters<'_> {
    type Item = (String, String);

    fn next(&mut self) -> Option<(String, String)> {
        let text = self.0.trim_start_matches([',', ' ', '\t']);
        let (name, rest) = text.split_once('=')?;
        let name = name.trim();
        // A space in it is another scheme, whose parameters are of no concern.
        if name.contains([' ', '\t', ',', '"']) {
            return None;
        }
        let (value, rest) = match rest.trim_start().strip_prefix('"') {
            Some(quoted) => {
                let mut value = String::new();
                let mut chars = quoted.char_indices();
                loop {
                    match chars.next()? {
                        (at, '"') => break (value, quoted.get(at + 1..)?),
                        (_, '\\') => value.push(chars.next()?.1),
                        (_, char) => value.push(char),
                    }
                }
            }
            None => {
                let end = rest.find([',', ' ']).unwrap_or(rest.len());
                (rest.get(..end)?.trim().to_owned(), rest.get(end..)?)
            }
        };
        self.0 = rest;
        Some((name.to_owned(), value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_read() {
        let check = |value: &str, expect: Option<(&str, &str, bool)>| {
            let headers = HeaderMap::from_iter([(WWW_AUTHENTICATE, value.parse().unwrap())]);
            let found = challenge(&headers).map(|challenge| {
                let metadata = challenge.resource_metadata.unwrap_or_default();
                (metadata, challenge.scopes.join(" "), challenge.is_scope_missing)
            });
            let expect = expect.map(|(metadata, scopes, is_missing)| {
                (metadata.to_owned(), scopes.to_owned(), is_missing)
            });
            assert_eq!(found, expect, "{value}");
        };
        check("Bearer", Some(("", "", false)));
        check("Basic realm=\"x\"", None);
        check("Basic realm=\"bearer x\"", None);
        check(
            "Bearer scope=\"a b\", resource_metadata=\"https://a.example/x?y=1,2\"",
            Some(("https://a.example/x?y=1,2", "a b", false)),
        );
        check("Basic realm=\"x\", bearer error=insufficient_scope,scope=a", Some(("", "a", true)));
        check("Bearer realm=\"a \\\"quote\\\"\", scope=\"b\"", Some(("", "b", false)));
        check("Bearer scope=\"never ends", Some(("", "", false)));
        check("Bearer scope=a, Basic realm=\"x\"", Some(("", "a", false)));
    }
}
