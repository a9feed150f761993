//! What a node answers is used by later nodes while its outcome is on the way to the journal, and told to nobody before it is
//! there.

use std::sync::Arc;

use expect_test::expect;
use haft_contract::{CallId, RunId, Scope};
use haft_journal::{
    Answer, AttemptState, CallQuery, CallRow, ChatFirmness, ChatId, ChatMessage, ChatPart,
    ChatQuery, ChatRecord, ChatSession, Chats, Claim, Due, EarlierEffects, Finding, Holder, Intent,
    Journal, JournalError, LateOutcome, Lease, MemoryJournal, MessageId, MessageQuery, NewRun,
    Outcome, PlannedCall, Pruned, RecordedCall, Retention, RunQuery, RunRow, Settled, Settlement,
    SnapshotNote,
};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::stage::{Stage, plan, text};

/// How a disk is getting on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disk {
    Busy,
    Done,
    Broken,
}

/// A journal in memory whose outcomes are on their way for as long as a test wants.
pub(crate) struct SlowJournal {
    inner: MemoryJournal,
    disk: watch::Sender<Disk>,
    /// Cancelled when a node's intent is recorded, and whoever waits for it is done before it is.
    abort: CancellationToken,
    /// Whether whoever looks for runs is too early to see any but those that somebody has taken.
    is_early: bool,
}

impl SlowJournal {
    /// Returns a journal that is quick, and in which a run is begun just after somebody looked whether there is one.
    pub(crate) fn early() -> Self {
        Self { is_early: true, ..Self::aborting(CancellationToken::new()) }
    }

    /// Returns a journal that is quick, and cancels this as soon as a node's call is about to begin.
    pub(crate) fn aborting(abort: CancellationToken) -> Self {
        Self {
            inner: MemoryJournal::new(),
            disk: watch::Sender::new(Disk::Done),
            abort,
            is_early: false,
        }
    }
}

/// Passes these methods on.
macro_rules! passed_on {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $answer:ty;)*) => {
        $(fn $name(&self, $($arg: $kind),*) -> Answer<'_, $answer> {
            self.inner.$name($($arg),*)
        })*
    };
}

impl Chats for SlowJournal {
    passed_on! {
        record_chat(lease: &Lease, records: Vec<ChatRecord>, firmness: ChatFirmness) -> ();
        rewind_chat(lease: &Lease, from: &MessageId, at_ms: u64) -> u64;
        chat(id: &ChatId) -> Option<ChatSession>;
        chats(query: ChatQuery) -> Vec<ChatSession>;
        chat_messages(chat: &ChatId, query: MessageQuery) -> Vec<(ChatMessage, Vec<ChatPart>)>;
    }
}

impl Journal for SlowJournal {
    passed_on! {
        open_run(run: NewRun, claim: Claim) -> Lease;
        renew(lease: Lease, claim: Claim) -> ();
        close_run(lease: Lease) -> ();
        holders() -> Vec<Holder>;
        abandon(holder: Holder) -> Vec<CallId>;
        attempt(scope: &Scope) -> AttemptState;
        recorded(scope: &Scope) -> Vec<RecordedCall>;
        by_driver_id(scope: &Scope, driver_call_id: &str) -> Option<CallRow>;
        earlier_effects(scope: &Scope, calls_max: u32) -> EarlierEffects;
        amend(intent: &Intent, details: String) -> ();
        settle(intent: Intent, outcome: Outcome) -> ();
        refuse(call: PlannedCall, outcome: Outcome) -> ();
        resolve(settlement: Settlement) -> CallRow;
        hear(call: CallId) -> ();
        note_snapshot(note: SnapshotNote) -> ();
        snapshots(run: &RunId, call: Option<&CallId>) -> Vec<SnapshotNote>;
        late_outcomes(run: &RunId) -> Vec<LateOutcome>;
        calls(query: CallQuery) -> Vec<CallRow>;
        due(retention: Retention) -> Due;
        prune(retention: Retention) -> Pruned;
        verify() -> Vec<Finding>;
    }

    fn runs(&self, query: RunQuery) -> Answer<'_, Vec<RunRow>> {
        Box::pin(async move {
            let mut rows = self.inner.runs(query).await?;
            // Whoever has taken a run sees it.
            rows.retain(|row| !self.is_early || row.holder.is_some());
            Ok(rows)
        })
    }

    fn intend(&self, call: PlannedCall) -> Answer<'_, Intent> {
        Box::pin(async move {
            if call.id.scope.node != "plan" {
                self.abort.cancel();
                // On one thread everybody else has had a turn by then.
                for _ in 0..100 {
                    tokio::task::yield_now().await;
                }
            }
            self.inner.intend(call).await
        })
    }

    fn settle_ahead(&self, intent: Intent, outcome: Outcome) -> Answer<'_, Settled> {
        Box::pin(async move {
            // The plan's own call is no node's.
            let is_of_a_node = intent.call().id.scope.node != "plan";
            self.inner.settle(intent, outcome).await?;
            let mut disk = self.disk.subscribe();
            let settled = async move {
                let is_over = |disk: &Disk| *disk != Disk::Busy || !is_of_a_node;
                let disk = *disk.wait_for(is_over).await.unwrap();
                let full = || JournalError::Full { path: "journal".into() };
                if disk == Disk::Broken { Err(full()) } else { Ok(()) }
            };
            Ok(Box::pin(settled) as Settled)
        })
    }
}

/// Drives two nodes of which the second waits for what the first answered, until it waits; then lets the disk go on.
async fn driven(disk: Disk) -> (Stage, String, String) {
    let (disk_now, abort) = (watch::Sender::new(Disk::Busy), CancellationToken::new());
    let journal =
        SlowJournal { inner: MemoryJournal::new(), disk: disk_now, abort, is_early: false };
    let journal = Arc::new(journal);
    let stage = Stage::with_journal(Arc::clone(&journal) as Arc<dyn Journal>);
    let second = json!({
        "tool": "wait", "inputs": {"text": "{{STEPS.0.said}}"}, "depends_on": [0], "timeout": 3600
    });
    let plan = plan(vec![text("order", "a", &[]), second]);
    let early = async {
        stage.world.until_waiting(1).await;
        let early = stage.events();
        journal.disk.send_replace(disk);
        stage.world.open();
        early
    };
    let (driven, early) = tokio::join!(stage.try_drive(&plan, stage.options()), early);
    let ended = driven.map_or_else(|err| err.to_string(), |driven| driven.trace.to_string());
    (stage, early, ended)
}

#[tokio::test]
async fn nobody_hears_of_a_node_before_its_outcome_is_recorded() {
    let (stage, early, ended) = driven(Disk::Done).await;
    expect![[r#"
        {"event":"plan_started","run":"r1","nodes":2}
        {"event":"node_started","node":0,"tool":"order","attempt":1}
    "#]]
    .assert_eq(&early);
    expect![[r#"
        {"event":"node_finished","node":0,"status":"succeeded","replayed":false}
        {"event":"node_started","node":1,"tool":"wait","attempt":1}
        {"event":"node_finished","node":1,"status":"succeeded","replayed":false}
        {"event":"plan_finished","ending":"finished"}
    "#]]
    .assert_eq(&stage.events());
    expect![[r#"
        0 order succeeded
        1 wait  succeeded
        finished
        output: {"waited":"a"}
    "#]]
    .assert_eq(&ended);
}

#[tokio::test]
async fn a_node_whose_outcome_is_not_recorded_is_told_to_nobody() {
    let (stage, _, ended) = driven(Disk::Broken).await;
    assert_eq!(stage.events(), "");
    expect!["call r1/n0/0/1/1 was begun and its end could not be recorded, so it is in doubt: no space left for journal journal: what was acknowledged is safe; free some space and try again"].assert_eq(&ended);
}
