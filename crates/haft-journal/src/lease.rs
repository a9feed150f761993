//! Who may advance a run: one owner at a time, and each lease has a fencing token. The clock decides when a silent owner may be
//! replaced. If it decides wrongly, nothing is lost: every record carries its token, and a record with an old token does
//! not change the run. Whether a process still lives is found out elsewhere.

use haft_contract::RunId;
use serde::{Deserialize, Serialize};

use crate::JournalError;
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

/// Who holds a run.
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

/// What a run's row says about who may advance the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeaseState {
    /// The fencing_token of the latest lease, 0 if there was none.
    pub(crate) fencing_token: u64,
    /// Who has the run.
    pub(crate) holder: Option<LeaseHolder>,
    /// How many owners in a row died without getting the run any further.
    pub(crate) failed_resumes: u32,
    /// The last change number when the first of them was given up.
    pub(crate) failed_since: u64,
    /// Whether the run is being removed.
    pub(crate) is_being_removed: bool,
}

impl LeaseState {
    /// Counts an owner that died. `got_further` says whether a call of the run was settled since
    /// `failed_since`; nobody's probe counts as that.
    pub(crate) fn count_death(&mut self, got_further: bool, last_change: u64) {
        if got_further || self.failed_resumes == 0 {
            self.failed_resumes = 1;
            self.failed_since = last_change;
        } else {
            self.failed_resumes += 1;
        }
    }

    /// Answers [`JournalError::Fenced`] unless records of `fencing_token` may change the run.
    pub(crate) fn admit(&self, run: &RunId, fencing_token: u64) -> Result<(), JournalError> {
        match &self.holder {
            Some(holder) if holder.fencing_token == fencing_token => Ok(()),
            Some(holder) => Err(fenced(run, fencing_token, Some(holder.owner.clone()))),
            None => Err(fenced(run, fencing_token, None)),
        }
    }

    /// Answers [`JournalError::Fenced`] unless the run is held under this very lease.
    pub(crate) fn admit_lease(&self, lease: &Lease) -> Result<(), JournalError> {
        match &self.holder {
            Some(holder)
                if holder.fencing_token == lease.fencing_token
                    && holder.owner.id == lease.owner.id =>
            {
                Ok(())
            }
            Some(holder) => {
                Err(fenced(&lease.run, lease.fencing_token, Some(holder.owner.clone())))
            }
            None => Err(fenced(&lease.run, lease.fencing_token, None)),
        }
    }
}

fn fenced(run: &RunId, fencing_token: u64, by: Option<LeaseOwner>) -> JournalError {
    JournalError::Fenced { run: run.clone(), fencing_token, by }
}
