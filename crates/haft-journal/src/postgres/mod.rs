//! The journal in a PostgreSQL database, which several machines may share. One thread drives two connections: one writes
//! what callers queue up, in common commits, the other reads. A connection that breaks is replaced, and what was sent
//! over it and not answered is looked up, never guessed.

mod action;
mod address;
mod batch;
mod chat;
mod failure;
mod lease;
mod query;
mod reader;
mod record;
mod row;
mod schema;
mod session;
mod text;
mod tls;
mod upkeep;
mod writer;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use haft_contract::{CallId, RunId, Scope};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_postgres::{Client, Row};

use crate::chat::Batch;
use crate::entry::{Entry, Firmness};
use crate::limits::{QUEUE_ENTRIES_MAX, QUEUE_QUERIES_MAX, SESSIONS_MAX};
use crate::row::collect_rows;
use crate::upkeep::{Candidates, Families};
use crate::{
    Answer, AttemptState, CallQuery, CallRow, ChatFirmness, ChatId, ChatMessage, ChatPart,
    ChatQuery, ChatRecord, ChatSession, Chats, Claim, Due, EarlierEffects, Finding, Holder, Intent,
    Journal, JournalError, LateOutcome, Lease, MessageId, MessageQuery, NewRun, Outcome,
    PlannedCall, Pruned, RecordedCall, Retention, RunQuery, RunRow, Settled, Settlement,
    SnapshotNote,
};
use action::{Applied, action};
use address::Address;
use batch::Pass;
use failure::Trouble;
use query::Query;
use reader::{Wanted, Which};
use session::{Link, Role, Session};
use upkeep::{Candidate, Removal};
use writer::{Record, Request, Writer};

/// A journal in a PostgreSQL database.
///
/// Dropping it writes what is still queued, ends its connections and may block meanwhile.
pub struct PostgresJournal {
    path: PathBuf,
    requests: mpsc::Sender<Request>,
    sessions: mpsc::Sender<Wanted>,
    /// As many may ask at once.
    questions: Semaphore,
    /// Dropped last: it ends once nobody can send any more.
    _thread: Thread,
}

/// A thread that is waited for.
struct Thread(Option<JoinHandle<()>>);

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // A panic of the thread was reported when it happened, and its callers were told that it stopped.
            let _ = thread.join();
        }
    }
}

impl PostgresJournal {
    /// Connects to the database that a URL such as `postgres://user:password@host:5432/database` names. What the
    /// journal needs there is created in the schema `haft`, or brought up to date.
    ///
    /// The URL's parameters are those of PostgreSQL's own clients, with `sslmode` (`disable`, `prefer`, `require`,
    /// `verify-ca`, `verify-full`) and `sslrootcert` (a file, or `system`). Needs PostgreSQL 14 or newer.
    pub async fn connect(url: &str) -> Result<Self, JournalError> {
        let address = Address::parse(url)?;
        let path = address.path.clone();
        let (requests, queue) = mpsc::channel(QUEUE_ENTRIES_MAX);
        let (sessions, wanted) = mpsc::channel(QUEUE_QUERIES_MAX);
        let (ready, opened) = oneshot::channel();
        let no_thread = |err: std::io::Error| JournalError::Unreachable {
            path: path.clone(),
            reason: format!("no thread for it: {err}"),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(no_thread)?;
        let thread = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || runtime.block_on(serve(address, ready, queue, wanted)))
            .map_err(no_thread)?;
        let thread = Thread(Some(thread));
        match opened.await {
            Ok(Ok(())) => {}
            Ok(Err(trouble)) => return Err(trouble.error(&path)),
            Err(_) => return Err(JournalError::Stopped { path }),
        }
        let questions = Semaphore::new(QUEUE_QUERIES_MAX);
        Ok(Self { path, requests, sessions, questions, _thread: thread })
    }

    async fn write<T, F>(&self, firmness: Firmness, write: F) -> Result<T, JournalError>
    where
        T: Send + 'static,
        F: AsyncFn(&Client, Pass) -> Applied<T> + Send + 'static,
    {
        let (action, answer) = action(firmness, write);
        self.requests.send(Request::Act(action)).await.map_err(|_| self.stopped())?;
        answer.await.map_err(|_| self.stopped())?
    }

    async fn record(&self, entry: Entry) -> Result<(), JournalError> {
        self.queue(entry).await?.await
    }

    /// Brings an entry into the queue, and returns where its answer will be.
    async fn queue(&self, entry: Entry) -> Result<Settled, JournalError> {
        let (reply, answer) = oneshot::channel();
        let record = Record { entry, reply };
        self.requests.send(Request::Record(record)).await.map_err(|_| self.stopped())?;
        let stopped = self.stopped();
        Ok(Box::pin(async move { answer.await.unwrap_or(Err(stopped)) }))
    }

    async fn session(&self, which: Which) -> Result<Arc<Session>, JournalError> {
        let (reply, session) = oneshot::channel();
        self.sessions.send(Wanted { which, reply }).await.map_err(|_| self.stopped())?;
        let session = session.await.map_err(|_| self.stopped())?;
        session.map_err(|trouble| trouble.error(&self.path))
    }

    /// Asks, and asks again where the connection breaks, for a bounded number of times.
    async fn ask(&self, query: Query) -> Result<Vec<Row>, JournalError> {
        let _permit = self.questions.acquire().await.map_err(|_| self.stopped())?;
        let mut session = self.session(Which::Shared).await?;
        for _ in 1..SESSIONS_MAX {
            match query.ask(&session.client).await {
                Err(Trouble::Lost(_)) => session = self.session(Which::After(session)).await?,
                result => return result.map_err(|trouble| trouble.error(&self.path)),
            }
        }
        query.ask(&session.client).await.map_err(|trouble| trouble.error(&self.path))
    }

    /// Asks, and makes of each row what it means.
    async fn read<T>(
        &self,
        query: Query,
        meaning: impl Fn(&Row) -> Result<T, Trouble>,
    ) -> Result<Vec<T>, JournalError> {
        let rows = self.ask(query).await?;
        let read: Result<Vec<T>, Trouble> = rows.iter().map(meaning).collect();
        read.map_err(|trouble| trouble.error(&self.path))
    }

    /// Finds out what is to be removed.
    async fn candidates(
        &self,
        retention: Retention,
    ) -> Result<Candidates<Candidate>, JournalError> {
        let rows = self.ask(Query::ages()).await?;
        upkeep::candidates(&rows, retention).map_err(|trouble| trouble.error(&self.path))
    }

    /// Removes a run, in as many commits as it takes, and says whether it is gone.
    async fn remove(&self, candidate: Candidate) -> Result<bool, JournalError> {
        loop {
            let candidate = candidate.clone();
            let part = async move |db: &Client, _pass| upkeep::remove(db, &candidate).await;
            match self.write(Firmness::Process, part).await? {
                Removal::Begun => {}
                Removal::Done => return Ok(true),
                Removal::Kept => return Ok(false),
            }
        }
    }

    fn stopped(&self) -> JournalError {
        JournalError::Stopped { path: self.path.clone() }
    }
}

/// Drives the connections until the journal is dropped.
async fn serve(
    address: Address,
    ready: oneshot::Sender<Result<(), Trouble>>,
    requests: mpsc::Receiver<Request>,
    wanted: mpsc::Receiver<Wanted>,
) {
    let path = address.path.clone();
    let links = async {
        let writing = Link::open(address.clone(), Role::Write).await?;
        Ok((writing, Link::open(address, Role::Read).await?))
    };
    match links.await {
        Ok((writing, reading)) => {
            // Whoever connected may have gone; then both queues end at once.
            let _ = ready.send(Ok(()));
            tokio::join!(Writer::new(writing, path).run(requests), reader::run(reading, wanted));
        }
        Err(trouble) => drop(ready.send(Err(trouble))),
    }
}

impl fmt::Debug for PostgresJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresJournal").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Chats for PostgresJournal {
    fn record_chat(
        &self,
        lease: &Lease,
        records: Vec<ChatRecord>,
        firmness: ChatFirmness,
    ) -> Answer<'_, ()> {
        let lease = lease.clone();
        Box::pin(async move {
            let batch = Batch::new(&lease.run, records)?;
            let record = async move |db: &Client, _pass| chat::record(db, &lease, &batch).await;
            self.write(firmness.into(), record).await
        })
    }

    fn rewind_chat(&self, lease: &Lease, from: &MessageId, at_ms: u64) -> Answer<'_, u64> {
        let (lease, from) = (lease.clone(), from.clone());
        let rewind =
            async move |db: &Client, pass| chat::rewind(db, &lease, &from, (at_ms, pass)).await;
        Box::pin(self.write(Firmness::Power, rewind))
    }

    fn chat(&self, id: &ChatId) -> Answer<'_, Option<ChatSession>> {
        let query = Query::chat(id);
        Box::pin(async move { Ok(self.read(query, chat::session_row).await?.pop()) })
    }

    fn chats(&self, query: ChatQuery) -> Answer<'_, Vec<ChatSession>> {
        Box::pin(self.read(Query::chats(&query), chat::session_row))
    }

    fn chat_messages(
        &self,
        chat: &ChatId,
        query: MessageQuery,
    ) -> Answer<'_, Vec<(ChatMessage, Vec<ChatPart>)>> {
        let query = Query::messages(chat, &query);
        Box::pin(async move {
            let rows = self.ask(query).await?;
            chat::gathered(&rows).map_err(|trouble| trouble.error(&self.path))
        })
    }
}

impl Journal for PostgresJournal {
    fn open_run(&self, run: NewRun, claim: Claim) -> Answer<'_, Lease> {
        let open = async move |db: &Client, _pass| lease::open(db, &run, &claim).await;
        // A server that crashed and forgot the lease would give its epoch to another owner.
        Box::pin(self.write(Firmness::Power, open))
    }

    fn renew(&self, lease: Lease, claim: Claim) -> Answer<'_, ()> {
        let renew = async move |db: &Client, _pass| lease::renew(db, &lease, &claim).await;
        Box::pin(self.write(Firmness::Process, renew))
    }

    fn close_run(&self, lease: Lease) -> Answer<'_, ()> {
        let close = async move |db: &Client, pass| lease::close(db, &lease, pass).await;
        Box::pin(self.write(Firmness::Power, close))
    }

    fn holders(&self) -> Answer<'_, Vec<Holder>> {
        Box::pin(async move {
            let holders = self.read(Query::holders(), |row| row::holder(row, 0)).await?;
            Ok(holders.into_iter().flatten().collect())
        })
    }

    fn abandon(&self, holder: Holder) -> Answer<'_, Vec<CallId>> {
        let abandon = async move |db: &Client, pass| lease::abandon(db, &holder, pass).await;
        Box::pin(self.write(Firmness::Power, abandon))
    }

    fn attempt(&self, scope: &Scope) -> Answer<'_, AttemptState> {
        let (query, unheard) = (Query::attempt(scope), Query::unheard(scope));
        Box::pin(async move {
            let mut state = AttemptState::default();
            let mut unheard_calls: u32 = 0;
            for group in self.read(query, row::attempt_group).await? {
                state.calls.insert(group.first_key, group.keys);
                state.last_seq = state.last_seq.max(group.last_seq);
                state.was_held_back |= group.held_back > 0;
                unheard_calls = unheard_calls.saturating_add(group.unheard);
            }
            if unheard_calls > 0 {
                state.unheard = self.read(unheard, row::unheard_call).await?;
            }
            Ok(state)
        })
    }

    fn recorded(&self, scope: &Scope) -> Answer<'_, Vec<RecordedCall>> {
        Box::pin(self.read(Query::recorded(scope), row::recorded_call))
    }

    fn by_driver_id(&self, scope: &Scope, driver_call_id: &str) -> Answer<'_, Option<CallRow>> {
        let query = Query::by_driver_id(scope, driver_call_id);
        Box::pin(async move { Ok(self.read(query, row::call_row).await?.pop()) })
    }

    fn earlier_effects(&self, scope: &Scope, calls_max: u32) -> Answer<'_, EarlierEffects> {
        let query = Query::earlier_effects(scope);
        Box::pin(async move {
            let effects = self.read(query, row::earlier_effect).await?;
            EarlierEffects::collect(effects.into_iter().map(Ok), calls_max)
        })
    }

    fn intend(&self, call: PlannedCall) -> Answer<'_, Intent> {
        Box::pin(async move {
            let call = Arc::new(call);
            if let Some(entry) = Entry::intend(&call) {
                self.record(entry).await?;
            }
            Ok(Intent::new(call))
        })
    }

    fn amend(&self, intent: &Intent, details: String) -> Answer<'_, ()> {
        let entry = Entry::amend(intent, details);
        Box::pin(async move { self.record(entry?).await })
    }

    fn settle(&self, intent: Intent, outcome: Outcome) -> Answer<'_, ()> {
        Box::pin(async move { self.record(Entry::settle(intent, &outcome)?).await })
    }

    /// The queue is first come, first served. Of what waits in it together, outcomes are written before intents.
    fn settle_ahead(&self, intent: Intent, outcome: Outcome) -> Answer<'_, Settled> {
        Box::pin(async move { self.queue(Entry::settle(intent, &outcome)?).await })
    }

    fn refuse(&self, call: PlannedCall, outcome: Outcome) -> Answer<'_, ()> {
        Box::pin(async move { self.record(Entry::refuse(call, &outcome)?).await })
    }

    fn resolve(&self, settlement: Settlement) -> Answer<'_, CallRow> {
        let resolve = async move |db: &Client, pass| record::resolve(db, &settlement, pass).await;
        Box::pin(self.write(Firmness::Power, resolve))
    }

    fn hear(&self, call: CallId) -> Answer<'_, ()> {
        let hear = async move |db: &Client, _pass| record::hear(db, &call).await;
        Box::pin(self.write(Firmness::Power, hear))
    }

    fn note_snapshot(&self, note: SnapshotNote) -> Answer<'_, ()> {
        let write = async move |db: &Client, _pass| record::note_snapshot(db, &note).await;
        Box::pin(self.write(Firmness::Process, write))
    }

    fn snapshots(&self, run: &RunId, call: Option<&CallId>) -> Answer<'_, Vec<SnapshotNote>> {
        let query = call.map_or_else(|| Query::snapshots_of_run(run), Query::snapshots_of_call);
        Box::pin(self.read(query, row::snapshot_note))
    }

    fn late_outcomes(&self, run: &RunId) -> Answer<'_, Vec<LateOutcome>> {
        Box::pin(self.read(Query::late_outcomes(run), row::late_outcome))
    }

    fn calls(&self, query: CallQuery) -> Answer<'_, Vec<CallRow>> {
        Box::pin(async move {
            let rows = self.read(Query::calls(&query), row::call_row).await?;
            collect_rows(rows.into_iter().map(Ok), query.rows_max())
        })
    }

    fn runs(&self, query: RunQuery) -> Answer<'_, Vec<RunRow>> {
        Box::pin(self.read(Query::runs(&query), row::run_row))
    }

    fn due(&self, retention: Retention) -> Answer<'_, Due> {
        Box::pin(async move {
            self.candidates(retention).await.map(|found| found.due(|candidate| candidate.run))
        })
    }

    fn prune(&self, retention: Retention) -> Answer<'_, Pruned> {
        Box::pin(async move {
            let found = self.candidates(retention).await?;
            let mut pruned = Pruned { kept_in_doubt: found.kept_in_doubt, ..Pruned::default() };
            let mut families = Families::default();
            for candidate in found.going {
                let (run, calls) = (candidate.run.clone(), candidate.calls);
                if !families.may_go(&run, candidate.parent.as_ref()) {
                    continue;
                }
                if self.remove(candidate).await? {
                    pruned.runs.push(run);
                    pruned.calls += calls;
                } else {
                    families.keep(run);
                }
            }
            Ok(pruned)
        })
    }

    fn verify(&self) -> Answer<'_, Vec<Finding>> {
        Box::pin(async move {
            let session = self.session(Which::Own).await?;
            let findings = upkeep::verify(&session.client).await;
            findings.map_err(|trouble| trouble.error(&self.path))
        })
    }
}
