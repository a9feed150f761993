//! The stable identifier of a tool, and its spelling where a front end cannot carry a dot.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::limits::TOOL_ID_CHARS_MAX;

/// Identifies a tool: `[a-z][a-z0-9_]*(\.[a-z0-9_]+)*`, at most 64 characters.
///
/// ```
/// use haft_contract::ToolId;
///
/// let id = ToolId::parse("wholefoods.place_order").unwrap();
/// assert_eq!(id.wire_name(), "wholefoods__place_order");
/// assert!(ToolId::parse("Read").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolId(String);

/// The ids whose tools have the shapes of the published contract. No other tool may have one of them.
pub const LOCKED_IDS: [&str; 13] = [
    "bash",
    "edit",
    "glob",
    "grep",
    "question",
    "read",
    "skill",
    "task",
    "todo",
    "tool_search",
    "web_fetch",
    "web_search",
    "write",
];

/// Says why a text is not a tool id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "tool id {0:?} is not valid: expected lower-case words of letters, digits and underscores, joined by dots, \
     starting with a letter, at most {TOOL_ID_CHARS_MAX} characters"
)]
pub struct IdError(pub String);

impl ToolId {
    /// Returns the id that `text` spells.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let starts_well = text.starts_with(|first: char| first.is_ascii_lowercase());
        let part_is_word = |part: &str| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        };
        if text.len() <= TOOL_ID_CHARS_MAX && starts_well && text.split('.').all(part_is_word) {
            Ok(Self(text.to_owned()))
        } else {
            Err(IdError(text.to_owned()))
        }
    }

    /// Stands for an id that could not be parsed; no tool with it is ever registered.
    pub(crate) fn placeholder() -> Self {
        Self("unnamed".to_owned())
    }

    /// Returns the id as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the spelling for front ends that cannot carry a dot: each dot becomes `__`.
    ///
    /// A registry refuses two tools that share a wire name, so the mapping is reversible there.
    pub fn wire_name(&self) -> String {
        self.0.replace('.', "__")
    }
}

impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for ToolId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        Self::parse(&text)
    }
}

impl From<ToolId> for String {
    fn from(id: ToolId) -> Self {
        id.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_checked_at_their_bounds() {
        let longest = "a".repeat(TOOL_ID_CHARS_MAX);
        for good in ["a", "read", "web_fetch", "a.b_1.c", "a.1", longest.as_str()] {
            assert!(ToolId::parse(good).is_ok(), "{good:?} should be accepted");
        }
        let too_long = "a".repeat(TOOL_ID_CHARS_MAX + 1);
        for bad in ["", "1a", "_a", "A", "a..b", ".a", "a.", "a-b", "a b", "ä", too_long.as_str()]
        {
            assert!(ToolId::parse(bad).is_err(), "{bad:?} should be refused");
        }
    }
}
