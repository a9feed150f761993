//! The lease of a run, as the row of the run holds it, and the records that it admits.

use haft_contract::RunId;

use super::Stop;
use super::codec::run_key;
use crate::store::{Column, Reader, Row, RowError, runs};
use crate::{JournalError, Lease, LeaseHolder, LeaseOwner};

/// The columns of a run that make its lease.
pub(super) const LEASE: &[Column] = &[
    runs::ID,
    runs::FENCING_TOKEN,
    runs::OWNER_ID,
    runs::OWNER_LOCATION,
    runs::HELD_SINCE_MS,
    runs::LEASE_EXPIRES_AT_MS,
    runs::FAILED_RESUMES,
    runs::FAILED_SINCE,
    runs::IS_BEING_REMOVED,
];

/// The lease of a run as its row holds it.
#[derive(Clone, Debug, Default)]
pub(super) struct LeaseState {
    /// The fencing token of the latest lease, or 0 if there was none.
    pub(super) fencing_token: u64,
    /// Who has the run.
    pub(super) holder: Option<LeaseHolder>,
    /// How many owners in a row died without getting the run any further.
    pub(super) failed_resumes: u32,
    /// The last change number when the first of them was given up.
    pub(super) failed_since: u64,
    /// Whether the run is being removed.
    pub(super) is_being_removed: bool,
}

impl LeaseState {
    /// Reads who may advance a run.
    pub(super) fn of_row(row: &mut Row) -> Result<Self, RowError> {
        Ok(Self {
            fencing_token: row.number(runs::FENCING_TOKEN)?,
            holder: holder(row)?,
            failed_resumes: row.number(runs::FAILED_RESUMES)?,
            failed_since: row.number(runs::FAILED_SINCE)?,
            is_being_removed: row.flag(runs::IS_BEING_REMOVED)?,
        })
    }

    /// Counts an owner that died. `got_further` says whether a call of the run was settled since
    /// `failed_since`; a settlement by a probe does not count.
    pub(super) fn count_death(&mut self, got_further: bool, last_change: u64) {
        if got_further || self.failed_resumes == 0 {
            self.failed_resumes = 1;
            self.failed_since = last_change;
        } else {
            self.failed_resumes += 1;
        }
    }

    /// Answers [`JournalError::Fenced`] unless records of `fencing_token` may change the run.
    pub(super) fn admit(&self, run: &RunId, fencing_token: u64) -> Result<(), JournalError> {
        self.admit_holder(run, fencing_token, |_| true)
    }

    /// Answers [`JournalError::Fenced`] unless this very lease is the current one.
    pub(super) fn admit_lease(&self, lease: &Lease) -> Result<(), JournalError> {
        self.admit_holder(&lease.run, lease.fencing_token, |holder| holder.id == lease.owner.id)
    }

    fn admit_holder(
        &self,
        run: &RunId,
        fencing_token: u64,
        is_owner: impl Fn(&LeaseOwner) -> bool,
    ) -> Result<(), JournalError> {
        let is_right =
            |holder: &LeaseHolder| holder.fencing_token == fencing_token && is_owner(&holder.owner);
        if self.holder.as_ref().is_some_and(is_right) {
            return Ok(());
        }
        let by = self.holder.as_ref().map(|holder| holder.owner.clone());
        Err(JournalError::Fenced { run: run.clone(), fencing_token, by })
    }
}

/// Reads the holder of a run, if there is one.
pub(super) fn holder(row: &mut Row) -> Result<Option<LeaseHolder>, RowError> {
    let Some(id) = row.optional_text(runs::OWNER_ID)? else { return Ok(None) };
    Ok(Some(LeaseHolder {
        run: row.word(runs::ID, |text| RunId::parse(text).ok())?,
        fencing_token: row.number(runs::FENCING_TOKEN)?,
        owner: LeaseOwner { id, location: row.text(runs::OWNER_LOCATION)? },
        since_ms: row.number(runs::HELD_SINCE_MS)?,
        expires_at_ms: row.optional_number(runs::LEASE_EXPIRES_AT_MS)?.unwrap_or_default(),
    }))
}

/// Returns the lease of a run, `None` if the run is not there.
pub(super) fn lease_state(
    reader: &mut (impl Reader + ?Sized),
    run: &RunId,
) -> Result<Option<LeaseState>, Stop> {
    let row = reader.get(&runs::TABLE, &run_key(run), LEASE)?;
    Ok(row.map(|mut row| LeaseState::of_row(&mut row)).transpose()?)
}
