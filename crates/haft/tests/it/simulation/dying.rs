//! A journal that belongs to a process which dies: from then on it records and answers nothing, and the last record may
//! have been made without anybody hearing of it.

use std::sync::Arc;

use haft_contract::{CallId, RunId, Scope};
use haft_journal::{
    Answer, AttemptState, CallQuery, CallRow, ChatFirmness, ChatId, ChatMessage, ChatPart,
    ChatQuery, ChatRecord, ChatSession, Chats, Claim, Due, EarlierEffects, Finding, Holder, Intent,
    Journal, JournalError, LateOutcome, Lease, MemoryJournal, MessageId, MessageQuery, NewRun,
    Outcome, PlannedCall, Pruned, RecordedCall, Retention, RunQuery, RunRow, Settlement,
    SnapshotNote,
};

use super::process::Fate;

/// One process's way to the journal.
pub(super) struct DyingJournal {
    inner: Arc<MemoryJournal>,
    fate: Arc<Fate>,
}

impl DyingJournal {
    pub(super) fn new(inner: Arc<MemoryJournal>, fate: Arc<Fate>) -> Self {
        Self { inner, fate }
    }

    /// Takes a step before and a step after; death at the second loses the answer and not the record.
    fn alive<'a, T: Send + 'a>(&'a self, answer: Answer<'a, T>) -> Answer<'a, T> {
        Box::pin(async move {
            let dead = || JournalError::Stopped { path: "journal".into() };
            if !self.fate.step() {
                return Err(dead());
            }
            let answer = answer.await;
            if self.fate.step() { answer } else { Err(dead()) }
        })
    }
}

impl Chats for DyingJournal {
    fn record_chat(
        &self,
        lease: &Lease,
        records: Vec<ChatRecord>,
        firmness: ChatFirmness,
    ) -> Answer<'_, ()> {
        self.alive(self.inner.record_chat(lease, records, firmness))
    }

    fn rewind_chat(&self, lease: &Lease, from: &MessageId, at_ms: u64) -> Answer<'_, u64> {
        self.alive(self.inner.rewind_chat(lease, from, at_ms))
    }

    fn chat(&self, id: &ChatId) -> Answer<'_, Option<ChatSession>> {
        self.alive(self.inner.chat(id))
    }

    fn chats(&self, query: ChatQuery) -> Answer<'_, Vec<ChatSession>> {
        self.alive(self.inner.chats(query))
    }

    fn chat_messages(
        &self,
        chat: &ChatId,
        query: MessageQuery,
    ) -> Answer<'_, Vec<(ChatMessage, Vec<ChatPart>)>> {
        self.alive(self.inner.chat_messages(chat, query))
    }
}

impl Journal for DyingJournal {
    fn open_run(&self, run: NewRun, claim: Claim) -> Answer<'_, Lease> {
        self.alive(self.inner.open_run(run, claim))
    }

    fn renew(&self, lease: Lease, claim: Claim) -> Answer<'_, ()> {
        self.alive(self.inner.renew(lease, claim))
    }

    fn close_run(&self, lease: Lease) -> Answer<'_, ()> {
        self.alive(self.inner.close_run(lease))
    }

    fn holders(&self) -> Answer<'_, Vec<Holder>> {
        self.alive(self.inner.holders())
    }

    fn abandon(&self, holder: Holder) -> Answer<'_, Vec<CallId>> {
        self.alive(self.inner.abandon(holder))
    }

    fn attempt(&self, scope: &Scope) -> Answer<'_, AttemptState> {
        self.alive(self.inner.attempt(scope))
    }

    fn recorded(&self, scope: &Scope) -> Answer<'_, Vec<RecordedCall>> {
        self.alive(self.inner.recorded(scope))
    }

    fn by_driver_id(&self, scope: &Scope, driver_call_id: &str) -> Answer<'_, Option<CallRow>> {
        self.alive(self.inner.by_driver_id(scope, driver_call_id))
    }

    fn earlier_effects(&self, scope: &Scope, calls_max: u32) -> Answer<'_, EarlierEffects> {
        self.alive(self.inner.earlier_effects(scope, calls_max))
    }

    fn intend(&self, call: PlannedCall) -> Answer<'_, Intent> {
        self.alive(self.inner.intend(call))
    }

    fn amend(&self, intent: &Intent, details: String) -> Answer<'_, ()> {
        self.alive(self.inner.amend(intent, details))
    }

    fn settle(&self, intent: Intent, outcome: Outcome) -> Answer<'_, ()> {
        self.alive(self.inner.settle(intent, outcome))
    }

    fn refuse(&self, call: PlannedCall, outcome: Outcome) -> Answer<'_, ()> {
        self.alive(self.inner.refuse(call, outcome))
    }

    fn resolve(&self, settlement: Settlement) -> Answer<'_, CallRow> {
        self.alive(self.inner.resolve(settlement))
    }

    fn hear(&self, call: CallId) -> Answer<'_, ()> {
        self.alive(self.inner.hear(call))
    }

    fn note_snapshot(&self, note: SnapshotNote) -> Answer<'_, ()> {
        self.alive(self.inner.note_snapshot(note))
    }

    fn snapshots(&self, run: &RunId, call: Option<&CallId>) -> Answer<'_, Vec<SnapshotNote>> {
        self.alive(self.inner.snapshots(run, call))
    }

    fn late_outcomes(&self, run: &RunId) -> Answer<'_, Vec<LateOutcome>> {
        self.alive(self.inner.late_outcomes(run))
    }

    fn calls(&self, query: CallQuery) -> Answer<'_, Vec<CallRow>> {
        self.alive(self.inner.calls(query))
    }

    fn runs(&self, query: RunQuery) -> Answer<'_, Vec<RunRow>> {
        self.alive(self.inner.runs(query))
    }

    fn due(&self, retention: Retention) -> Answer<'_, Due> {
        self.alive(self.inner.due(retention))
    }

    fn prune(&self, retention: Retention) -> Answer<'_, Pruned> {
        self.alive(self.inner.prune(retention))
    }

    fn verify(&self) -> Answer<'_, Vec<Finding>> {
        self.alive(self.inner.verify())
    }
}
