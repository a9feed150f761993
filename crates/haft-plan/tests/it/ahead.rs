//! Later nodes use the answer of a node while its outcome is on the way to the journal. Front ends get the answer once it is
//! there.

use std::sync::Arc;

use expect_test::expect;
use haft_faults::{InterceptedJournal, JournalInterceptor};
use haft_journal::{
    CommitFuture, Intent, Journal, JournalError, JournalFuture, MemoryJournal, Outcome,
    PlannedCall, RunQuery, RunRow,
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
    /// Cancelled when a node's intent is recorded. Tasks that wait for it are done before it is cancelled.
    abort: CancellationToken,
    /// Whether a query for runs is too early to see runs without a lease.
    is_early: bool,
}

impl SlowJournal {
    /// Returns a journal that is quick, and in which a run is begun just after a query for it.
    pub(crate) fn early() -> InterceptedJournal<Self> {
        InterceptedJournal(Self { is_early: true, ..Self::quick(CancellationToken::new()) })
    }

    /// Returns a journal that is quick, and cancels this as soon as a node's call is about to begin.
    pub(crate) fn aborting(abort: CancellationToken) -> InterceptedJournal<Self> {
        InterceptedJournal(Self::quick(abort))
    }

    fn quick(abort: CancellationToken) -> Self {
        Self {
            inner: MemoryJournal::new(),
            disk: watch::Sender::new(Disk::Done),
            abort,
            is_early: false,
        }
    }
}

impl JournalInterceptor for SlowJournal {
    type Inner = MemoryJournal;

    fn inner(&self) -> &MemoryJournal {
        &self.inner
    }

    fn runs(&self, query: RunQuery) -> JournalFuture<'_, Vec<RunRow>> {
        Box::pin(async move {
            let mut rows = self.inner.runs(query).await?;
            // A process that holds the lease of a run sees it.
            rows.retain(|row| !self.is_early || row.holder.is_some());
            Ok(rows)
        })
    }

    fn intend(&self, call: PlannedCall) -> JournalFuture<'_, Intent> {
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

    fn settle_ahead(&self, intent: Intent, outcome: Outcome) -> JournalFuture<'_, CommitFuture> {
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
            Ok(Box::pin(settled) as CommitFuture)
        })
    }
}

/// Drives two nodes of which the second waits for what the first answered, until it waits; then lets the disk go on.
async fn driven(disk: Disk) -> (Stage, String, String) {
    let slow = SlowJournal {
        disk: watch::Sender::new(Disk::Busy),
        ..SlowJournal::quick(CancellationToken::new())
    };
    let journal = Arc::new(InterceptedJournal(slow));
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
