//! The thread that writes: it takes what has queued up while it was busy and commits that together, so that many
//! callers share one commit and one sync. Other files decide the rows of a job and how they get to the disk.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, TransactionBehavior, ffi};
use tokio::sync::mpsc;

use super::disk::{Disk, Log, answer};
use super::sql::Texts;
use super::transaction::SqliteTransaction;
use super::{failure, open};
use crate::JournalError;
use crate::limits::{COMMIT_ENTRIES_MAX, LOG_KEPT_BYTES_MAX};
use crate::store::{Durability, WriteBatch, WriteOperation};

/// The only connection of this journal that writes.
pub(super) struct SqliteWriter {
    // Dropped in this order: what is on its way gets to the disk before SQLite tidies up.
    disk: Disk,
    db: Connection,
    texts: Texts,
    path: PathBuf,
    /// Which file the path led to when the connection was made.
    file: Option<FileId>,
}

/// Device and number of a file.
pub(super) type FileId = (u64, u64);

/// Says whether later commits can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Sound,
    Lost,
}

impl SqliteWriter {
    /// Opens the journal at `path`, as [`open::writing`] does.
    pub(super) fn open(path: &Path) -> Result<Self, JournalError> {
        let mut db = open::writing(path)?;
        open::sweep_contents(&mut db, path)?;
        let cannot = |err: io::Error| {
            let reason = format!("its log cannot be synced: {err}");
            JournalError::CannotOpen { path: path.to_owned(), reason }
        };
        let disk = Disk::open(path).map_err(cannot)?;
        let (path, file) = (path.to_owned(), file_at(path));
        Ok(Self { disk, db, texts: Texts::default(), path, file })
    }

    /// Returns the log, for readers that must not answer from what is not on disk.
    pub(super) fn log(&self) -> Arc<Log> {
        Arc::clone(self.disk.log())
    }

    /// Returns which file the journal is in.
    pub(super) fn file(&self) -> Option<FileId> {
        self.file
    }

    /// Writes until the queue is closed and empty, or until commits cannot be trusted any more.
    pub(super) fn run(mut self, mut jobs: mpsc::Receiver<Box<dyn WriteOperation>>) {
        let mut batch = Vec::new();
        while jobs.blocking_recv_many(&mut batch, COMMIT_ENTRIES_MAX) > 0 {
            if self.write(std::mem::take(&mut batch)) == Health::Lost {
                return;
            }
        }
        // SQLite would move a short log into the database now, with two syncs, and remove it. Both take longer than all else
        // that a command does with the journal. The next process finds the log and goes on with it.
        if self.disk.log().bytes().is_some_and(|bytes| bytes <= LOG_KEPT_BYTES_MAX) {
            // If the setting fails, SQLite does as it always does.
            let _ = self.db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
    }

    /// Writes the jobs in one commit. If that fails, each job is tried alone, so that one that cannot be written
    /// takes no other with it.
    fn write(&mut self, mut batch: WriteBatch) -> Health {
        if let Some(failure) = self.disk.log().failure() {
            answer(batch, || Err(failure.to_error(&self.path)));
            return Health::Lost;
        }
        // SQLite reports no error for a file that was removed, and its rows would be lost.
        if file_at(&self.path) != self.file {
            answer(batch, || Err(JournalError::Removed { path: self.path.clone() }));
            return Health::Lost;
        }
        // Waiting for a lock would take as long for each job, and a disk that failed has failed for all.
        let is_about_all = |err: &rusqlite::Error| {
            matches!(
                err.sqlite_error_code(),
                Some(
                    ErrorCode::DatabaseBusy
                        | ErrorCode::DatabaseLocked
                        | ErrorCode::SystemIoFailure
                )
            )
        };
        match self.commit(&mut batch) {
            Ok(()) => {
                self.committed(batch);
                Health::Sound
            }
            Err(err) if batch.len() == 1 || is_about_all(&err) => {
                answer(batch, || Err(failure::journal_error(&self.path, &err)));
                health_after(&err)
            }
            Err(_) => {
                let mut jobs = batch.into_iter();
                while let Some(job) = jobs.next() {
                    let mut alone = vec![job];
                    let Err(err) = self.commit(&mut alone) else {
                        self.committed(alone);
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
        }
    }

    /// Commits the operations together; `Err` if nothing was committed.
    fn commit(&mut self, jobs: &mut [Box<dyn WriteOperation>]) -> rusqlite::Result<()> {
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut writing = SqliteTransaction::new(&transaction, &self.path, &mut self.texts)?;
        for job in jobs.iter_mut() {
            if let Err(failure) = job.apply(&mut writing) {
                let unknown = || rusqlite::Error::ToSqlConversionFailure(Box::new(failure.0));
                return Err(writing.failure.take().unwrap_or_else(unknown));
            }
        }
        let removed = writing.contents.into_removed();
        if removed.is_empty() && jobs.iter().all(|job| needs_no_sync(&**job)) {
            return transaction.commit();
        }
        // Counted before anybody can see it.
        self.disk.log().begin_commit();
        let committed = transaction.commit();
        self.disk.log().end_commit();
        committed?;
        // Once the rows are gone for good. If the sync fails, the next commit reports it, and the texts stay.
        if !removed.is_empty() && self.disk.log().sync_ended().is_ok() {
            removed.remove();
        }
        Ok(())
    }

    /// Answers the jobs that need no sync, and the others after one. If a single job is urgent, this thread syncs for it, because
    /// no other job could be written meanwhile. Jobs that can wait are answered with it, or else by the disk thread.
    fn committed(&self, batch: WriteBatch) {
        let (durable, ordinary): (WriteBatch, WriteBatch) =
            batch.into_iter().partition(|job| !needs_no_sync(&**job));
        answer(ordinary, || Ok(()));
        match durable.iter().filter(|job| job.durability() == Durability::Power).count() {
            0 if durable.is_empty() => {}
            0 => self.disk.answer_soon(durable),
            1 => {
                let synced = self.disk.log().sync_ended();
                answer(durable, || synced.clone().map_err(|failure| failure.to_error(&self.path)));
            }
            _ => self.disk.answer_later(durable),
        }
    }
}

/// Returns whether an operation is finished once its commit is seen by others. A lease is as firm as that: its owner does not
/// survive the loss of power either.
fn needs_no_sync(operation: &dyn WriteOperation) -> bool {
    matches!(operation.durability(), Durability::Process | Durability::Lease)
}

/// Returns which file a path leads to.
pub(super) fn file_at(path: &Path) -> Option<FileId> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// After a sync of SQLite's that failed, the same holds as after one of [`Disk`]: the next may succeed although the data
/// is gone. Commits before it may then be missing in the middle of the log, and with them everything after, so
/// nothing more is promised.
fn health_after(err: &rusqlite::Error) -> Health {
    let syncs = [ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_DIR_FSYNC];
    match err.sqlite_error() {
        Some(error) if syncs.contains(&error.extended_code) => Health::Lost,
        _ => Health::Sound,
    }
}

#[cfg(test)]
mod tests;
