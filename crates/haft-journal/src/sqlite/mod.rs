//! The store in an SQLite file, with the content store as files beside it. One thread writes what callers queue up and commits it together; another reads, and sees
//! every commit that came before its query. Several processes may have the file open. SQLite keeps them apart, and what decides
//! between them is in the file, so that they agree.

mod content_files;
mod disk;
mod failure;
mod open;
mod schema;
mod sql;
mod transaction;
mod writer;

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use haft_contract::BoxFuture;
use rusqlite::Connection;
use tokio::sync::mpsc;

use crate::JournalError;
use crate::limits::{QUEUE_ENTRIES_MAX, QUEUE_QUERIES_MAX};
use crate::machine::JournalMachine;
use crate::store::{
    ReadOperation, Reader, Row, RowQuery, Store, StoreFailure, Tallied, Tally, WriteOperation,
    contents,
};
use crate::worker::Worker;
use content_files::ContentFiles;
use disk::Log;
use writer::{FileId, SqliteWriter, file_at};

/// A journal in an SQLite file.
///
/// Dropping it writes what is still queued, closes the file and may block meanwhile.
pub type SqliteJournal = JournalMachine<SqliteStore>;

/// Keeps rows in an SQLite file.
pub struct SqliteStore {
    path: PathBuf,
    // Dropped in this order: SQLite tidies up when the last connection closes, which is to be one that can write.
    /// Begins with the first query: a process that only serves a list of tools asks nothing.
    reader: OnceLock<Worker<Box<dyn ReadOperation>>>,
    /// Which file the path led to at first.
    file: Option<FileId>,
    /// The log, for readers that must not answer from what is not on disk; `None` if the file is only looked at.
    log: Option<Arc<Log>>,
    /// `None` if the file is only looked at.
    writer: Option<Worker<Box<dyn WriteOperation>>>,
}

impl JournalMachine<SqliteStore> {
    /// Opens the journal at `path`. A missing file is created, for its owner alone, with the directories
    /// that lead to it. A file that an older haft wrote is brought up to date.
    ///
    /// Blocks for about a millisecond, longer only when the file is created, brought up to date or locked.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, JournalError> {
        let path = path.as_ref().to_owned();
        let writer = SqliteWriter::open(&path)?;
        SqliteStore::start(writer, path).map(Self::over)
    }

    /// Opens the journal at `path` to look at it, also where nothing can be written. Nothing is created or brought up to
    /// date; what would change it answers [`JournalError::ReadOnly`].
    pub fn open_to_read(path: impl AsRef<Path>) -> Result<Self, JournalError> {
        let path = path.as_ref().to_owned();
        let reader = spawn_reader(open::looking(&path)?, &path, None)?;
        let file = file_at(&path);
        Ok(Self::over(SqliteStore { path, reader: reader.into(), file, log: None, writer: None }))
    }
}

impl SqliteStore {
    /// Starts the threads of a store. Tests bring a writer whose log cannot be synced.
    fn start(writer: SqliteWriter, path: PathBuf) -> Result<Self, JournalError> {
        let (log, file) = (Some(writer.log()), writer.file());
        let run = |operations| writer.run(operations);
        let writer = Worker::spawn("journal-writer", QUEUE_ENTRIES_MAX, run);
        let writer = Some(writer.map_err(|err| no_thread(&path, &err))?);
        Ok(Self { path, reader: OnceLock::new(), file, log, writer })
    }
}

impl SqliteStore {
    fn start_reader(&self) -> Result<Worker<Box<dyn ReadOperation>>, JournalError> {
        let db = open::reading(&self.path)?;
        // Another file may lie there by now, which holds nothing of what this process wrote.
        if file_at(&self.path) != self.file {
            return Err(JournalError::Removed { path: self.path.clone() });
        }
        spawn_reader(db, &self.path, self.log.clone())
    }
}

impl Store for SqliteStore {
    fn location(&self) -> &Path {
        &self.path
    }

    fn medium(&self) -> &'static str {
        "file"
    }

    fn write(&self, operation: Box<dyn WriteOperation>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match &self.writer {
                // If the thread has ended, the operation is dropped.
                Some(writer) => {
                    let _ = writer.send(operation).await;
                }
                None => {
                    operation.finish(Err(JournalError::ReadOnly { path: self.path.clone() }));
                }
            }
        })
    }

    fn read(&self, operation: Box<dyn ReadOperation>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let reader = match self.reader.get() {
                Some(reader) => reader,
                None => match self.start_reader() {
                    Ok(reader) => self.reader.get_or_init(|| reader),
                    Err(err) => return operation.finish(Err(err)),
                },
            };
            let _ = reader.send(operation).await;
        })
    }

    fn compact(&self) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(async move {
            let path = self.path.clone();
            if self.writer.is_none() {
                return Err(JournalError::ReadOnly { path });
            }
            let (answer, done) = tokio::sync::oneshot::channel();
            let work = move || {
                let _ = answer.send(open::compact(&path));
            };
            let thread = std::thread::Builder::new().name("journal-compact".to_owned()).spawn(work);
            thread.map_err(|err| no_thread(&self.path, &err))?;
            let stopped = |_| JournalError::Stopped { path: self.path.clone() };
            done.await.map_err(stopped)?
        })
    }
}

/// Reads in one transaction each, so that all that an operation reads is as it was at one moment.
struct SqliteReader<'a> {
    db: &'a Connection,
    path: &'a Path,
}

impl SqliteReader<'_> {
    fn fail(&self) -> impl Fn(rusqlite::Error) -> StoreFailure {
        |err| failure::journal_error(self.path, &err).into()
    }
}

impl Reader for SqliteReader<'_> {
    fn scan(
        &mut self,
        query: &RowQuery,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<(), StoreFailure> {
        if *query.table == contents::TABLE {
            return Ok(ContentFiles::beside(self.path).scan(query, visit)?);
        }
        sql::scan(self.db, query, visit).map_err(self.fail())
    }

    fn tally(&mut self, tally: &Tally) -> Result<Vec<Tallied>, StoreFailure> {
        sql::tally(self.db, tally).map_err(self.fail())
    }

    fn inspect(&mut self) -> Result<Vec<(String, String)>, StoreFailure> {
        inspect(self.db).map_err(self.fail())
    }
}

fn inspect(db: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let mut findings = Vec::new();
    let mut statement = db.prepare("PRAGMA integrity_check")?;
    let mut answers = statement.query([])?;
    while let Some(row) = answers.next()? {
        let answer: String = row.get(0)?;
        if answer != "ok" {
            findings.push(("the file is whole".to_owned(), answer));
        }
    }
    let mut statement = db.prepare("PRAGMA foreign_key_check")?;
    let mut answers = statement.query([])?;
    while let Some(row) = answers.next()? {
        let (table, number): (String, Option<i64>) = (row.get(0)?, row.get(1)?);
        findings
            .push(("rows belong to runs".to_owned(), format!("row {number:?} of table {table}")));
    }
    Ok(findings)
}

fn spawn_reader(
    db: Connection,
    path: &Path,
    log: Option<Arc<Log>>,
) -> Result<Worker<Box<dyn ReadOperation>>, JournalError> {
    let location = path.to_owned();
    let run = move |operations| answer(&db, &location, log.as_deref(), operations);
    let reader = Worker::spawn("journal-reader", QUEUE_QUERIES_MAX, run);
    reader.map_err(|err| no_thread(path, &err))
}

fn no_thread(path: &Path, err: &std::io::Error) -> JournalError {
    JournalError::CannotOpen { path: path.to_owned(), reason: format!("no thread for it: {err}") }
}

fn answer(
    db: &Connection,
    path: &Path,
    log: Option<&Log>,
    mut operations: mpsc::Receiver<Box<dyn ReadOperation>>,
) {
    while let Some(mut operation) = operations.blocking_recv() {
        let read = read(db, path, &mut *operation);
        // A caller may tell others of the answer, so what it was made of has to outlive the power.
        let synced = log.map_or(Ok(()), Log::sync_seen);
        let synced = synced.map_err(|failure| failure.to_error(path));
        operation.finish(synced.and(read));
    }
}

fn read(
    db: &Connection,
    path: &Path,
    operation: &mut dyn ReadOperation,
) -> Result<(), JournalError> {
    let snapshot = db.unchecked_transaction();
    let snapshot = snapshot.map_err(|err| failure::journal_error(path, &err))?;
    operation.apply(&mut SqliteReader { db: &snapshot, path }).map_err(|failure| failure.0)
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path).finish_non_exhaustive()
    }
}
