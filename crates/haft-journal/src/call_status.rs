//! How far a recorded call has come: the words that JSON and the database use.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How far a recorded call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// It was about to execute; whether it did is not known yet.
    Intended,
    /// It did what was asked.
    Succeeded,
    /// It was executed and reported an error.
    Failed,
    /// It was not executed.
    Refused,
    /// It may or may not have happened.
    Unknown,
}

impl CallStatus {
    /// All statuses.
    pub const ALL: [Self; 5] =
        [Self::Intended, Self::Succeeded, Self::Failed, Self::Refused, Self::Unknown];

    /// Returns the name used in JSON and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Intended => "intended",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the one that is called so.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|word| word.as_str() == text)
    }
}

impl fmt::Display for CallStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
