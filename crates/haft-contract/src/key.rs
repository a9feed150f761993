//! The keys that make a call recognisable: across retries, across resumes, and to services that deduplicate.

use std::fmt;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::AttemptAddress;

/// Identifies a call by what it is, not by when it was made: run, node, iteration, tool, canonical input,
/// and how many times this attempt made this very call before.
///
/// The attempt is no part of it, so a retry of the same call has the same key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallKey([u8; 32]);

impl CallKey {
    /// Returns the key of the first such call of an attempt; [`CallKey::with_repeat_index`] makes the further ones.
    pub fn of_first_call(scope: &AttemptAddress, tool: &str, canonical_input: &str) -> Self {
        Self(digest(&[
            "haft call",
            scope.run.as_str(),
            &scope.node,
            &scope.iteration.to_string(),
            tool,
            canonical_input,
        ]))
    }

    /// Returns the key of the call that follows `earlier` calls exactly like it in the same attempt.
    pub fn with_repeat_index(self, earlier: u32) -> Self {
        match earlier {
            0 => self,
            count => Self(digest(&["haft occurrence", &self.to_string(), &count.to_string()])),
        }
    }

    /// Reads a key as it is written.
    pub fn parse(text: &str) -> Option<Self> {
        let mut key = [0; 32];
        if text.len() != key.len() * 2 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        for (place, byte) in key.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(place * 2..place * 2 + 2)?, 16).ok()?;
        }
        Some(Self(key))
    }

    /// Returns the key to hand to services that deduplicate, stable across retries and resumes.
    pub fn idempotency_key(self) -> String {
        format!("haft_{}", hex(&digest(&["haft idempotency key", &self.to_string()])))
    }

    /// Returns the key of a whole task: the same for every call of one node and iteration.
    pub fn task_key(scope: &AttemptAddress) -> String {
        let parts =
            ["haft task key", scope.run.as_str(), &scope.node, &scope.iteration.to_string()];
        format!("haft_{}", hex(&digest(&parts)))
    }
}

impl fmt::Display for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallKey({self})")
    }
}

/// Returns `value` as JSON without spaces and with the keys of every object in order, so that equal inputs
/// have equal texts.
pub fn canonical_json(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort_unstable();
            text.push('{');
            for (index, name) in names.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                if let Some(field) = fields.get(name) {
                    write_canonical(field, text);
                }
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_canonical(item, text);
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string())
        }
    }
}

/// Returns the SHA-256 of `bytes` in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Hashes the parts with their lengths, so that moving a character between parts changes the digest.
fn digest(parts: &[&str]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().into()
}

fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(if value < 10 { b'0' + value } else { b'a' - 10 + value });
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::RunId;

    fn scope(attempt: u32) -> AttemptAddress {
        AttemptAddress { attempt, ..AttemptAddress::first_of_run(RunId::parse("r1").unwrap()) }
    }

    fn key(scope: &AttemptAddress, input: &Value) -> CallKey {
        CallKey::of_first_call(scope, "write", &canonical_json(input))
    }

    #[test]
    fn equal_inputs_have_equal_canonical_texts() {
        let one: Value = serde_json::from_str(r#"{"b":[{"y":1,"x":"ä\n"}],"a":null}"#).unwrap();
        let other: Value =
            serde_json::from_str(r#"{ "a":null, "b":[ {"x":"ä\n","y":1} ] }"#).unwrap();
        assert_eq!(canonical_json(&one), canonical_json(&other));
        assert_eq!(canonical_json(&one), r#"{"a":null,"b":[{"x":"ä\n","y":1}]}"#);
    }

    #[test]
    fn keys_survive_a_retry_and_tell_calls_apart() {
        let input = json!({"path": "a", "content": "b"});
        assert_eq!(key(&scope(1), &input), key(&scope(2), &input));
        assert_ne!(key(&scope(1), &input), key(&scope(1), &json!({"path": "ab", "content": ""})));
        let first = key(&scope(1), &input);
        assert_eq!(first.with_repeat_index(0), first);
        assert_ne!(first.with_repeat_index(1), first.with_repeat_index(2));
        assert_ne!(first.idempotency_key(), first.with_repeat_index(1).idempotency_key());
        assert_eq!(CallKey::task_key(&scope(1)), CallKey::task_key(&scope(2)));
    }

    #[test]
    fn a_key_is_read_as_it_is_written() {
        let written = key(&scope(1), &json!(null)).to_string();
        assert_eq!(CallKey::parse(&written), Some(key(&scope(1), &json!(null))));
        let none =
            ["", "ab", &written[1..], &format!("+{}", &written[1..]), &format!("{written}0")];
        assert!(none.iter().all(|text| CallKey::parse(text).is_none()));
    }
}
