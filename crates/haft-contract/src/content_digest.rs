//! The size and the SHA-256 of a text, which a row stores in place of the text. Where the text itself is kept is not decided
//! here.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{canonical_json, sha256_hex};

/// Stands for a text: its size and its SHA-256.
///
/// ```
/// # use haft_contract::ContentDigest;
/// let digest = ContentDigest::of("hello\n");
/// assert_eq!(digest.bytes, 6);
/// assert_eq!(ContentDigest::parse(&digest.to_json()), Some(digest));
/// assert_eq!(ContentDigest::parse(r#"{"path": "hello.txt"}"#), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContentDigest {
    /// The length of the text.
    pub bytes: u64,
    /// The SHA-256 of the text, in hexadecimal.
    pub sha256: String,
}

impl ContentDigest {
    /// Returns the digest of a text.
    pub fn of(text: &str) -> Self {
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        Self { bytes, sha256: sha256_hex(text.as_bytes()) }
    }

    /// Returns the digest of a JSON value: of the text itself if it is a string, else of its canonical JSON.
    pub fn of_value(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::of(text),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => Self::of(&canonical_json(value)),
        }
    }

    /// Returns the digest that a JSON text is, `None` if it is anything else.
    pub fn parse(json: &str) -> Option<Self> {
        // No digest is longer, and most texts are.
        if json.len() > JSON_BYTES_MAX {
            return None;
        }
        let digest: Self = serde_json::from_str(json).ok()?;
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_sha256 = digest.sha256.len() == 64 && digest.sha256.bytes().all(is_hex);
        is_sha256.then_some(digest)
    }

    /// Returns the digest as JSON.
    pub fn to_json(&self) -> String {
        self.to_value().to_string()
    }

    /// Returns the digest as a JSON value.
    pub fn to_value(&self) -> Value {
        serde_json::json!({"bytes": self.bytes, "sha256": self.sha256})
    }
}

/// Longest JSON text that can be a digest, in bytes: the two fields, with room for white space.
const JSON_BYTES_MAX: usize = 160;
