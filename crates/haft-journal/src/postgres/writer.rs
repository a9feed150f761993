//! The connection that writes: it takes what has queued up while it was busy and commits that together. One transaction
//! of all writers of a database runs at a time, from the lock that it begins with to its commit, and everything that
//! is sent of a batch is sent at once, so that nobody waits for this side meanwhile.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::action::Action;
use super::batch::{Columns, Pass, Results};
use super::failure::Trouble;
use super::session::{Link, Session};
use crate::JournalError;
use crate::entry::{Entry, Firmness};
use crate::limits::{ANSWER_MS_MAX, COMMIT_ENTRIES_MAX, SESSIONS_MAX};

/// What the writer is asked to do, and who waits for it.
pub(super) enum Request {
    Record(Record),
    Act(Box<dyn Action>),
}

/// An entry and who waits for it.
pub(super) struct Record {
    pub(super) entry: Entry,
    pub(super) reply: oneshot::Sender<Result<(), JournalError>>,
}

/// The only connection of this journal that writes.
pub(super) struct Writer {
    link: Link,
    path: PathBuf,
}

/// Takes the lock of all writers: see the schema. The settings of a database or a user may be others.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
const LOCK: &str = "SELECT FROM haft.changes WHERE id = 1 FOR UPDATE";
const NO_SYNC: &str = "SET LOCAL synchronous_commit = off";

impl Writer {
    pub(super) fn new(link: Link, path: PathBuf) -> Self {
        Self { link, path }
    }

    /// Writes until nobody can send any more and the queue is empty.
    pub(super) async fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        let mut waiting = Vec::new();
        while requests.recv_many(&mut waiting, COMMIT_ENTRIES_MAX).await > 0 {
            let mut batch = Vec::new();
            for request in waiting.drain(..) {
                match request {
                    Request::Record(record) => batch.push(record),
                    Request::Act(action) => {
                        self.write(std::mem::take(&mut batch)).await;
                        self.act(action).await;
                    }
                }
            }
            self.write(batch).await;
        }
    }

    /// Writes the entries that need no sync first, so that nobody waits for a sync who need not.
    async fn write(&mut self, batch: Vec<Record>) {
        let (ordinary, durable): (Vec<_>, Vec<_>) =
            batch.into_iter().partition(|record| record.entry.firmness() == Firmness::Process);
        self.write_group(ordinary, Firmness::Process).await;
        self.write_group(durable, Firmness::Power).await;
    }

    /// Writes the group in one commit. If that fails, each entry is tried alone, so that one that cannot be written
    /// takes no other with it.
    async fn write_group(&mut self, group: Vec<Record>, firmness: Firmness) {
        if group.is_empty() {
            return;
        }
        let entries: Vec<&Entry> = group.iter().map(|record| &record.entry).collect();
        let results = match self.record(&entries, firmness, Pass::First).await {
            Ok(results) => results,
            Err(trouble) if entries.len() > 1 && trouble.is_about_an_entry() => {
                self.record_singly(&entries, firmness).await
            }
            Err(trouble) => entries.iter().map(|_| Err(trouble.error(&self.path))).collect(),
        };
        for (record, result) in group.into_iter().zip(results) {
            // Whoever waited may have gone; the entry stands all the same.
            let _ = record.reply.send(result);
        }
    }

    async fn record_singly(&mut self, entries: &[&Entry], firmness: Firmness) -> Results {
        let mut results = Results::with_capacity(entries.len());
        for entry in entries {
            // Some of the group may be there: who knows why it failed.
            match self.record(&[entry], firmness, Pass::Again).await {
                Ok(result) => results.extend(result),
                Err(trouble) => results.push(Err(trouble.error(&self.path))),
            }
        }
        results
    }

    /// Commits the entries together. Where the session breaks, what became of them is looked up in the next one, and
    /// what is not there is written again.
    async fn record(
        &mut self,
        entries: &[&Entry],
        firmness: Firmness,
        pass: Pass,
    ) -> Result<Results, Trouble> {
        let mut tries = Tries { pass, left: SESSIONS_MAX };
        loop {
            let session = tries.session(&mut self.link).await?;
            let result = record(&session, entries, firmness, tries.pass).await;
            if !tries.is_worth_another(&result) {
                return result;
            }
            self.link.give_up(&session);
        }
    }

    async fn act(&mut self, mut action: Box<dyn Action>) {
        let result = self.try_act(&mut *action).await;
        action.answer(result.map_err(|trouble| trouble.error(&self.path)));
    }

    async fn try_act(&mut self, action: &mut dyn Action) -> Result<(), Trouble> {
        let mut tries = Tries { pass: Pass::First, left: SESSIONS_MAX };
        loop {
            let session = tries.session(&mut self.link).await?;
            let result = act(&session, action, tries.pass).await;
            if !tries.is_worth_another(&result) {
                return result;
            }
            self.link.give_up(&session);
        }
    }
}

/// How often something may still be tried.
struct Tries {
    pass: Pass,
    left: u32,
}

impl Tries {
    /// Returns a session to try it in. Where there is none any more, what was sent in the one before stays in doubt.
    async fn session(&self, link: &mut Link) -> Result<Arc<Session>, Trouble> {
        link.session().await.map_err(|trouble| match (self.pass, trouble) {
            (Pass::Again, Trouble::Unreachable(reason)) => {
                Trouble::Lost(format!("the connection broke, and there is no other: {reason}"))
            }
            (_, trouble) => trouble,
        })
    }

    /// Counts a try, and returns whether the session broke and another one is worth it.
    fn is_worth_another<T>(&mut self, result: &Result<T, Trouble>) -> bool {
        let is_lost = matches!(result, Err(Trouble::Lost(_)));
        if is_lost {
            self.pass = Pass::Again;
        }
        self.left = self.left.saturating_sub(1);
        is_lost && self.left > 0
    }
}

/// Commits the entries together, once.
async fn record(
    session: &Session,
    entries: &[&Entry],
    firmness: Firmness,
    pass: Pass,
) -> Result<Results, Trouble> {
    let columns = Columns::of(entries)?;
    let begin = begin(firmness);
    let db = &session.client;
    answered(async {
        let statements = session.statements().await?;
        let (begun, applied, committed) = tokio::join!(
            biased;
            db.batch_execute(&begin),
            statements.apply(db, &columns, pass),
            db.batch_execute("COMMIT"),
        );
        // Once one of them has failed, the server takes the commit for the end of a transaction that failed.
        begun?;
        let results = applied?;
        committed?;
        Ok(results)
    })
    .await
}

/// Carries out an action and commits it, once.
async fn act(session: &Session, action: &mut dyn Action, pass: Pass) -> Result<(), Trouble> {
    let begin = begin(action.firmness());
    let db = &session.client;
    answered(async {
        let applied = match db.batch_execute(&begin).await {
            Ok(()) => action.apply(db, pass).await,
            Err(err) => Err(err.into()),
        };
        match applied {
            Ok(()) => Ok(db.batch_execute("COMMIT").await?),
            Err(trouble) => {
                // In a session that is lost the server does so by itself.
                let _ = db.batch_execute("ROLLBACK").await;
                Err(trouble)
            }
        }
    })
    .await
}

fn begin(firmness: Firmness) -> String {
    match firmness {
        Firmness::Process => format!("{BEGIN}; {NO_SYNC}; {LOCK}"),
        Firmness::Power | Firmness::PowerSoon => format!("{BEGIN}; {LOCK}"),
    }
}

/// Waits for what the server answers, but not for ever.
async fn answered<T>(work: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
    let bound = Duration::from_millis(ANSWER_MS_MAX);
    match tokio::time::timeout(bound, work).await {
        Ok(result) => result,
        Err(_) => Err(Trouble::Lost(format!("the server gave no answer for {ANSWER_MS_MAX} ms"))),
    }
}
