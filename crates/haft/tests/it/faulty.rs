//! A journal that fails where a test wants it to, and from there on: as a disk that is full, or a process that is about
//! to die.

use std::sync::Mutex;

use haft_contract::{CallId, RunId, Scope};
use haft_journal::{
    Answer, AttemptState, CallQuery, CallRow, ChatFirmness, ChatId, ChatMessage, ChatPart,
    ChatQuery, ChatRecord, ChatSession, Chats, Claim, Due, EarlierEffects, Finding, Holder, Intent,
    Journal, JournalError, LateOutcome, Lease, MemoryJournal, MessageId, MessageQuery, NewRun,
    Outcome, PlannedCall, Pruned, RecordedCall, Retention, RunQuery, RunRow, Settled, Settlement,
    SnapshotNote,
};

/// A step of a call that the journal has a part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Intend,
    Amend,
    Settle,
}

/// A journal in memory that may fail.
#[derive(Default)]
pub(crate) struct FaultyJournal {
    inner: MemoryJournal,
    fails_from: Mutex<Option<Step>>,
}

impl FaultyJournal {
    /// Fails at the next such step, and at every step from then on.
    pub(crate) fn fail_from(&self, step: Step) {
        *self.fails_from.lock().unwrap() = Some(step);
    }

    /// Fails no more.
    pub(crate) fn mend(&self) {
        *self.fails_from.lock().unwrap() = None;
    }

    fn check(&self, step: Step) -> Result<(), JournalError> {
        let mut fails_from = self.fails_from.lock().unwrap();
        match *fails_from {
            Some(fails) if fails == step || fails == Step::Intend => {
                // The first step of all stands for every one.
                *fails_from = Some(Step::Intend);
                Err(JournalError::Full { path: "journal".into() })
            }
            _ => Ok(()),
        }
    }
}

impl Chats for FaultyJournal {
    fn record_chat(
        &self,
        lease: &Lease,
        records: Vec<ChatRecord>,
        firmness: ChatFirmness,
    ) -> Answer<'_, ()> {
        self.inner.record_chat(lease, records, firmness)
    }

    fn rewind_chat(&self, lease: &Lease, from: &MessageId, at_ms: u64) -> Answer<'_, u64> {
        self.inner.rewind_chat(lease, from, at_ms)
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

impl Journal for FaultyJournal {
    fn open_run(&self, run: NewRun, claim: Claim) -> Answer<'_, Lease> {
        self.inner.open_run(run, claim)
    }

    fn renew(&self, lease: Lease, claim: Claim) -> Answer<'_, ()> {
        self.inner.renew(lease, claim)
    }

    fn close_run(&self, lease: Lease) -> Answer<'_, ()> {
        self.inner.close_run(lease)
    }

    fn holders(&self) -> Answer<'_, Vec<Holder>> {
        self.inner.holders()
    }

    fn abandon(&self, holder: Holder) -> Answer<'_, Vec<CallId>> {
        self.inner.abandon(holder)
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
        let checked = self.check(Step::Intend);
        Box::pin(async move {
            checked?;
            self.inner.intend(call).await
        })
    }

    fn amend(&self, intent: &Intent, details: String) -> Answer<'_, ()> {
        match self.check(Step::Amend) {
            Ok(()) => self.inner.amend(intent, details),
            Err(err) => Box::pin(async move { Err(err) }),
        }
    }

    fn settle(&self, intent: Intent, outcome: Outcome) -> Answer<'_, ()> {
        let checked = self.check(Step::Settle);
        Box::pin(async move {
            checked?;
            self.inner.settle(intent, outcome).await
        })
    }

    /// Takes the outcome on its way and fails there.
    fn settle_ahead(&self, intent: Intent, outcome: Outcome) -> Answer<'_, Settled> {
        Box::pin(async move {
            let settled = self.settle(intent, outcome).await;
            Ok(Box::pin(std::future::ready(settled)) as Settled)
        })
    }

    fn refuse(&self, call: PlannedCall, outcome: Outcome) -> Answer<'_, ()> {
        self.inner.refuse(call, outcome)
    }

    fn resolve(&self, settlement: Settlement) -> Answer<'_, CallRow> {
        self.inner.resolve(settlement)
    }

    fn hear(&self, call: CallId) -> Answer<'_, ()> {
        self.inner.hear(call)
    }

    fn note_snapshot(&self, note: SnapshotNote) -> Answer<'_, ()> {
        self.inner.note_snapshot(note)
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
        self.inner.prune(retention)
    }

    fn verify(&self) -> Answer<'_, Vec<Finding>> {
        self.inner.verify()
    }
}
