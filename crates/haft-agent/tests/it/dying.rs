//! A journal that dies with its process at any record: nothing is recorded from then on, while the process does not know
//! yet that it is dead. Another process opens what is left. Or one that lives, and tells somebody when it has come so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_contract::{CallId, RunId, Scope};
use haft_journal::{
    Answer, AttemptState, CallQuery, CallRow, ChatFirmness, ChatId, ChatMessage, ChatPart,
    ChatQuery, ChatRecord, ChatSession, Chats, Claim, Due, EarlierEffects, Finding, Holder, Intent,
    Journal, JournalError, LateOutcome, Lease, MemoryJournal, MessageId, MessageQuery, NewRun,
    Outcome, PlannedCall, Pruned, RecordedCall, Retention, RunQuery, RunRow, Settlement,
    SnapshotNote,
};
use tokio_util::sync::CancellationToken;

/// A journal of one process, over one that stays.
pub(crate) struct MortalJournal {
    inner: Arc<MemoryJournal>,
    /// Records that it still makes, or that are made until somebody is told.
    left: AtomicU64,
    told: Option<CancellationToken>,
}

impl MortalJournal {
    pub(crate) fn new(inner: &Arc<MemoryJournal>, records: u64) -> Arc<Self> {
        Arc::new(Self { inner: Arc::clone(inner), left: AtomicU64::new(records), told: None })
    }

    /// Returns a journal that lives, and cancels a token with the record behind so many.
    pub(crate) fn telling(
        inner: &Arc<MemoryJournal>,
        records: u64,
        told: &CancellationToken,
    ) -> Arc<Self> {
        let (left, told) = (AtomicU64::new(records), Some(told.clone()));
        Arc::new(Self { inner: Arc::clone(inner), left, told })
    }

    /// Records nothing more.
    pub(crate) fn die(&self) {
        self.left.store(0, Ordering::Relaxed);
    }

    pub(crate) fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// Counts a record, or says that the process is dead.
    fn live(&self) -> Result<(), JournalError> {
        let one_less = |left: u64| left.checked_sub(1);
        let is_over =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err();
        match &self.told {
            Some(told) if is_over => told.cancel(),
            None if is_over => return Err(JournalError::Stopped { path: "journal".into() }),
            Some(_) | None => {}
        }
        Ok(())
    }

    fn record<'a, T: Send + 'a>(
        &'a self,
        record: impl FnOnce(&'a MemoryJournal) -> Answer<'a, T>,
    ) -> Answer<'a, T> {
        match self.live() {
            Ok(()) => record(&self.inner),
            Err(err) => Box::pin(async move { Err(err) }),
        }
    }
}

impl Chats for MortalJournal {
    fn record_chat(
        &self,
        lease: &Lease,
        records: Vec<ChatRecord>,
        firmness: ChatFirmness,
    ) -> Answer<'_, ()> {
        let lease = lease.clone();
        self.record(move |inner| {
            Box::pin(async move { inner.record_chat(&lease, records, firmness).await })
        })
    }

    fn rewind_chat(&self, lease: &Lease, from: &MessageId, at_ms: u64) -> Answer<'_, u64> {
        let (lease, from) = (lease.clone(), from.clone());
        self.record(move |inner| {
            Box::pin(async move { inner.rewind_chat(&lease, &from, at_ms).await })
        })
    }

    fn chat(&self, id: &ChatId) -> Answer<'_, Option<ChatSession>> {
        self.inner.chat(id)
    }

    fn chats(&self, query: ChatQuery) -> Answer<'_, Vec<ChatSession>> {
        self.inner.chats(query)
    }

    fn chat_messages(
        &self,
        chat: &ChatId,
        query: MessageQuery,
    ) -> Answer<'_, Vec<(ChatMessage, Vec<ChatPart>)>> {
        self.inner.chat_messages(chat, query)
    }
}

impl Journal for MortalJournal {
    fn open_run(&self, run: NewRun, claim: Claim) -> Answer<'_, Lease> {
        self.record(|inner| inner.open_run(run, claim))
    }

    fn renew(&self, lease: Lease, claim: Claim) -> Answer<'_, ()> {
        self.record(|inner| inner.renew(lease, claim))
    }

    /// A process that is killed gives nothing back.
    fn close_run(&self, _: Lease) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn holders(&self) -> Answer<'_, Vec<Holder>> {
        self.inner.holders()
    }

    fn abandon(&self, holder: Holder) -> Answer<'_, Vec<CallId>> {
        self.record(|inner| inner.abandon(holder))
    }

    fn attempt(&self, scope: &Scope) -> Answer<'_, AttemptState> {
        self.inner.attempt(scope)
    }

    fn recorded(&self, scope: &Scope) -> Answer<'_, Vec<RecordedCall>> {
        self.inner.recorded(scope)
    }

    fn by_driver_id(&self, scope: &Scope, driver_call_id: &str) -> Answer<'_, Option<CallRow>> {
        self.inner.by_driver_id(scope, driver_call_id)
    }

    fn earlier_effects(&self, scope: &Scope, calls_max: u32) -> Answer<'_, EarlierEffects> {
        self.inner.earlier_effects(scope, calls_max)
    }

    fn intend(&self, call: PlannedCall) -> Answer<'_, Intent> {
        self.record(|inner| inner.intend(call))
    }

    fn amend(&self, intent: &Intent, details: String) -> Answer<'_, ()> {
        match self.live() {
            Ok(()) => self.inner.amend(intent, details),
            Err(err) => Box::pin(async move { Err(err) }),
        }
    }

    fn settle(&self, intent: Intent, outcome: Outcome) -> Answer<'_, ()> {
        self.record(|inner| inner.settle(intent, outcome))
    }

    fn refuse(&self, call: PlannedCall, outcome: Outcome) -> Answer<'_, ()> {
        self.record(|inner| inner.refuse(call, outcome))
    }

    fn resolve(&self, settlement: Settlement) -> Answer<'_, CallRow> {
        self.record(|inner| inner.resolve(settlement))
    }

    fn hear(&self, call: CallId) -> Answer<'_, ()> {
        self.record(|inner| inner.hear(call))
    }

    fn note_snapshot(&self, note: SnapshotNote) -> Answer<'_, ()> {
        self.record(|inner| inner.note_snapshot(note))
    }

    fn snapshots(&self, run: &RunId, call: Option<&CallId>) -> Answer<'_, Vec<SnapshotNote>> {
        self.inner.snapshots(run, call)
    }

    fn late_outcomes(&self, run: &RunId) -> Answer<'_, Vec<LateOutcome>> {
        self.inner.late_outcomes(run)
    }

    fn calls(&self, query: CallQuery) -> Answer<'_, Vec<CallRow>> {
        self.inner.calls(query)
    }

    fn runs(&self, query: RunQuery) -> Answer<'_, Vec<RunRow>> {
        self.inner.runs(query)
    }

    fn due(&self, retention: Retention) -> Answer<'_, Due> {
        self.inner.due(retention)
    }

    fn prune(&self, retention: Retention) -> Answer<'_, Pruned> {
        self.record(|inner| inner.prune(retention))
    }

    fn verify(&self) -> Answer<'_, Vec<Finding>> {
        self.inner.verify()
    }
}
