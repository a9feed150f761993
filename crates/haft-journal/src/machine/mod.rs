//! The one journal: what a lease, a call, an outcome and a session are, and which record may follow which. It is written once
//! over a [`Store`], so that every store has the same journal.
//!
//! A method of the journal becomes one operation: a function from what the store holds to what it holds next, and an
//! answer. The function neither waits nor asks for the time, and it decides before it writes. The files beside this
//! one have these functions by subject:
//!
//! | file | subject |
//! |---|---|
//! | `lease` | who may advance a run, and how an owner that died is replaced |
//! | `call` | intents, outcomes, what was found out later, snapshots |
//! | `recall` | what an attempt did so far |
//! | `query` | the lists of calls and runs |
//! | `session` | conversations with an agent |
//! | `ask` | questions to a person about calls, and their answers |
//! | `contents` | texts that lie apart from the rows |
//! | `retention` | which runs go, and removing them |
//! | `verification` | whether what is recorded can have been recorded by haft |
//! | `codec` | how the journal's types are kept in rows |

mod ask;
mod call;
mod codec;
mod contents;
mod inspection;
mod lease;
mod lease_state;
mod pending;
mod query;
mod recall;
mod retention;
mod session;
mod verification;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use haft_contract::{AttemptAddress, CallAddress, ContentDigest, RunId};
use tokio::sync::watch;

use crate::limits::{ASK_POLL_MS, ASK_TOLD_POLL_MS};
use crate::maintenance::Families;
use crate::session::SessionBatch;
use crate::store::{
    Durability, Reader, RowError, RowNeed, RowPlace, Store, StoreFailure, Transaction,
};
use crate::stored_content::StoredContent;
use crate::{
    AskChanges, AskEnd, AskJournal, AskQuery, AskRow, AttemptState, CallQuery, CallRow,
    CommitFuture, DueRuns, EarlierEffects, Intent, Journal, JournalError, JournalFinding,
    JournalFuture, LateOutcome, Lease, LeaseHolder, LeaseRequest, MessageId, MessagePart,
    MessageQuery, NewAsk, NewAskAnswer, NewRun, Outcome, PlannedCall, PrunedRuns, RecordedCall,
    Retention, RunQuery, RunRow, SessionDurability, SessionId, SessionJournal, SessionMessage,
    SessionQuery, SessionRecord, SessionRow, Settlement, SnapshotNote,
};
use call::CallRecord;
use codec::TooLarge;
use pending::{Pending, PendingAnswer, PendingRead};
use retention::{Candidate, Removal};

/// A journal in a store.
#[derive(Debug)]
pub struct JournalMachine<S> {
    store: S,
    location: Arc<Path>,
    /// Grows with each change of an ask that this process makes.
    ask_changes: watch::Sender<u64>,
}

/// Why an operation ends before its end.
#[derive(Debug)]
enum Stop {
    /// The machine refuses. Rows that were written before the refusal stay.
    Refusal(JournalError),
    /// The store holds what makes no sense.
    Senseless(RowError),
    /// A number is more than a column holds.
    TooLarge(TooLarge),
    /// The store failed.
    Failure(StoreFailure),
}

impl From<JournalError> for Stop {
    fn from(err: JournalError) -> Self {
        Self::Refusal(err)
    }
}

impl From<RowError> for Stop {
    fn from(err: RowError) -> Self {
        Self::Senseless(err)
    }
}

impl From<TooLarge> for Stop {
    fn from(err: TooLarge) -> Self {
        Self::TooLarge(err)
    }
}

impl From<StoreFailure> for Stop {
    fn from(failure: StoreFailure) -> Self {
        Self::Failure(failure)
    }
}

/// The transaction of a write operation, and how durable its commit must be.
struct Writing<'a> {
    tx: &'a mut dyn Transaction,
    /// The loss that the commit must survive.
    durability: Durability,
}

impl<S: Store> JournalMachine<S> {
    /// Returns the journal that is kept in a store.
    pub fn over(store: S) -> Self {
        let location = store.location().into();
        Self { store, location, ask_changes: watch::Sender::new(0) }
    }

    /// Returns where the journal is kept.
    #[cfg(test)]
    pub(crate) fn store(&self) -> &S {
        &self.store
    }

    async fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        write: impl FnMut(&mut Writing<'_>) -> Result<T, Stop> + Send + 'static,
    ) -> Result<T, JournalError> {
        self.queue(durability, Vec::new, write).await.received().await
    }

    /// Queues a write, and returns where its answer will be.
    async fn queue<T: Send + 'static>(
        &self,
        durability: Durability,
        needs: impl Fn() -> Vec<RowNeed> + Send + 'static,
        write: impl FnMut(&mut Writing<'_>) -> Result<T, Stop> + Send + 'static,
    ) -> PendingAnswer<T> {
        let (operation, answer) = Pending::new(durability, self.location(), needs, write);
        self.store.write(Box::new(operation)).await;
        answer
    }

    fn location(&self) -> Arc<Path> {
        Arc::clone(&self.location)
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnMut(&mut dyn Reader) -> Result<T, Stop> + Send + 'static,
    ) -> Result<T, JournalError> {
        self.ask(false, read).await
    }

    /// Reads what all was so at one moment.
    async fn read_snapshot<T: Send + 'static>(
        &self,
        read: impl FnMut(&mut dyn Reader) -> Result<T, Stop> + Send + 'static,
    ) -> Result<T, JournalError> {
        self.ask(true, read).await
    }

    async fn ask<T: Send + 'static>(
        &self,
        needs_snapshot: bool,
        read: impl FnMut(&mut dyn Reader) -> Result<T, Stop> + Send + 'static,
    ) -> Result<T, JournalError> {
        let (operation, answer) = PendingRead::new(needs_snapshot, self.location(), read);
        self.store.read(Box::new(operation)).await;
        answer.received().await
    }

    /// Queues the record of a call, and returns where its answer will be.
    async fn queue_record(
        &self,
        durability: Durability,
        mut record: CallRecord,
    ) -> PendingAnswer<Option<RowPlace>> {
        let call = Arc::clone(&record.call);
        let write = move |writing: &mut Writing<'_>| call::record(writing.tx, &mut record);
        self.queue(durability, move || call::needs(&call), write).await
    }
}

impl<S: Store> JournalMachine<S> {
    /// Writes what changes an ask, and tells those in this process who wait for that.
    async fn write_ask<T: Send + 'static>(
        &self,
        write: impl FnMut(&mut Writing<'_>) -> Result<T, Stop> + Send + 'static,
    ) -> Result<T, JournalError> {
        let written = self.write(Durability::Lease, write).await;
        self.ask_changes.send_modify(|count| *count += 1);
        written
    }
}

impl<S: Store> AskJournal for JournalMachine<S> {
    fn open_ask(&self, ask: NewAsk) -> JournalFuture<'_, AskRow> {
        Box::pin(async move {
            let shown = StoredContent::of(ask.shown.clone());
            self.write_ask(move |writing| ask::open(writing.tx, &ask, &shown)).await
        })
    }

    fn answer_ask(&self, answer: NewAskAnswer) -> JournalFuture<'_, AskRow> {
        Box::pin(self.write_ask(move |writing| ask::answer(writing.tx, &answer)))
    }

    fn end_ask(&self, ask: &str, end: AskEnd, now_ms: u64) -> JournalFuture<'_, AskRow> {
        let ask = ask.to_owned();
        Box::pin(self.write_ask(move |writing| ask::end(writing.tx, &ask, end, now_ms)))
    }

    fn receive_answer(
        &self,
        ask: &str,
        now_ms: u64,
    ) -> JournalFuture<'_, (AskRow, Option<String>)> {
        let ask = ask.to_owned();
        Box::pin(self.write_ask(move |writing| ask::receive(writing.tx, &ask, now_ms)))
    }

    fn asks(&self, query: AskQuery) -> JournalFuture<'_, Vec<AskRow>> {
        Box::pin(self.read(move |reader| ask::asks(reader, &query)))
    }

    fn shown_of_ask(&self, ask: &AskRow) -> JournalFuture<'_, Option<String>> {
        let (run, digest) = (ask.call.scope.run.clone(), ask.shown.clone());
        Box::pin(self.read(move |reader| contents::content(reader, &run, &digest)))
    }

    fn ask_changes(&self) -> AskChanges {
        let told = self.store.ask_changes();
        let pause_ms = if told.is_some() { ASK_TOLD_POLL_MS } else { ASK_POLL_MS };
        AskChanges::new(self.ask_changes.subscribe(), told, pause_ms)
    }
}

impl<S: Store> SessionJournal for JournalMachine<S> {
    fn record_session(
        &self,
        lease: &Lease,
        records: Vec<SessionRecord>,
        durability: SessionDurability,
    ) -> JournalFuture<'_, ()> {
        let lease = lease.clone();
        Box::pin(async move {
            let batch = Arc::new(SessionBatch::new(&lease.run, records)?);
            let (needed, run) = (Arc::clone(&batch), lease.run.clone());
            let needs = move || session::needs(&run, &needed);
            let write =
                move |writing: &mut Writing<'_>| session::record(writing.tx, &lease, &batch);
            self.queue(durability.into(), needs, write).await.received().await
        })
    }

    fn rewind_session(
        &self,
        lease: &Lease,
        from: &MessageId,
        at_ms: u64,
    ) -> JournalFuture<'_, u64> {
        let (lease, from) = (lease.clone(), from.clone());
        let rewind =
            move |writing: &mut Writing<'_>| session::rewind(writing.tx, &lease, &from, at_ms);
        Box::pin(self.write(Durability::Power, rewind))
    }

    fn session(&self, id: &SessionId) -> JournalFuture<'_, Option<SessionRow>> {
        let id = id.clone();
        Box::pin(self.read_snapshot(move |reader| session::session(reader, &id)))
    }

    fn sessions(&self, query: SessionQuery) -> JournalFuture<'_, Vec<SessionRow>> {
        Box::pin(self.read_snapshot(move |reader| session::sessions(reader, &query)))
    }

    fn session_messages(
        &self,
        session: &SessionId,
        query: MessageQuery,
    ) -> JournalFuture<'_, Vec<(SessionMessage, Vec<MessagePart>)>> {
        let session = session.clone();
        Box::pin(self.read_snapshot(move |reader| session::messages(reader, &session, &query)))
    }
}

impl<S: Store> Journal for JournalMachine<S> {
    fn open_run(&self, run: NewRun, request: LeaseRequest) -> JournalFuture<'_, Lease> {
        let open = move |writing: &mut Writing<'_>| lease::open(writing, &run, &request);
        Box::pin(self.write(Durability::Lease, open))
    }

    fn renew_lease(&self, lease: Lease, request: LeaseRequest) -> JournalFuture<'_, ()> {
        let renew = move |writing: &mut Writing<'_>| lease::renew(writing.tx, &lease, &request);
        Box::pin(self.write(Durability::Process, renew))
    }

    fn close_run(&self, lease: Lease) -> JournalFuture<'_, ()> {
        let close = move |writing: &mut Writing<'_>| lease::close(writing.tx, &lease);
        Box::pin(self.write(Durability::Lease, close))
    }

    fn count_progress(&self, run: &RunId) -> JournalFuture<'_, ()> {
        let run = run.clone();
        let count = move |writing: &mut Writing<'_>| lease::count_progress(writing.tx, &run);
        Box::pin(self.write(Durability::Process, count))
    }

    fn lease_holders(&self) -> JournalFuture<'_, Vec<LeaseHolder>> {
        Box::pin(self.read(|reader| lease::holders(reader)))
    }

    fn abandon_run(&self, holder: LeaseHolder) -> JournalFuture<'_, Vec<CallAddress>> {
        let abandon = move |writing: &mut Writing<'_>| lease::abandon(writing.tx, &holder);
        Box::pin(self.write(Durability::Power, abandon))
    }

    fn attempt_state(&self, scope: &AttemptAddress) -> JournalFuture<'_, AttemptState> {
        let scope = scope.clone();
        Box::pin(self.read(move |reader| recall::attempt(reader, &scope)))
    }

    fn recorded_calls(&self, scope: &AttemptAddress) -> JournalFuture<'_, Vec<RecordedCall>> {
        let scope = scope.clone();
        Box::pin(self.read(move |reader| recall::recorded(reader, &scope)))
    }

    fn by_driver_id(
        &self,
        scope: &AttemptAddress,
        driver_call_id: &str,
    ) -> JournalFuture<'_, Option<CallRow>> {
        let (scope, driver_call_id) = (scope.clone(), driver_call_id.to_owned());
        Box::pin(self.read(move |reader| recall::by_driver_id(reader, &scope, &driver_call_id)))
    }

    fn earlier_effects(
        &self,
        scope: &AttemptAddress,
        calls_max: u32,
    ) -> JournalFuture<'_, EarlierEffects> {
        let scope = scope.clone();
        Box::pin(
            self.read_snapshot(move |reader| recall::earlier_effects(reader, &scope, calls_max)),
        )
    }

    fn intend(&self, call: PlannedCall) -> JournalFuture<'_, Intent> {
        Box::pin(async move {
            let call = Arc::new(call);
            let place = match CallRecord::intend(&call, &self.location)? {
                Some(record) => {
                    let durability = match call.announces_effects {
                        true => Durability::Process,
                        false => Durability::Power,
                    };
                    self.queue_record(durability, record).await.received().await?
                }
                None => None,
            };
            Ok(Intent::new(call).at(place))
        })
    }

    fn amend(&self, intent: &Intent, details: String) -> JournalFuture<'_, ()> {
        let record = CallRecord::amend(intent, details);
        Box::pin(async move {
            self.queue_record(Durability::Power, record?).await.received().await.map(drop)
        })
    }

    fn settle(&self, intent: Intent, outcome: Outcome) -> JournalFuture<'_, ()> {
        Box::pin(async move {
            let (record, durability) = CallRecord::settle(intent, &outcome, &self.location)?;
            self.queue_record(durability, record).await.received().await.map(drop)
        })
    }

    fn settle_ahead(&self, intent: Intent, outcome: Outcome) -> JournalFuture<'_, CommitFuture> {
        Box::pin(async move {
            let (record, durability) = CallRecord::settle(intent, &outcome, &self.location)?;
            let durability = match durability {
                Durability::Power => Durability::PowerSoon,
                other => other,
            };
            // A store commits in the order in which it is brought things.
            let settled = self.queue_record(durability, record).await;
            Ok(Box::pin(async move { settled.received().await.map(drop) }) as CommitFuture)
        })
    }

    fn refuse(&self, call: PlannedCall, outcome: Outcome) -> JournalFuture<'_, ()> {
        Box::pin(async move {
            let record = CallRecord::refuse(call, &outcome, &self.location)?;
            self.queue_record(Durability::Process, record).await.received().await.map(drop)
        })
    }

    fn resolve(&self, settlement: Settlement) -> JournalFuture<'_, CallRow> {
        let resolve = move |writing: &mut Writing<'_>| call::resolve(writing.tx, &settlement);
        Box::pin(self.write(Durability::Power, resolve))
    }

    fn acknowledge(&self, call: CallAddress) -> JournalFuture<'_, ()> {
        let acknowledge = move |writing: &mut Writing<'_>| call::acknowledge(writing.tx, &call);
        Box::pin(self.write(Durability::Power, acknowledge))
    }

    fn keep_content(&self, lease: &Lease, text: String) -> JournalFuture<'_, ContentDigest> {
        let lease = lease.clone();
        Box::pin(async move {
            let content = StoredContent::of(text);
            let digest = content.digest.clone();
            let keep = move |writing: &mut Writing<'_>| {
                lease::admit_lease(writing.tx, &lease)?;
                contents::insert(writing.tx, &lease.run, std::slice::from_ref(&content))
            };
            self.write(Durability::Process, keep).await?;
            Ok(digest)
        })
    }

    fn content(&self, run: &RunId, digest: &ContentDigest) -> JournalFuture<'_, Option<String>> {
        let (run, digest) = (run.clone(), digest.clone());
        Box::pin(self.read(move |reader| contents::content(reader, &run, &digest)))
    }

    fn remove_contents(&self, lease: &Lease) -> JournalFuture<'_, ()> {
        let lease = lease.clone();
        let remove = move |writing: &mut Writing<'_>| {
            lease::admit_lease(writing.tx, &lease)?;
            while contents::remove_part(writing.tx, &lease.run)?.is_begun() {}
            Ok(())
        };
        Box::pin(self.write(Durability::Process, remove))
    }

    fn note_snapshot(&self, note: SnapshotNote) -> JournalFuture<'_, ()> {
        let write = move |writing: &mut Writing<'_>| call::note_snapshot(writing.tx, &note);
        Box::pin(self.write(Durability::Process, write))
    }

    fn snapshots(
        &self,
        run: &RunId,
        call: Option<&CallAddress>,
    ) -> JournalFuture<'_, Vec<SnapshotNote>> {
        let (run, call) = (run.clone(), call.cloned());
        Box::pin(self.read(move |reader| query::snapshots(reader, &run, call.as_ref())))
    }

    fn late_outcomes(&self, run: &RunId) -> JournalFuture<'_, Vec<LateOutcome>> {
        let run = run.clone();
        Box::pin(self.read(move |reader| query::late_outcomes(reader, &run)))
    }

    fn calls(&self, query: CallQuery) -> JournalFuture<'_, Vec<CallRow>> {
        Box::pin(self.read(move |reader| query::calls(reader, &query)))
    }

    fn runs(&self, query: RunQuery) -> JournalFuture<'_, Vec<RunRow>> {
        Box::pin(self.read_snapshot(move |reader| query::runs(reader, &query)))
    }

    fn runs_beginning_with(&self, beginning: &str) -> JournalFuture<'_, Vec<RunId>> {
        let beginning = beginning.to_owned();
        Box::pin(self.read(move |reader| query::runs_beginning_with(reader, &beginning)))
    }

    fn shared_key_chars(&self, run: &RunId) -> JournalFuture<'_, Option<usize>> {
        let run = run.clone();
        Box::pin(self.read(move |reader| query::shared_key_chars(reader, &run)))
    }

    fn due_runs(&self, retention: Retention) -> JournalFuture<'_, DueRuns> {
        Box::pin(self.read_snapshot(move |reader| {
            Ok(retention::candidates(reader, retention)?.due(|candidate| candidate.run))
        }))
    }

    fn prune(&self, retention: Retention) -> JournalFuture<'_, PrunedRuns> {
        Box::pin(async move {
            let find = move |reader: &mut dyn Reader| retention::candidates(reader, retention);
            let found = self.read_snapshot(find).await?;
            let mut pruned =
                PrunedRuns { kept_in_doubt: found.kept_in_doubt, ..PrunedRuns::default() };
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
            // Callers remove what belonged to these runs elsewhere, so the runs must not come back.
            if !pruned.runs.is_empty() {
                self.write(Durability::Power, |_| Ok(())).await?;
            }
            Ok(pruned)
        })
    }

    fn outage(&self) -> Option<String> {
        let reason = self.store.outage()?;
        Some(format!("the journal {} cannot be reached: {reason}", self.location.display()))
    }

    fn compact(&self) -> JournalFuture<'_, ()> {
        self.store.compact()
    }

    fn verify(&self) -> JournalFuture<'_, Vec<JournalFinding>> {
        let medium = self.store.medium();
        Box::pin(self.read_snapshot(move |reader| verification::verify(reader, medium)))
    }
}

impl<S: Store> JournalMachine<S> {
    /// Removes a run, in as many commits as it takes, and returns how many calls it had; `None` if it is in use again.
    async fn remove(&self, candidate: Candidate) -> Result<Option<u64>, JournalError> {
        let mut calls = 0;
        loop {
            let candidate = candidate.clone();
            let part = move |writing: &mut Writing<'_>| retention::remove(writing.tx, &candidate);
            match self.write(Durability::Process, part).await? {
                Removal::Begun(count) => calls += count,
                Removal::Done(count) => return Ok(Some(calls + count)),
                Removal::Kept => return Ok(None),
            }
        }
    }
}
