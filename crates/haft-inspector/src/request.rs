//! A request for a page, taken apart: its path in segments, its query, its form and the secrets of a change. All of it comes
//! from a browser, so all of it may be anything.

use bytes::Bytes;
use haft_contract::{AttemptAddress, CallAddress, RunId};
use haft_server::BrowserSession;
use http::Method;

use crate::page_error::PageError;
use crate::text::url_part;

/// The header with the secret of the tab that asks for a change.
const TAB_HEADER: &str = "haft-tab";
/// The header with the number that allows the change.
const NONCE_HEADER: &str = "haft-nonce";

/// A request of a person's browser.
pub(crate) struct InspectorRequest {
    pub(crate) is_change: bool,
    /// The path without its first slash.
    pub(crate) segments: Vec<String>,
    query: Vec<(String, String)>,
    form: Vec<(String, String)>,
    pub(crate) browser: BrowserSession,
    pub(crate) tab: String,
    pub(crate) nonce: String,
}

impl InspectorRequest {
    /// Takes a request apart. `None` if the guard of the server did not see it.
    pub(crate) fn new(request: &http::Request<Bytes>) -> Option<Self> {
        let browser = *request.extensions().get::<BrowserSession>()?;
        let header = |name: &str| {
            let value = request.headers().get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        let path = request.uri().path().trim_start_matches('/');
        let segments = path.split('/').filter(|segment| !segment.is_empty());
        let is_change = request.method() == Method::POST;
        let body = String::from_utf8_lossy(request.body());
        Some(Self {
            is_change,
            segments: segments.map(|segment| decoded(segment, false)).collect(),
            query: pairs(request.uri().query().unwrap_or_default()),
            form: if is_change { pairs(&body) } else { Vec::new() },
            browser,
            tab: header(TAB_HEADER),
            nonce: header(NONCE_HEADER),
        })
    }

    /// Returns a value of the query, if it is there and not empty.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        value(&self.query, name)
    }

    /// Returns a value of the form, if it is there and not empty.
    pub(crate) fn form(&self, name: &str) -> Option<&str> {
        value(&self.form, name)
    }

    /// Returns all values that the form has for a name, without the empty ones.
    pub(crate) fn form_values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let values = self.form.iter().filter(move |(known, _)| known == name);
        values.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns the query without these names, as it is behind a `?`.
    pub(crate) fn query_without(&self, names: &[&str]) -> String {
        let kept = self
            .query
            .iter()
            .filter(|(name, value)| !names.contains(&name.as_str()) && !value.is_empty());
        let kept = kept.map(|(name, value)| format!("{}={}", url_part(name), url_part(value)));
        kept.collect::<Vec<_>>().join("&")
    }

    /// Returns a number of the query.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, PageError> {
        let Some(text) = self.query(name) else { return Ok(None) };
        let number = text.parse();
        let wrong = || PageError::bad_request(format!("{name}: expected a number, found {text:?}"));
        number.map(Some).map_err(|_| wrong())
    }
}

/// Parses the name of a run.
pub(crate) fn parse_run(text: &str) -> Result<RunId, PageError> {
    RunId::parse(text).map_err(|err| PageError::bad_request(err.to_string()))
}

/// Parses the five parts of a call's name.
pub(crate) fn parse_call(parts: &[String]) -> Result<CallAddress, PageError> {
    let [run, node, iteration, attempt, seq] = parts else {
        let found = parts.join("/");
        let message = format!("expected run/node/iteration/attempt/seq, found {found:?}");
        return Err(PageError::bad_request(message));
    };
    let number = |text: &String| {
        let number = text.parse::<u32>();
        number.map_err(|_| PageError::bad_request(format!("expected a number, found {text:?}")))
    };
    let scope = AttemptAddress {
        run: parse_run(run)?,
        node: node.clone(),
        iteration: number(iteration)?,
        attempt: number(attempt)?,
    };
    let scope = scope.validated().map_err(|err| PageError::bad_request(err.to_string()))?;
    Ok(CallAddress { scope, seq: number(seq)? })
}

/// Returns the path of a call's page.
pub(crate) fn call_url(call: &CallAddress) -> String {
    let AttemptAddress { run, node, iteration, attempt } = &call.scope;
    let (run, node) = (url_part(run.as_str()), url_part(node));
    format!("/calls/{run}/{node}/{iteration}/{attempt}/{}", call.seq)
}

/// Returns the path of a run's page.
pub(crate) fn run_url(run: &RunId) -> String {
    format!("/runs/{}", url_part(run.as_str()))
}

fn value<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = pairs.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
}

fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name, true), decoded(value, true))
    };
    pairs.map(pair).collect()
}

/// Returns a part of a URL without its escapes. Other text stays as it is.
fn decoded(part: &str, plus_is_space: bool) -> String {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        let escaped = match (first, after) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)).map(|(high, low)| high * 16 + low),
            _ => None,
        };
        match (escaped, first) {
            (Some(byte), _) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            (None, b'+') if plus_is_space => bytes.push(b' '),
            (None, other) => bytes.push(*other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_urls_are_read_back() {
        for text in ["a b", "ü/%?&=+#", "<script>", ""] {
            assert_eq!(decoded(&url_part(text), false), text);
            assert_eq!(decoded(&url_part(text), true), text);
        }
        assert_eq!(decoded("a+b%2", true), "a b%2");
        assert_eq!(decoded("%zz%ff", false), "%zz\u{fffd}");
        assert_eq!(
            pairs("a=1&b&=&c=x%26y"),
            [
                ("a".to_owned(), "1".to_owned()),
                ("b".to_owned(), String::new()),
                (String::new(), String::new()),
                ("c".to_owned(), "x&y".to_owned()),
            ]
        );
    }
}
