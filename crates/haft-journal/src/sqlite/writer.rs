//! The thread that writes: it takes what has queued up while it was busy and commits that together, so that many
//! callers share one sync of the disk. What a job writes is decided elsewhere.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, TransactionBehavior, ffi};
use tokio::sync::mpsc;

use super::failure;
use super::job::Job;
use super::transaction::Writing;
use crate::JournalError;
use crate::entry::Firmness;
use crate::limits::COMMIT_ENTRIES_MAX;

/// Jobs that share a commit.
pub(super) type Batch = Vec<Box<dyn Job>>;

/// The only connection of this journal that writes.
#[derive(Debug)]
pub(super) struct Writer {
    db: Connection,
    path: PathBuf,
    /// Which file the path led to when the connection was made.
    file: Option<FileId>,
    firmness: Firmness,
}

/// Device and number of a file.
type FileId = (u64, u64);

/// Says whether later commits can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Sound,
    Lost,
}

impl Writer {
    /// Takes a connection that syncs every commit.
    pub(super) fn new(db: Connection, path: PathBuf) -> Self {
        let file = file_at(&path);
        Self { db, path, file, firmness: Firmness::Power }
    }

    /// Writes until nobody can send any more and the queue is empty, or until commits cannot be trusted any more.
    pub(super) fn run(mut self, mut jobs: mpsc::Receiver<Box<dyn Job>>) {
        let mut batch = Vec::new();
        while jobs.blocking_recv_many(&mut batch, COMMIT_ENTRIES_MAX) > 0 {
            if self.write(std::mem::take(&mut batch)) == Health::Lost {
                return;
            }
        }
    }

    /// Writes what needs no sync first, so that nobody waits for a sync who need not.
    fn write(&mut self, batch: Batch) -> Health {
        let (durable, ordinary): (Batch, Batch) =
            batch.into_iter().partition(|job| job.firmness() == Firmness::Power);
        match self.write_group(ordinary, Firmness::Process) {
            Health::Sound => self.write_group(durable, Firmness::Power),
            Health::Lost => Health::Lost,
        }
    }

    /// Writes the group in one commit. If that fails, each job is tried alone, so that one that cannot be written
    /// takes no other with it.
    fn write_group(&mut self, mut group: Batch, firmness: Firmness) -> Health {
        if group.is_empty() {
            return Health::Sound;
        }
        // Into a file without a name SQLite writes without complaint, and nobody ever reads it.
        if file_at(&self.path) != self.file {
            answer(group, || Err(JournalError::Removed { path: self.path.clone() }));
            return Health::Lost;
        }
        match self.commit(&mut group, firmness) {
            Ok(()) => answer(group, || Ok(())),
            Err(err) if group.len() > 1 && is_about_a_job(&err) => {
                return self.write_singly(group, firmness);
            }
            Err(err) => {
                answer(group, || Err(failure::journal_error(&self.path, &err)));
                return health_after(&err);
            }
        }
        Health::Sound
    }

    fn write_singly(&mut self, group: Batch, firmness: Firmness) -> Health {
        let mut jobs = group.into_iter();
        while let Some(job) = jobs.next() {
            let mut alone = vec![job];
            let Err(err) = self.commit(&mut alone, firmness) else {
                answer(alone, || Ok(()));
                continue;
            };
            let failed = || Err(failure::journal_error(&self.path, &err));
            answer(alone, failed);
            if health_after(&err) == Health::Lost {
                answer(jobs.collect(), failed);
                return Health::Lost;
            }
        }
        Health::Sound
    }

    /// Commits the jobs together; `Err` if nothing was committed.
    fn commit(&mut self, jobs: &mut [Box<dyn Job>], firmness: Firmness) -> rusqlite::Result<()> {
        self.set_firmness(firmness)?;
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut writing = Writing::new(&transaction)?;
        for job in jobs {
            job.apply(&mut writing)?;
        }
        drop(writing);
        transaction.commit()
    }

    /// SQLite refuses to change this inside a transaction, and does it while the text is compiled, so the statement
    /// cannot be kept.
    fn set_firmness(&mut self, firmness: Firmness) -> rusqlite::Result<()> {
        if self.firmness != firmness {
            self.db.execute_batch(match firmness {
                Firmness::Process => "PRAGMA synchronous = NORMAL",
                Firmness::Power => "PRAGMA synchronous = FULL",
            })?;
            self.firmness = firmness;
        }
        Ok(())
    }
}

fn file_at(path: &Path) -> Option<FileId> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

fn answer(jobs: Batch, committed: impl Fn() -> Result<(), JournalError>) {
    for job in jobs {
        job.answer(committed());
    }
}

/// Returns whether another job may fare better. A lock that did not come free would be waited for once per job,
/// and a disk that failed has failed for all.
fn is_about_a_job(err: &rusqlite::Error) -> bool {
    !matches!(
        err.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::SystemIoFailure)
    )
}

/// A sync that failed may succeed the next time although the data is gone: Linux reports it once and forgets. What was
/// written without a sync may then be missing in the middle of the log, and with it everything after, so nothing
/// more is promised.
fn health_after(err: &rusqlite::Error) -> Health {
    let syncs = [ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_DIR_FSYNC];
    match err.sqlite_error() {
        Some(error) if syncs.contains(&error.extended_code) => Health::Lost,
        _ => Health::Sound,
    }
}

#[cfg(test)]
mod tests;
