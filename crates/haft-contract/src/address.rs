//! Where a call belongs: its run, and its place inside the run.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::limits::SCOPE_NAME_CHARS_MAX;

/// Names a run: letters, digits, `.`, `_`, `-` and `:`, at most 128 characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

/// Says why a run or node name is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} {found:?} is not valid: expected {expected}")]
pub struct CallAddressError {
    /// Which part it is: `run`, `node` or `attempt`.
    pub what: &'static str,
    /// The given text.
    pub found: String,
    /// The form of a valid text.
    pub expected: &'static str,
}

const NAME_EXPECTED: &str = "1 to 128 letters, digits and the characters . _ - :";

impl RunId {
    /// Returns the run id that `text` spells.
    pub fn parse(text: &str) -> Result<Self, CallAddressError> {
        check_name("run", text).map(|()| Self(text.to_owned()))
    }

    /// Returns the id as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for RunId {
    type Error = CallAddressError;

    fn try_from(text: String) -> Result<Self, CallAddressError> {
        Self::parse(&text)
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0
    }
}

fn check_name(what: &'static str, text: &str) -> Result<(), CallAddressError> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:".contains(&byte);
    if !text.is_empty() && text.len() <= SCOPE_NAME_CHARS_MAX && text.bytes().all(is_allowed) {
        Ok(())
    } else {
        let found = text.chars().take(SCOPE_NAME_CHARS_MAX).collect();
        Err(CallAddressError { what, found, expected: NAME_EXPECTED })
    }
}

/// The place of calls inside a run: one attempt of one iteration of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AttemptAddress {
    /// The run.
    pub run: RunId,
    /// The task inside the run.
    pub node: String,
    /// The loop index of the node, from 0.
    pub iteration: u32,
    /// The retry number, from 1.
    pub attempt: u32,
}

impl AttemptAddress {
    /// The node of calls that name none.
    pub const NODE_DEFAULT: &'static str = "main";

    /// Returns the first attempt of the default node of `run`.
    pub fn first_of_run(run: RunId) -> Self {
        Self { run, node: Self::NODE_DEFAULT.to_owned(), iteration: 0, attempt: 1 }
    }

    /// Returns the scope if its node name is valid and its attempt counts from 1.
    pub fn validated(self) -> Result<Self, CallAddressError> {
        check_name("node", &self.node)?;
        if self.attempt == 0 {
            let (what, found) = ("attempt", "0".to_owned());
            return Err(CallAddressError { what, found, expected: "a number from 1" });
        }
        Ok(self)
    }
}

/// Identifies one call: its scope and its number inside the attempt, from 1.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallAddress {
    /// Where the call belongs.
    pub scope: AttemptAddress,
    /// The call's number inside the attempt, from 1.
    pub seq: u32,
}

impl fmt::Display for CallAddress {
    /// Writes `run/node/iteration/attempt/seq`, which no part can contain.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AttemptAddress { run, node, iteration, attempt } = &self.scope;
        write!(f, "{run}/{node}/{iteration}/{attempt}/{}", self.seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_at_their_bounds() {
        let longest = "a".repeat(SCOPE_NAME_CHARS_MAX);
        assert!(RunId::parse(&longest).is_ok() && RunId::parse("run_1.a-b:c").is_ok());
        for bad in ["", "a/b", "a b", "ä", &format!("{longest}a")] {
            let message = RunId::parse(bad).err().map(|err| err.to_string()).unwrap_or_default();
            assert!(message.contains(NAME_EXPECTED), "{bad:?}: {message}");
        }
        assert!(NAME_EXPECTED.contains(&format!("1 to {SCOPE_NAME_CHARS_MAX} ")));
    }
}
