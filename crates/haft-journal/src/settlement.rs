//! Settlements of calls that may or may not have happened. Probes and people find out which, and
//! a settlement holds their answer.

use std::fmt;

use haft_contract::{CallAddress, Envelope};
use serde::{Deserialize, Serialize};

use crate::CallStatus;

/// The answer of a probe or an operator about a call in doubt.
#[derive(Clone, Debug, PartialEq)]
pub struct Settlement {
    /// The call.
    pub call: CallAddress,
    /// Whether the call happened.
    pub verdict: SettlementVerdict,
    /// Who says so.
    pub by: SettledBy,
    /// The answer that the call is to have from now on.
    pub envelope: Envelope,
    /// When it was said, in milliseconds since 1970.
    pub settled_at_ms: u64,
}

/// Whether a call in doubt happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettlementVerdict {
    /// It happened: the row becomes `succeeded`, and a resume recalls it.
    Happened,
    /// It did not happen: the row becomes `failed`, and a resume executes the call.
    NotHappened,
    /// It may have happened, and is to be repeated all the same: the row stays `unknown`, and a resume executes
    /// the call.
    Retry,
}

/// Who settled a call in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettledBy {
    /// The tool's probe.
    Probe,
    /// A person, or a program that a person told to.
    Operator,
}

impl SettlementVerdict {
    /// All verdicts.
    pub const ALL: [Self; 3] = [Self::Happened, Self::NotHappened, Self::Retry];

    /// Returns the name used in JSON and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Happened => "happened",
            Self::NotHappened => "not_happened",
            Self::Retry => "retry",
        }
    }

    /// Returns the one that is called so.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|word| word.as_str() == text)
    }

    /// Returns the status that a call in doubt gets.
    pub fn status(self) -> CallStatus {
        match self {
            Self::Happened => CallStatus::Succeeded,
            Self::NotHappened => CallStatus::Failed,
            Self::Retry => CallStatus::Unknown,
        }
    }
}

impl fmt::Display for SettlementVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl SettledBy {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Probe, Self::Operator];

    /// Returns the name used in JSON and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Operator => "operator",
        }
    }

    /// Returns the one that is called so.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|word| word.as_str() == text)
    }
}

impl fmt::Display for SettledBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
