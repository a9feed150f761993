//! The journal in an SQLite file: one thread owns the only connection that writes, another the one that reads. Several
//! processes may have the same file open; who owns a run is not decided here.

mod failure;
mod open;
mod reader;
mod schema;
mod statement;
mod worker;
mod writer;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::{BoxFuture, Scope};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::entry::Entry;
use crate::limits::{QUEUE_ENTRIES_MAX, QUEUE_QUERIES_MAX};
use crate::{
    AttemptState, CallQuery, CallRow, Intent, Journal, JournalError, NewRun, Outcome, PlannedCall,
    RunQuery, RunRow,
};
use worker::Worker;
use writer::{Request, Writer};

/// A journal in an SQLite file.
///
/// Dropping it writes what is still queued, closes the file and may block meanwhile.
pub struct SqliteJournal {
    path: PathBuf,
    // Dropped in this order: SQLite tidies up when the last connection closes, which is to be one that can write.
    reader: Worker<Query>,
    writer: Worker<Request>,
}

type Query = Box<dyn FnOnce(&Connection) + Send>;

impl SqliteJournal {
    /// Opens the journal at `path`. A file that is missing is created, for its owner alone, with the directories
    /// that lead to it; one that an older haft wrote is brought up to date.
    ///
    /// Blocks for about a millisecond, longer only when the file is created, brought up to date or locked.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, JournalError> {
        let path = path.as_ref().to_owned();
        let writer = Writer::new(open::writing(&path)?, path.clone());
        let connection = open::reading(&path)?;
        let no_thread = |err: std::io::Error| JournalError::CannotOpen {
            path: path.clone(),
            reason: format!("no thread for it: {err}"),
        };
        let reader = Worker::spawn("journal-reader", QUEUE_QUERIES_MAX, move |queries| {
            answer(&connection, queries);
        })
        .map_err(no_thread)?;
        let writer = Worker::spawn("journal-writer", QUEUE_ENTRIES_MAX, |requests| {
            writer.run(requests);
        })
        .map_err(no_thread)?;
        Ok(Self { path, reader, writer })
    }

    async fn write(&self, entry: Entry) -> Result<(), JournalError> {
        let (reply, answer) = oneshot::channel();
        let stopped = || JournalError::Stopped { path: self.path.clone() };
        self.writer.send(Request { entry, reply }).await.ok_or_else(stopped)?;
        answer.await.map_err(|_| stopped())?
    }

    async fn read<T, F>(&self, query: F) -> Result<T, JournalError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let stopped = || JournalError::Stopped { path: self.path.clone() };
        // Whoever asked may have gone; then nobody wants the answer.
        let query = move |db: &Connection| drop(reply.send(query(db)));
        self.reader.send(Box::new(query)).await.ok_or_else(stopped)?;
        let result = answer.await.map_err(|_| stopped())?;
        result.map_err(|err| failure::journal_error(&self.path, &err))
    }
}

fn answer(connection: &Connection, mut queries: tokio::sync::mpsc::Receiver<Query>) {
    while let Some(query) = queries.blocking_recv() {
        query(connection);
    }
}

impl fmt::Debug for SqliteJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteJournal").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Journal for SqliteJournal {
    fn begin_run(&self, run: NewRun) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(self.write(Entry::Run(run)))
    }

    fn attempt(&self, scope: &Scope) -> BoxFuture<'_, Result<AttemptState, JournalError>> {
        let scope = scope.clone();
        Box::pin(self.read(move |db| reader::attempt(db, &scope)))
    }

    fn intend(&self, call: PlannedCall) -> BoxFuture<'_, Result<Intent, JournalError>> {
        Box::pin(async move {
            let call = Arc::new(call);
            if let Some(entry) = Entry::intend(&call) {
                self.write(entry).await?;
            }
            Ok(Intent::new(call))
        })
    }

    fn settle(&self, intent: Intent, outcome: Outcome) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(async move { self.write(Entry::settle(intent, outcome)?).await })
    }

    fn refuse(
        &self,
        call: PlannedCall,
        outcome: Outcome,
    ) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(async move { self.write(Entry::refuse(call, outcome)?).await })
    }

    fn calls(&self, query: CallQuery) -> BoxFuture<'_, Result<Vec<CallRow>, JournalError>> {
        Box::pin(self.read(move |db| reader::calls(db, &query)))
    }

    fn runs(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunRow>, JournalError>> {
        Box::pin(self.read(move |db| reader::runs(db, &query)))
    }
}
