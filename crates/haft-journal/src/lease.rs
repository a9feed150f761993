//! Who may advance a run: one owner at a time, and each lease has a fencing token. The clock decides when a silent owner may be
//! replaced. If it decides wrongly, nothing is lost: every record carries its token, and a record with an old token does
//! not change the run. Whether a process still lives is found out elsewhere.

use haft_contract::RunId;
use serde::{Deserialize, Serialize};

use crate::limits::LEASE_MS_MAX;

/// A process that advances runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LeaseOwner {
    /// Names the process; no other process ever has the same name.
    pub id: String,
    /// Where it runs: for people, and to find out whether it still lives.
    #[serde(rename = "place")]
    pub location: String,
}

/// Asks for a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRequest {
    /// The owner to be.
    pub owner: LeaseOwner,
    /// The time now, in milliseconds since 1970. A store that several machines share uses its own clock.
    pub now_ms: u64,
    /// How long the lease holds without being renewed, in milliseconds; never longer than
    /// [`LEASE_MS_MAX`].
    pub lasts_ms: u64,
}

impl LeaseRequest {
    /// Returns until when a lease of now holds, in milliseconds since 1970.
    pub(crate) fn expires_at_ms(&self) -> u64 {
        self.now_ms.saturating_add(self.lasts_ms.min(LEASE_MS_MAX))
    }
}

/// The right to advance one run, given by a journal.
///
/// It is renewed before it runs out and given back when the work is done. Records made under it carry its fencing token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The run.
    pub run: RunId,
    /// Grows each time the run changes hands.
    pub fencing_token: u64,
    /// Who has it.
    pub owner: LeaseOwner,
}

/// The owner of a run's lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeaseHolder {
    /// The run.
    pub run: RunId,
    /// Its fencing token.
    #[serde(rename = "epoch")]
    pub fencing_token: u64,
    /// Who holds it.
    #[serde(flatten)]
    pub owner: LeaseOwner,
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
    /// Until when without a further word, in milliseconds since 1970.
    pub expires_at_ms: u64,
}

impl LeaseHolder {
    /// Returns whether the holder may be replaced without asking whether it still lives.
    ///
    /// No lease reaches further ahead than [`LEASE_MS_MAX`]. One that does was written while the clock was ahead of
    /// what it is now, and would otherwise last until the clock has caught up.
    pub fn is_expired(&self, now_ms: u64) -> bool {
        self.expires_at_ms
            .checked_sub(now_ms)
            .is_none_or(|left_ms| left_ms == 0 || left_ms > LEASE_MS_MAX)
    }
}
