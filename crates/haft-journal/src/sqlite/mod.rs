//! The journal in an SQLite file: one thread owns the only connection that writes, another the one that reads. Several
//! processes may have the same file open; who has a run is in the file, so that they agree.

mod chat;
mod disk;
mod failure;
mod job;
mod lease;
mod open;
mod reader;
mod record;
mod schema;
mod transaction;
mod upkeep;
mod worker;
mod writer;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::{CallId, RunId, Scope};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::chat::Batch;
use crate::entry::{Entry, Firmness};
use crate::limits::{QUEUE_ENTRIES_MAX, QUEUE_QUERIES_MAX};
use crate::upkeep::Families;
use crate::{
    Answer, AttemptState, CallQuery, CallRow, ChatFirmness, ChatId, ChatMessage, ChatPart,
    ChatQuery, ChatRecord, ChatSession, Chats, Claim, Due, EarlierEffects, Finding, Holder, Intent,
    Journal, JournalError, LateOutcome, Lease, MessageId, MessageQuery, NewRun, Outcome,
    PlannedCall, Pruned, RecordedCall, Retention, RunQuery, RunRow, Settled, Settlement,
    SnapshotNote,
};
use disk::Log;
use job::{Applied, Job, job};
use lease::History;
use record::Record;
use transaction::Writing;
use upkeep::{Candidate, Removal};
use worker::Worker;
use writer::Writer;

/// A journal in an SQLite file.
///
/// Dropping it writes what is still queued, closes the file and may block meanwhile.
pub struct SqliteJournal {
    path: PathBuf,
    // Dropped in this order: SQLite tidies up when the last connection closes, which is to be one that can write.
    reader: Worker<Query>,
    /// `None` if the file is only looked at.
    writer: Option<Worker<Box<dyn Job>>>,
    /// What the writer writes to and the reader must not be ahead of.
    log: Option<Arc<Log>>,
}

type Query = Box<dyn FnOnce(&Connection) + Send>;

impl SqliteJournal {
    /// Opens the journal at `path`. A file that is missing is created, for its owner alone, with the directories
    /// that lead to it; one that an older haft wrote is brought up to date.
    ///
    /// Blocks for about a millisecond, longer only when the file is created, brought up to date or locked.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, JournalError> {
        let path = path.as_ref().to_owned();
        let writer = Writer::open(&path)?;
        Self::start(writer, path)
    }

    fn start(writer: Writer, path: PathBuf) -> Result<Self, JournalError> {
        let log = writer.log();
        let reader = spawn_reader(open::reading(&path)?, &path)?;
        let writer = Worker::spawn("journal-writer", QUEUE_ENTRIES_MAX, |jobs| {
            writer.run(jobs);
        })
        .map_err(|err| no_thread(&path, &err))?;
        Ok(Self { path, reader, writer: Some(writer), log: Some(log) })
    }

    /// Opens the journal at `path` to look at it, also where nothing can be written. Nothing is created or brought up to
    /// date; what would change it answers [`JournalError::ReadOnly`].
    pub fn open_to_read(path: impl AsRef<Path>) -> Result<Self, JournalError> {
        let path = path.as_ref().to_owned();
        let reader = spawn_reader(open::looking(&path)?, &path)?;
        Ok(Self { path, reader, writer: None, log: None })
    }

    async fn write<T, F>(&self, firmness: Firmness, write: F) -> Result<T, JournalError>
    where
        T: Send + 'static,
        F: FnMut(&mut Writing<'_>) -> Applied<T> + Send + 'static,
    {
        self.queue(firmness, write).await?.await
    }

    /// Brings a job into the queue, and returns where its answer will be.
    async fn queue<T, F>(
        &self,
        firmness: Firmness,
        write: F,
    ) -> Result<impl Future<Output = Result<T, JournalError>> + Send + use<T, F>, JournalError>
    where
        T: Send + 'static,
        F: FnMut(&mut Writing<'_>) -> Applied<T> + Send + 'static,
    {
        let Some(writer) = &self.writer else {
            return Err(JournalError::ReadOnly { path: self.path.clone() });
        };
        let (job, answer) = job(firmness, write);
        let path = self.path.clone();
        let stopped = move || JournalError::Stopped { path };
        if writer.send(job).await.is_none() {
            return Err(stopped());
        }
        Ok(async move { answer.await.map_err(|_| stopped())? })
    }

    /// Waits until all that was committed before is on disk, whoever did it.
    async fn sync(&self) -> Result<(), JournalError> {
        self.write(Firmness::Power, |_| Ok(Ok(()))).await
    }

    /// Records an entry about the call in `row`, if that is known, and returns the row of the call.
    async fn record(&self, entry: Entry, row: Option<i64>) -> Result<Option<i64>, JournalError> {
        let (firmness, record) = (entry.firmness(), Record::new(entry, row));
        self.write(firmness, move |tx| record::record(tx, &record)).await
    }

    /// Removes a run, in as many commits as it takes; `None` if it is in use again.
    async fn remove(&self, candidate: Candidate) -> Result<Option<u64>, JournalError> {
        let mut calls = 0;
        loop {
            let candidate = candidate.clone();
            let part = move |tx: &mut Writing<'_>| upkeep::remove(tx, &candidate);
            match self.write(Firmness::Process, part).await? {
                Removal::Begun(count) => calls += count,
                Removal::Done(count) => return Ok(Some(calls + count)),
                Removal::Kept => return Ok(None),
            }
        }
    }

    async fn read<T, F>(&self, query: F) -> Result<T, JournalError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let stopped = || JournalError::Stopped { path: self.path.clone() };
        let (log, path) = (self.log.clone(), self.path.clone());
        let query = move |db: &Connection| {
            let found = query(db).map_err(|err| failure::journal_error(&path, &err));
            // Whoever is answered may tell others, and what it is told has to outlive the power.
            let synced = log.map_or(Ok(()), |log| log.sync_seen());
            let result = synced.map_err(|failure| failure.to_error(&path)).and(found);
            // Whoever asked may have gone; then nobody wants the answer.
            drop(reply.send(result));
        };
        self.reader.send(Box::new(query)).await.ok_or_else(stopped)?;
        answer.await.map_err(|_| stopped())?
    }
}

fn spawn_reader(connection: Connection, path: &Path) -> Result<Worker<Query>, JournalError> {
    let run = move |queries| answer(&connection, queries);
    let reader = Worker::spawn("journal-reader", QUEUE_QUERIES_MAX, run);
    reader.map_err(|err| no_thread(path, &err))
}

fn no_thread(path: &Path, err: &std::io::Error) -> JournalError {
    JournalError::CannotOpen { path: path.to_owned(), reason: format!("no thread for it: {err}") }
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

impl Chats for SqliteJournal {
    fn record_chat(
        &self,
        lease: &Lease,
        records: Vec<ChatRecord>,
        firmness: ChatFirmness,
    ) -> Answer<'_, ()> {
        let lease = lease.clone();
        Box::pin(async move {
            let batch = Batch::new(&lease.run, records)?;
            let record = move |tx: &mut Writing<'_>| chat::record(tx, &lease, &batch);
            self.write(firmness.into(), record).await
        })
    }

    fn rewind_chat(&self, lease: &Lease, from: &MessageId, at_ms: u64) -> Answer<'_, u64> {
        let (lease, from) = (lease.clone(), from.clone());
        let rewind = move |tx: &mut Writing<'_>| chat::rewind(tx, &lease, &from, at_ms);
        Box::pin(self.write(Firmness::Power, rewind))
    }

    fn chat(&self, id: &ChatId) -> Answer<'_, Option<ChatSession>> {
        let id = id.clone();
        Box::pin(self.read(move |db| chat::chat(db, &id)))
    }

    fn chats(&self, query: ChatQuery) -> Answer<'_, Vec<ChatSession>> {
        Box::pin(self.read(move |db| chat::chats(db, &query)))
    }

    fn chat_messages(
        &self,
        chat: &ChatId,
        query: MessageQuery,
    ) -> Answer<'_, Vec<(ChatMessage, Vec<ChatPart>)>> {
        let chat = chat.clone();
        Box::pin(self.read(move |db| chat::messages(db, &chat, &query)))
    }
}

impl Journal for SqliteJournal {
    fn open_run(&self, run: NewRun, claim: Claim) -> Answer<'_, Lease> {
        Box::pin(async move {
            let open = move |tx: &mut Writing<'_>| lease::open(tx, &run, &claim);
            let (lease, history) = self.write(Firmness::Process, open).await?;
            match history {
                History::None => {}
                // Whoever had the run may have died between a commit and its sync, and what is seen of it now is
                // answered from now on. Nobody else adds to it any more.
                History::Some => self.sync().await?,
            }
            Ok(lease)
        })
    }

    fn renew(&self, lease: Lease, claim: Claim) -> Answer<'_, ()> {
        let renew = move |tx: &mut Writing<'_>| lease::renew(tx, &lease, &claim);
        Box::pin(self.write(Firmness::Process, renew))
    }

    fn close_run(&self, lease: Lease) -> Answer<'_, ()> {
        Box::pin(self.write(Firmness::Process, move |tx| lease::close(tx, &lease)))
    }

    fn holders(&self) -> Answer<'_, Vec<Holder>> {
        Box::pin(self.read(lease::holders))
    }

    fn abandon(&self, holder: Holder) -> Answer<'_, Vec<CallId>> {
        Box::pin(self.write(Firmness::Power, move |tx| lease::abandon(tx, &holder)))
    }

    fn attempt(&self, scope: &Scope) -> Answer<'_, AttemptState> {
        let scope = scope.clone();
        Box::pin(self.read(move |db| reader::attempt(db, &scope)))
    }

    fn recorded(&self, scope: &Scope) -> Answer<'_, Vec<RecordedCall>> {
        let scope = scope.clone();
        Box::pin(self.read(move |db| reader::recorded(db, &scope)))
    }

    fn by_driver_id(&self, scope: &Scope, driver_call_id: &str) -> Answer<'_, Option<CallRow>> {
        let (scope, driver_call_id) = (scope.clone(), driver_call_id.to_owned());
        Box::pin(self.read(move |db| reader::by_driver_id(db, &scope, &driver_call_id)))
    }

    fn earlier_effects(&self, scope: &Scope, calls_max: u32) -> Answer<'_, EarlierEffects> {
        let scope = scope.clone();
        Box::pin(self.read(move |db| reader::earlier_effects(db, &scope, calls_max)))
    }

    fn intend(&self, call: PlannedCall) -> Answer<'_, Intent> {
        Box::pin(async move {
            let call = Arc::new(call);
            let intent = Intent::new(Arc::clone(&call));
            match Entry::intend(&call) {
                Some(entry) => Ok(intent.at_row(self.record(entry, None).await?)),
                None => Ok(intent),
            }
        })
    }

    fn amend(&self, intent: &Intent, details: String) -> Answer<'_, ()> {
        let (row, entry) = (intent.row(), Entry::amend(intent, details));
        Box::pin(async move { self.record(entry?, row).await.map(drop) })
    }

    fn settle(&self, intent: Intent, outcome: Outcome) -> Answer<'_, ()> {
        Box::pin(async move {
            let row = intent.row();
            let entry = Entry::settle(intent, &outcome)?;
            self.record(entry, row).await.map(drop)
        })
    }

    fn settle_ahead(&self, intent: Intent, outcome: Outcome) -> Answer<'_, Settled> {
        Box::pin(async move {
            let row = intent.row();
            let entry = Entry::settle(intent, &outcome)?;
            let (firmness, record) = (entry.firmness().soon(), Record::new(entry, row));
            // The queue is first come, first served, and whatever is committed is so in its order.
            let settled = self.queue(firmness, move |tx| record::record(tx, &record)).await?;
            Ok(Box::pin(async move { settled.await.map(drop) }) as Settled)
        })
    }

    fn refuse(&self, call: PlannedCall, outcome: Outcome) -> Answer<'_, ()> {
        Box::pin(async move {
            let entry = Entry::refuse(call, &outcome)?;
            self.record(entry, None).await.map(drop)
        })
    }

    fn resolve(&self, settlement: Settlement) -> Answer<'_, CallRow> {
        Box::pin(self.write(Firmness::Power, move |tx| record::resolve(tx, &settlement)))
    }

    fn hear(&self, call: CallId) -> Answer<'_, ()> {
        Box::pin(self.write(Firmness::Power, move |tx| record::hear(tx, &call)))
    }

    fn note_snapshot(&self, note: SnapshotNote) -> Answer<'_, ()> {
        Box::pin(self.write(Firmness::Process, move |tx| record::note_snapshot(tx, &note)))
    }

    fn snapshots(&self, run: &RunId, call: Option<&CallId>) -> Answer<'_, Vec<SnapshotNote>> {
        let (run, call) = (run.clone(), call.cloned());
        Box::pin(self.read(move |db| match call {
            Some(call) => reader::snapshots_of_call(db, &call),
            None => reader::snapshots_of_run(db, &run),
        }))
    }

    fn late_outcomes(&self, run: &RunId) -> Answer<'_, Vec<LateOutcome>> {
        let run = run.clone();
        Box::pin(self.read(move |db| reader::late_outcomes(db, &run)))
    }

    fn calls(&self, query: CallQuery) -> Answer<'_, Vec<CallRow>> {
        Box::pin(self.read(move |db| reader::calls(db, &query)))
    }

    fn runs(&self, query: RunQuery) -> Answer<'_, Vec<RunRow>> {
        Box::pin(self.read(move |db| reader::runs(db, &query)))
    }

    fn due(&self, retention: Retention) -> Answer<'_, Due> {
        Box::pin(self.read(move |db| {
            upkeep::candidates(db, retention).map(|found| found.due(|candidate| candidate.run))
        }))
    }

    fn prune(&self, retention: Retention) -> Answer<'_, Pruned> {
        Box::pin(async move {
            let found = self.read(move |db| upkeep::candidates(db, retention)).await?;
            let mut pruned = Pruned { kept_in_doubt: found.kept_in_doubt, ..Pruned::default() };
            let mut families = Families::default();
            for candidate in found.going {
                let run = candidate.run.clone();
                if !families.may_go(&run, candidate.parent.as_ref()) {
                    continue;
                }
                match self.remove(candidate).await? {
                    Some(calls) => {
                        pruned.runs.push(run);
                        pruned.calls += calls;
                    }
                    None => families.keep(run),
                }
            }
            // Whoever hears of it removes what belonged to these runs elsewhere, so they must not come back.
            if !pruned.runs.is_empty() {
                self.sync().await?;
            }
            Ok(pruned)
        })
    }

    fn verify(&self) -> Answer<'_, Vec<Finding>> {
        Box::pin(self.read(upkeep::verify))
    }
}
