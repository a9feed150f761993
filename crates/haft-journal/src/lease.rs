//! Who may advance a run: one owner at a time, each with an epoch of its own. A clock decides when an owner that is not
//! heard of may be replaced; that nothing is lost when it decides wrongly is the epoch's work: every record carries
//! it, and a record of an epoch that is over does not change the run. Whether a process still lives is found out
//! elsewhere.

use haft_contract::RunId;
use serde::{Deserialize, Serialize};

use crate::JournalError;
use crate::limits::LEASE_MS_MAX;

/// A process that advances runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Owner {
    /// Names the process; no other process ever has the same name.
    pub id: String,
    /// Where it runs, for people and for whoever finds out whether it still lives.
    pub place: String,
}

/// Asks for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Who wants it.
    pub owner: Owner,
    /// The time now, in milliseconds since 1970. A backend that several machines share goes by its own clock.
    pub now_ms: u64,
    /// How long the run stays the owner's without a word from it, in milliseconds; never longer than
    /// [`LEASE_MS_MAX`].
    pub lasts_ms: u64,
}

impl Claim {
    /// Returns until when a lease of now holds, in milliseconds since 1970.
    pub(crate) fn expires_at_ms(&self) -> u64 {
        self.now_ms.saturating_add(self.lasts_ms.min(LEASE_MS_MAX))
    }
}

/// The right to advance one run, given by a journal.
///
/// It is renewed before it runs out and given back when the work is done. Records made under it carry its epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The run.
    pub run: RunId,
    /// Grows each time the run changes hands.
    pub epoch: u64,
    /// Who has it.
    pub owner: Owner,
}

/// Who holds a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// The run.
    pub run: RunId,
    /// Its epoch.
    pub epoch: u64,
    /// Who holds it.
    #[serde(flatten)]
    pub owner: Owner,
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
    /// Until when without a further word, in milliseconds since 1970.
    pub expires_at_ms: u64,
}

impl Holder {
    /// Returns whether the holder may be replaced without asking whether it still lives.
    ///
    /// No lease reaches further ahead than [`LEASE_MS_MAX`]. One that does was written while the clock was ahead of
    /// what it is now, and would otherwise last until the clock has caught up.
    pub fn is_over(&self, now_ms: u64) -> bool {
        self.expires_at_ms
            .checked_sub(now_ms)
            .is_none_or(|left_ms| left_ms == 0 || left_ms > LEASE_MS_MAX)
    }
}

/// What a run's row says about who may advance the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing {
    /// The epoch of the latest lease, 0 if there was none.
    pub(crate) epoch: u64,
    /// Who has the run.
    pub(crate) holder: Option<Holder>,
    /// How many owners in a row died without getting the run any further.
    pub(crate) fruitless: u32,
    /// The last change number when the first of them was given up.
    pub(crate) fruitless_since: u64,
    /// Whether the run is being removed.
    pub(crate) is_going: bool,
}

impl Standing {
    /// Counts an owner that died. `got_further` says whether a call of the run was settled since
    /// `fruitless_since`; nobody's probe counts as that.
    pub(crate) fn count_death(&mut self, got_further: bool, last_change: u64) {
        if got_further || self.fruitless == 0 {
            self.fruitless = 1;
            self.fruitless_since = last_change;
        } else {
            self.fruitless += 1;
        }
    }

    /// Answers [`JournalError::Fenced`] unless records of `epoch` may change the run.
    pub(crate) fn admit(&self, run: &RunId, epoch: u64) -> Result<(), JournalError> {
        match &self.holder {
            Some(holder) if holder.epoch == epoch => Ok(()),
            Some(holder) => Err(fenced(run, epoch, Some(holder.owner.clone()))),
            None => Err(fenced(run, epoch, None)),
        }
    }

    /// Answers [`JournalError::Fenced`] unless the run is held under this very lease.
    pub(crate) fn admit_lease(&self, lease: &Lease) -> Result<(), JournalError> {
        match &self.holder {
            Some(holder) if holder.epoch == lease.epoch && holder.owner.id == lease.owner.id => {
                Ok(())
            }
            Some(holder) => Err(fenced(&lease.run, lease.epoch, Some(holder.owner.clone()))),
            None => Err(fenced(&lease.run, lease.epoch, None)),
        }
    }
}

fn fenced(run: &RunId, epoch: u64, by: Option<Owner>) -> JournalError {
    JournalError::Fenced { run: run.clone(), epoch, by }
}
