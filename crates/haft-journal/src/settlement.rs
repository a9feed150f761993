//! Settlements of calls that may or may not have happened. Probes and people find out which, and
//! a settlement holds their answer.

use haft_contract::{CallAddress, Envelope};

use crate::CallStatus;
use crate::words::words;

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

words! {
    /// Whether a call in doubt happened.
    SettlementVerdict {
        /// It happened: the row becomes `succeeded`, and a resume recalls it.
        Happened = "happened",
        /// It did not happen: the row becomes `failed`, and a resume executes the call.
        NotHappened = "not_happened",
        /// It may have happened, and is to be repeated all the same: the row stays `unknown`, and a resume executes
        /// the call.
        Retry = "retry",
    }
}

words! {
    /// Who settled a call in doubt.
    SettledBy {
        /// The tool's probe.
        Probe = "probe",
        /// A person, or a program that a person told to.
        Operator = "operator",
    }
}

impl SettlementVerdict {
    /// Returns the status that a call in doubt gets.
    pub fn status(self) -> CallStatus {
        match self {
            Self::Happened => CallStatus::Succeeded,
            Self::NotHappened => CallStatus::Failed,
            Self::Retry => CallStatus::Unknown,
        }
    }
}
