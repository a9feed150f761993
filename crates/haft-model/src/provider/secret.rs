//! A key: it can be sent, and redacted from text. It cannot be printed.

use std::fmt;

use reqwest::header::HeaderValue;

use crate::limits::{KEY_BYTES_MAX, KEY_PART_BYTES_MIN};

/// The replacement for a key in a text.
const REDACTED: &str = "[key]";

#[derive(Clone)]
pub(super) struct ProviderKey(String);

impl ProviderKey {
    /// Creates a key from the value of `variable`.
    pub(super) fn new(key: &str, variable: &str) -> Result<Self, String> {
        let key = key.trim();
        if key.is_empty() {
            return Err(format!("{variable} is empty: set it to the key"));
        }
        if key.len() > KEY_BYTES_MAX || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!(
                "what {variable} contains is not a key: expected at most {KEY_BYTES_MAX} letters, digits and marks without spaces"
            ));
        }
        Ok(Self(key.to_owned()))
    }

    /// Returns the key as a header value that logs do not show.
    pub(super) fn header(&self, before: &str) -> Result<HeaderValue, String> {
        let mut value = HeaderValue::try_from(format!("{before}{}", self.0))
            .map_err(|_| "the key cannot be sent as a header".to_owned())?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Redacts the key and every longer part of it from `text`.
    pub(super) fn redact(&self, text: &str) -> String {
        let part_bytes = self.0.len().min(KEY_PART_BYTES_MIN);
        let mut clean = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let is_part =
                |length: &usize| rest.get(..*length).is_some_and(|part| self.0.contains(part));
            let taken = match (part_bytes..=self.0.len()).take_while(is_part).last() {
                Some(length) => {
                    clean.push_str(REDACTED);
                    length
                }
                None => {
                    clean.push(first);
                    first.len_utf8()
                }
            };
            rest = rest.get(taken..).unwrap_or_default();
        }
        clean
    }
}

impl fmt::Debug for ProviderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-0123456789abcdefghij";

    fn check(text: &str, expect: &str) {
        assert_eq!(ProviderKey::new(KEY, "KEY").unwrap().redact(text), expect);
    }

    #[test]
    fn keys_and_parts_of_them_are_taken_out() {
        check("nothing here", "nothing here");
        check(&format!("bad key {KEY}!"), "bad key [key]!");
        check(&format!("{KEY}{KEY}"), "[key][key]");
        check("sk-01234567…ghij and é", "[key]…ghij and é");
        check("…89abcdefghij", "…[key]");
        check("sk-0123", "sk-0123");
        assert_eq!(ProviderKey::new("abc", "KEY").unwrap().redact("xabcx"), "x[key]x");
    }

    #[test]
    fn keys_are_not_printed_and_not_quoted() {
        let secret = ProviderKey::new(KEY, "KEY").unwrap();
        let header = secret.header("Bearer ").unwrap();
        assert!(!format!("{secret:?} {header:?}").contains("0123"));
        for wrong in ["", "  ", "two words", "line\nbreak", "é"] {
            let message = ProviderKey::new(wrong, "MY_KEY").unwrap_err();
            assert!(message.contains("MY_KEY"), "{message}");
            assert!(wrong.trim().is_empty() || !message.contains(wrong), "{message}");
        }
        assert!(ProviderKey::new(&"k".repeat(KEY_BYTES_MAX), "KEY").is_ok());
        assert!(ProviderKey::new(&"k".repeat(KEY_BYTES_MAX + 1), "KEY").is_err());
    }
}
