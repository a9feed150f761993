//! The thread that writes: it takes what has queued up while it was busy and commits that together, so that many
//! callers share one sync of the disk. What an entry means is decided elsewhere.

use std::path::PathBuf;

use rusqlite::{Connection, ErrorCode, TransactionBehavior, ffi};
use tokio::sync::{mpsc, oneshot};

use super::{failure, statement};
use crate::JournalError;
use crate::entry::Entry;
use crate::limits::COMMIT_ENTRIES_MAX;

/// An entry and who waits for it.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) entry: Entry,
    pub(super) reply: oneshot::Sender<Result<(), JournalError>>,
}

/// The only connection of this journal that writes.
#[derive(Debug)]
pub(super) struct Writer {
    db: Connection,
    path: PathBuf,
    firmness: Firmness,
}

/// What a commit survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Firmness {
    /// The death of the process: the operating system has the data.
    Process,
    /// The loss of power: the disk has the data.
    Power,
}

/// Says whether later commits can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Sound,
    Lost,
}

/// What became of each entry of a commit.
type Results = Vec<Result<(), JournalError>>;

impl Writer {
    /// Takes a connection that syncs every commit.
    pub(super) fn new(db: Connection, path: PathBuf) -> Self {
        Self { db, path, firmness: Firmness::Power }
    }

    /// Writes until nobody can send any more and the queue is empty, or until commits cannot be trusted any more.
    pub(super) fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        let mut batch = Vec::new();
        while requests.blocking_recv_many(&mut batch, COMMIT_ENTRIES_MAX) > 0 {
            if self.write(std::mem::take(&mut batch)) == Health::Lost {
                return;
            }
        }
    }

    /// Writes the entries that need no sync first, so that nobody waits for a sync who need not.
    fn write(&mut self, batch: Vec<Request>) -> Health {
        let (durable, ordinary): (Vec<_>, Vec<_>) =
            batch.into_iter().partition(|request| request.entry.is_durable());
        match self.write_group(ordinary, Firmness::Process) {
            Health::Sound => self.write_group(durable, Firmness::Power),
            Health::Lost => Health::Lost,
        }
    }

    /// Writes the group in one commit. If that fails, each entry is tried alone, so that one that cannot be written
    /// takes no other with it.
    fn write_group(&mut self, group: Vec<Request>, firmness: Firmness) -> Health {
        if group.is_empty() {
            return Health::Sound;
        }
        let (entries, replies): (Vec<_>, Vec<_>) =
            group.into_iter().map(|request| (request.entry, request.reply)).unzip();
        let (results, health) = match self.commit(&entries, firmness) {
            Ok(results) => (results, Health::Sound),
            Err(err) if entries.len() > 1 && is_about_an_entry(&err) => {
                self.commit_singly(&entries, firmness)
            }
            Err(err) => (self.failures(&err, entries.len()), health_after(&err)),
        };
        for (reply, result) in replies.into_iter().zip(results) {
            // Whoever waited may have gone; the entry stands all the same.
            let _ = reply.send(result);
        }
        health
    }

    fn commit_singly(&mut self, entries: &[Entry], firmness: Firmness) -> (Results, Health) {
        let mut results = Results::with_capacity(entries.len());
        for entry in entries {
            match self.commit(std::slice::from_ref(entry), firmness) {
                Ok(result) => results.extend(result),
                Err(err) => {
                    results.extend(self.failures(&err, 1));
                    if health_after(&err) == Health::Lost {
                        results.extend(self.failures(&err, entries.len() - results.len()));
                        return (results, Health::Lost);
                    }
                }
            }
        }
        (results, Health::Sound)
    }

    /// Commits the entries together and returns what became of each; `Err` if nothing was committed.
    fn commit(&mut self, entries: &[Entry], firmness: Firmness) -> rusqlite::Result<Results> {
        self.set_firmness(firmness)?;
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let first = statement::last_change(&transaction)?;
        let mut change = first;
        let mut results = Results::with_capacity(entries.len());
        for entry in entries {
            results.push(statement::apply(&transaction, entry, &mut change)?);
        }
        if change != first {
            statement::set_last_change(&transaction, change)?;
        }
        transaction.commit()?;
        Ok(results)
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

    fn failures(&self, err: &rusqlite::Error, count: usize) -> Results {
        (0..count).map(|_| Err(failure::journal_error(&self.path, err))).collect()
    }
}

/// Returns whether another entry may fare better. A lock that did not come free would be waited for once per entry,
/// and a disk that failed has failed for all.
fn is_about_an_entry(err: &rusqlite::Error) -> bool {
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
