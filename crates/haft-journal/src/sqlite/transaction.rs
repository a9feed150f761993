//! One transaction of the writer: the change numbers that it gives out, and who has the runs that it meets, which is
//! looked up once for all records that share the commit. When it begins and whether it commits is the writer's business.

use haft_contract::RunId;
use rusqlite::{CachedStatement, Connection};

use super::lease;
use super::record::{CALL_INSERT, CALL_SETTLE};
use crate::lease::Standing;
use crate::{JournalError, Lease};

/// Where numbers count on from. A call that is removed takes the last number with it, so removing stores it.
pub(super) const CHANGE_READ: &str = "\
SELECT max(last, coalesce((SELECT max(number) FROM calls), 0), coalesce((SELECT max(closed) FROM calls), 0)) \
FROM changes WHERE id = 1";

pub(super) const CHANGE_KEEP: &str = "UPDATE changes SET last = max(last, ?1) WHERE id = 1";

/// A transaction that holds the lock for writing.
pub(super) struct Writing<'a> {
    pub(super) db: &'a Connection,
    change: i64,
    /// Of the runs met so far, which are few.
    standings: Vec<(RunId, Option<Standing>)>,
    /// The statements of every call, looked up once.
    pub(super) insert: CachedStatement<'a>,
    pub(super) settle: CachedStatement<'a>,
}

impl<'a> Writing<'a> {
    /// Takes a connection inside a transaction that nobody else can write beside.
    pub(super) fn new(db: &'a Connection) -> rusqlite::Result<Self> {
        let change = db.prepare_cached(CHANGE_READ)?.query_row([], |row| row.get(0))?;
        let insert = db.prepare_cached(CALL_INSERT)?;
        let settle = db.prepare_cached(CALL_SETTLE)?;
        Ok(Self { db, change, standings: Vec::new(), insert, settle })
    }

    /// Returns the last change number that was given out.
    pub(super) fn last_change(&self) -> i64 {
        self.change
    }

    /// Returns the number after the last. It is given out by [`Writing::count_change`], once a row has it.
    pub(super) fn next_change(&self) -> i64 {
        self.change + 1
    }

    /// Says that a row has the next change number now.
    pub(super) fn count_change(&mut self) {
        self.change += 1;
    }

    /// Makes sure that no number is given out again although the calls that have them are about to go.
    pub(super) fn keep_change(&self) -> rusqlite::Result<()> {
        self.db.prepare_cached(CHANGE_KEEP)?.execute([self.change]).map(drop)
    }

    /// Returns who may advance the run, `None` if there is no such run.
    pub(super) fn standing(&mut self, run: &RunId) -> rusqlite::Result<Option<&Standing>> {
        let known = self.standings.iter().position(|(known, _)| known == run);
        let index = match known {
            Some(index) => index,
            None => {
                let standing = lease::standing(self.db, run)?;
                self.standings.push((run.clone(), standing));
                self.standings.len() - 1
            }
        };
        Ok(self.standings.get(index).and_then(|(_, standing)| standing.as_ref()))
    }

    /// Says that the run's row has changed.
    pub(super) fn forget_standing(&mut self, run: &RunId) {
        self.standings.retain(|(known, _)| known != run);
    }

    /// Answers an error unless records of `epoch` may change the run.
    pub(super) fn admit(
        &mut self,
        run: &RunId,
        epoch: u64,
    ) -> rusqlite::Result<Result<(), JournalError>> {
        Ok(match self.standing(run)? {
            Some(standing) => standing.admit(run, epoch),
            None => Err(JournalError::UnknownRun { run: run.clone() }),
        })
    }

    /// Answers an error unless the run is held under this very lease.
    pub(super) fn admit_lease(
        &mut self,
        lease: &Lease,
    ) -> rusqlite::Result<Result<(), JournalError>> {
        Ok(match self.standing(&lease.run)? {
            Some(standing) => standing.admit_lease(lease),
            None => Err(JournalError::UnknownRun { run: lease.run.clone() }),
        })
    }
}

/// Returns the number as SQLite stores it.
pub(super) fn integer(value: u64) -> rusqlite::Result<i64> {
    i64::try_from(value).map_err(|err| rusqlite::Error::ToSqlConversionFailure(Box::new(err)))
}
