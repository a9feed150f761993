//! Decisions of the clock about leases, in the stores that use the clock of the request: when a run may be
//! taken, never what is kept.

use std::path::Path;
use std::sync::Arc;

use haft_contract::Effect;
use haft_journal::limits::LEASE_MS_MAX;
use haft_journal::{
    CallStatus, Journal, JournalError, Lease, LeaseHolder, LeaseRequest, MemoryJournal,
    PlannedCall, SqliteJournal,
};

use crate::fixture::{call, record, request, run, scope};

/// Now, as the tests have it.
const NOON_MS: u64 = 43_200_000;

fn journals(directory: &Path) -> [Arc<dyn Journal>; 2] {
    [
        Arc::new(MemoryJournal::new()),
        Arc::new(SqliteJournal::open(directory.join("journal.db")).unwrap()),
    ]
}

async fn open_at(
    journal: &dyn Journal,
    owner: &str,
    now_ms: u64,
    lasts_ms: u64,
) -> Result<Lease, JournalError> {
    journal.open_run(run("r"), LeaseRequest { now_ms, lasts_ms, ..request(owner) }).await
}

async fn holder(journal: &dyn Journal) -> LeaseHolder {
    journal.lease_holders().await.unwrap().remove(0)
}

#[tokio::test]
async fn a_lease_is_over_when_its_time_is() {
    let directory = tempfile::tempdir().unwrap();
    for journal in journals(directory.path()) {
        open_at(&*journal, "one", NOON_MS, 30_000).await.unwrap();
        let held = open_at(&*journal, "two", NOON_MS + 29_999, 30_000).await;
        assert!(matches!(held, Err(JournalError::LeaseHeld { .. })), "{held:?}");
        open_at(&*journal, "two", NOON_MS + 30_000, 30_000).await.unwrap();
        let found = holder(&*journal).await;
        assert_eq!((found.since_ms, found.expires_at_ms), (NOON_MS + 30_000, NOON_MS + 60_000));
    }
}

#[tokio::test]
async fn no_lease_lasts_longer_than_the_bound() {
    let directory = tempfile::tempdir().unwrap();
    for journal in journals(directory.path()) {
        let lease = open_at(&*journal, "one", NOON_MS, u64::MAX).await.unwrap();
        assert_eq!(holder(&*journal).await.expires_at_ms, NOON_MS + LEASE_MS_MAX);
        journal
            .renew_lease(
                lease,
                LeaseRequest { now_ms: NOON_MS + 1, lasts_ms: u64::MAX, ..request("one") },
            )
            .await
            .unwrap();
        assert_eq!(holder(&*journal).await.expires_at_ms, NOON_MS + 1 + LEASE_MS_MAX);
        let held = open_at(&*journal, "two", NOON_MS + 1, 1).await;
        assert!(matches!(held, Err(JournalError::LeaseHeld { .. })), "{held:?}");
    }
}

#[tokio::test]
async fn a_clock_that_is_set_back_makes_no_lease_eternal() {
    let directory = tempfile::tempdir().unwrap();
    for journal in journals(directory.path()) {
        // The clock was a year ahead when the run was taken.
        let ahead_ms = NOON_MS + 31_536_000_000;
        let lease = open_at(&*journal, "one", ahead_ms, 30_000).await.unwrap();
        journal
            .renew_lease(
                lease.clone(),
                LeaseRequest { now_ms: NOON_MS, lasts_ms: 30_000, ..request("one") },
            )
            .await
            .unwrap();
        assert_eq!(holder(&*journal).await.expires_at_ms, NOON_MS + 30_000);

        // Nor is it one if the owner did not live to renew it.
        journal
            .renew_lease(
                lease,
                LeaseRequest { now_ms: ahead_ms, lasts_ms: 30_000, ..request("one") },
            )
            .await
            .unwrap();
        open_at(&*journal, "two", NOON_MS, 30_000).await.unwrap();
    }
}

#[tokio::test]
async fn a_clock_that_jumps_ahead_takes_a_run_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    for journal in journals(directory.path()) {
        open_at(&*journal, "one", NOON_MS, 30_000).await.unwrap();
        let intent = journal.intend(call(&scope("r"), 1, Effect::Once)).await.unwrap();
        let taken = open_at(&*journal, "two", NOON_MS * 2, 30_000).await.unwrap();
        let planned = PlannedCall {
            fencing_token: taken.fencing_token,
            ..call(&scope("r"), 2, Effect::Once)
        };
        record(&*journal, planned, CallStatus::Succeeded).await.unwrap();
        let outcome = crate::fixture::outcome(CallStatus::Succeeded);
        assert!(matches!(journal.settle(intent, outcome).await, Err(JournalError::Fenced { .. })));
        assert_eq!(journal.late_outcomes(&run("r").id).await.unwrap().len(), 1);
    }
}
