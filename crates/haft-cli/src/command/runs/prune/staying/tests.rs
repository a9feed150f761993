//! Which runs stay when they are due, and that all others go.

use haft_contract::{CallId, CallKey, Effect, Envelope, Metadata, Scope};
use haft_journal::limits::RESUMES_MAX;
use haft_journal::{MemoryJournal, Outcome, PlannedCall, SettledBy, Settlement, Status, Verdict};

use super::*;

/// Everything is older than now.
const EVERYTHING: Retention = Retention { before_ms: Some(1_000), bytes_max: None };

/// How the only call of a run ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Recorded,
    Never,
}

fn new_run(name: &str) -> NewRun {
    NewRun {
        id: RunId::parse(name).unwrap(),
        front_end: "cli".into(),
        root: "/work".into(),
        started_at_ms: 1,
        version: "1".into(),
        settings: "{}".into(),
    }
}

fn claim(now_ms: u64) -> Claim {
    let owner = Owner { id: "first".into(), place: "here".into() };
    Claim { owner, now_ms, lasts_ms: 1_000 }
}

fn planned(lease: &Lease, seq: u32, began_ms: u64) -> PlannedCall {
    let scope = Scope::of_run(lease.run.clone());
    let key = CallKey::first(&scope, "order", "{}");
    PlannedCall {
        id: CallId { scope, seq },
        epoch: lease.epoch,
        tool: "order".into(),
        effect: Effect::Once,
        first_key: key,
        call_key: key,
        input: "{}".into(),
        accesses: "[]".into(),
        driver_call_id: None,
        started_at_ms: began_ms,
    }
}

/// Makes a run with one call, which is over, whatever is known of its end.
async fn make(journal: &MemoryJournal, name: &str, began_ms: u64, end: End) -> CallId {
    let lease = journal.open_run(new_run(name), claim(1)).await.unwrap();
    let call = planned(&lease, 1, began_ms);
    let id = call.id.clone();
    let intent = journal.intend(call).await.unwrap();
    if end == End::Recorded {
        let envelope = answer("ordered");
        let outcome = Outcome { status: Status::Succeeded, envelope, finished_at_ms: began_ms };
        journal.settle(intent, outcome).await.unwrap();
    }
    journal.close_run(lease).await.unwrap();
    id
}

fn answer(text: &str) -> Envelope {
    Envelope::Output { data: text.into(), metadata: Metadata::default() }
}

fn names(runs: &[RunId]) -> Vec<&str> {
    runs.iter().map(RunId::as_str).collect()
}

/// Checks what goes and what stays, and that a rehearsal says the same before.
async fn check(journal: &MemoryJournal, retention: Retention, going: &[&str], kept: &[&str]) {
    let (would_go, would_stay) = sorted(journal, retention).await.unwrap();
    assert_eq!((names(&would_go).as_slice(), names(&would_stay).as_slice()), (going, kept));
    let mut staying = Staying::new(journal).unwrap();
    staying.hold(retention).await.unwrap();
    let pruned = journal.prune(retention).await.unwrap();
    let stayed = staying.release().await.unwrap();
    assert_eq!((names(&pruned.runs).as_slice(), names(&stayed).as_slice()), (going, kept));
    assert_eq!(journal.holders().await.unwrap(), []);
}

#[tokio::test]
async fn a_run_with_a_call_in_doubt_stays_until_somebody_settles_it() {
    let journal = MemoryJournal::new();
    make(&journal, "sure", 1, End::Recorded).await;
    let call = make(&journal, "doubtful", 2, End::Never).await;
    check(&journal, EVERYTHING, &["sure"], &["doubtful"]).await;
    check(&journal, EVERYTHING, &[], &["doubtful"]).await;
    let settlement = Settlement {
        call,
        verdict: Verdict::Happened,
        by: SettledBy::Operator,
        envelope: answer("it did"),
        settled_at_ms: 3,
    };
    journal.resolve(settlement).await.unwrap();
    check(&journal, EVERYTHING, &["doubtful"], &[]).await;
}

#[tokio::test]
async fn another_run_goes_for_the_room_of_one_that_stays() {
    let journal = MemoryJournal::new();
    for (name, began_ms, end) in [
        ("oldest", 1, End::Never),
        ("old", 2, End::Recorded),
        ("older", 3, End::Never),
        ("new", 4, End::Recorded),
        ("newest", 5, End::Recorded),
    ] {
        make(&journal, name, began_ms, end).await;
    }
    let mut all = 0;
    for name in ["oldest", "old", "older", "new", "newest"] {
        all += bytes(&journal, &RunId::parse(name).unwrap()).await.unwrap();
    }
    let one_too_much = Retention { before_ms: None, bytes_max: Some(all - 1) };
    check(&journal, one_too_much, &["old"], &["oldest"]).await;
    let nothing = Retention { before_ms: None, bytes_max: Some(0) };
    check(&journal, nothing, &["new", "newest"], &["oldest", "older"]).await;
}

#[tokio::test]
async fn nothing_goes_where_a_run_cannot_be_kept() {
    let journal = MemoryJournal::new();
    make(&journal, "first", 1, End::Never).await;
    for seq in 1..=RESUMES_MAX {
        let lease = journal.open_run(new_run("stuck"), claim(1)).await.unwrap();
        let intent = journal.intend(planned(&lease, seq, 2)).await.unwrap();
        drop(intent);
        let holder = journal.holders().await.unwrap().remove(0);
        journal.abandon(holder).await.unwrap();
    }
    let mut staying = Staying::new(&journal).unwrap();
    let err = staying.hold(EVERYTHING).await.unwrap_err();
    assert!(
        err.message.contains("nothing was removed") && err.message.contains("--in-doubt"),
        "{err:?}"
    );
    assert_eq!(err.hint.as_deref(), Some("haft runs show stuck"));
    assert_eq!(journal.holders().await.unwrap(), []);
}
