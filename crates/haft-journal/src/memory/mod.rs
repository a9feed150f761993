//! The journal that forgets everything when it is dropped: for tests, and for runs that nobody will resume. It keeps
//! every promise of the trait but durability, which it cannot have. What each record does is in `records`.

mod chats;
mod records;

use std::sync::{Arc, Mutex, MutexGuard};

use haft_contract::{CallId, RunId, Scope};

use crate::chat::Batch;
use crate::entry::Entry;
use crate::{
    Answer, AttemptState, CallQuery, CallRow, ChatFirmness, ChatId, ChatMessage, ChatPart,
    ChatQuery, ChatRecord, ChatSession, Chats, Claim, Due, EarlierEffects, Finding, Holder, Intent,
    Journal, JournalError, LateOutcome, Lease, MessageId, MessageQuery, NewRun, Outcome,
    PlannedCall, Pruned, RecordedCall, Retention, RunQuery, RunRow, Settlement, SnapshotNote,
};
use records::Records;

/// A journal in memory.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    /// Written and read by whoever calls; held for the few lines that one record takes, so that a thread of its own
    /// would only add a wait.
    records: Mutex<Records>,
}

impl MemoryJournal {
    /// Returns an empty journal.
    pub fn new() -> Self {
        Self::default()
    }

    fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().expect("nothing panics while it holds the records")
    }

    /// Answers when it is asked for the answer, not when it is called.
    fn answer<'a, T: Send + 'a>(
        &'a self,
        answer: impl FnOnce(&mut Records) -> Result<T, JournalError> + Send + 'a,
    ) -> Answer<'a, T> {
        Box::pin(async move { answer(&mut self.records()) })
    }
}

impl Chats for MemoryJournal {
    fn record_chat(
        &self,
        lease: &Lease,
        records: Vec<ChatRecord>,
        _firmness: ChatFirmness,
    ) -> Answer<'_, ()> {
        let lease = lease.clone();
        self.answer(move |journal| journal.record_chat(&lease, &Batch::new(&lease.run, records)?))
    }

    fn rewind_chat(&self, lease: &Lease, from: &MessageId, at_ms: u64) -> Answer<'_, u64> {
        let (lease, from) = (lease.clone(), from.clone());
        self.answer(move |records| records.rewind_chat(&lease, &from, at_ms))
    }

    fn chat(&self, id: &ChatId) -> Answer<'_, Option<ChatSession>> {
        let id = id.clone();
        self.answer(move |records| Ok(records.chats().chat(&id)))
    }

    fn chats(&self, query: ChatQuery) -> Answer<'_, Vec<ChatSession>> {
        self.answer(move |records| Ok(records.chats().chats(&query)))
    }

    fn chat_messages(
        &self,
        chat: &ChatId,
        query: MessageQuery,
    ) -> Answer<'_, Vec<(ChatMessage, Vec<ChatPart>)>> {
        let chat = chat.clone();
        self.answer(move |records| Ok(records.chats().messages(&chat, &query)))
    }
}

impl Journal for MemoryJournal {
    fn open_run(&self, run: NewRun, claim: Claim) -> Answer<'_, Lease> {
        self.answer(move |records| records.open(run, &claim))
    }

    fn renew(&self, lease: Lease, claim: Claim) -> Answer<'_, ()> {
        self.answer(move |records| records.renew(&lease, &claim))
    }

    fn close_run(&self, lease: Lease) -> Answer<'_, ()> {
        self.answer(move |records| records.close(&lease))
    }

    fn holders(&self) -> Answer<'_, Vec<Holder>> {
        self.answer(|records| Ok(records.holders()))
    }

    fn abandon(&self, holder: Holder) -> Answer<'_, Vec<CallId>> {
        self.answer(move |records| Ok(records.abandon(&holder)))
    }

    fn attempt(&self, scope: &Scope) -> Answer<'_, AttemptState> {
        let scope = scope.clone();
        self.answer(move |records| Ok(records.attempt(&scope)))
    }

    fn recorded(&self, scope: &Scope) -> Answer<'_, Vec<RecordedCall>> {
        let scope = scope.clone();
        self.answer(move |records| Ok(records.recorded(&scope)))
    }

    fn by_driver_id(&self, scope: &Scope, driver_call_id: &str) -> Answer<'_, Option<CallRow>> {
        let (scope, driver_call_id) = (scope.clone(), driver_call_id.to_owned());
        self.answer(move |records| Ok(records.by_driver_id(&scope, &driver_call_id)))
    }

    fn earlier_effects(&self, scope: &Scope, calls_max: u32) -> Answer<'_, EarlierEffects> {
        let scope = scope.clone();
        self.answer(move |records| records.earlier_effects(&scope, calls_max))
    }

    fn intend(&self, call: PlannedCall) -> Answer<'_, Intent> {
        self.answer(move |records| {
            let call = Arc::new(call);
            if let Some(entry) = Entry::intend(&call) {
                records.record(&entry)?;
            }
            Ok(Intent::new(call))
        })
    }

    fn amend(&self, intent: &Intent, details: String) -> Answer<'_, ()> {
        let entry = Entry::amend(intent, details);
        self.answer(move |records| records.record(&entry?))
    }

    fn settle(&self, intent: Intent, outcome: Outcome) -> Answer<'_, ()> {
        self.answer(move |records| records.record(&Entry::settle(intent, &outcome)?))
    }

    fn refuse(&self, call: PlannedCall, outcome: Outcome) -> Answer<'_, ()> {
        self.answer(move |records| records.record(&Entry::refuse(call, &outcome)?))
    }

    fn resolve(&self, settlement: Settlement) -> Answer<'_, CallRow> {
        self.answer(move |records| records.resolve(&settlement))
    }

    fn hear(&self, call: CallId) -> Answer<'_, ()> {
        self.answer(move |records| records.hear(&call))
    }

    fn note_snapshot(&self, note: SnapshotNote) -> Answer<'_, ()> {
        self.answer(move |records| records.note_snapshot(note))
    }

    fn snapshots(&self, run: &RunId, call: Option<&CallId>) -> Answer<'_, Vec<SnapshotNote>> {
        let (run, call) = (run.clone(), call.cloned());
        self.answer(move |records| Ok(records.snapshots(&run, call.as_ref())))
    }

    fn late_outcomes(&self, run: &RunId) -> Answer<'_, Vec<LateOutcome>> {
        let run = run.clone();
        self.answer(move |records| Ok(records.late_outcomes(&run)))
    }

    fn calls(&self, query: CallQuery) -> Answer<'_, Vec<CallRow>> {
        self.answer(move |records| records.calls(&query))
    }

    fn runs(&self, query: RunQuery) -> Answer<'_, Vec<RunRow>> {
        self.answer(move |records| Ok(records.runs(&query)))
    }

    fn due(&self, retention: Retention) -> Answer<'_, Due> {
        self.answer(move |records| Ok(records.due(retention)))
    }

    fn prune(&self, retention: Retention) -> Answer<'_, Pruned> {
        self.answer(move |records| Ok(records.prune(retention)))
    }

    fn verify(&self) -> Answer<'_, Vec<Finding>> {
        self.answer(|records| Ok(records.verify()))
    }
}
