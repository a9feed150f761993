//! Tests of `last`, in journals that are longer than one page, and in those with subagents and forks.

use haft_app::compose::agent::FRONT_END;
use haft_journal::limits::{QUERY_RUNS_MAX, QUERY_SESSIONS_MAX};
use haft_journal::{
    Lease, LeaseOwner, LeaseRequest, MemoryJournal, NewRun, SessionDurability, SessionJournal as _,
    SessionMode, SessionRecord, SessionRow, SessionStatus, TokenCounts,
};

use super::*;

const ROOT: &str = "/project";

async fn begin(journal: &MemoryJournal, id: &str, front_end: &str, started_at_ms: u64) -> Lease {
    let run = NewRun {
        id: RunId::parse(id).unwrap(),
        front_end: front_end.to_owned(),
        root: ROOT.to_owned(),
        started_at_ms,
        version: "0.1.0".to_owned(),
        settings: "{}".to_owned(),
    };
    let owner = LeaseOwner { id: "one".to_owned(), location: "process one".to_owned() };
    journal.open_run(run, LeaseRequest { owner, now_ms: 1_000, lasts_ms: 300_000 }).await.unwrap()
}

async fn record(journal: &MemoryJournal, session: SessionRow) {
    let lease = begin(journal, session.id.as_str(), FRONT_END, session.created_at_ms).await;
    let records = vec![SessionRecord::Session(session)];
    journal.record_session(&lease, records, SessionDurability::Ordered).await.unwrap();
}

/// Returns a session in which something was done, and was last at that moment.
fn session(number: u128, updated_at_ms: u64) -> SessionRow {
    SessionRow {
        id: SessionId::from_bits(number),
        parent_id: None,
        parent_tool_call_id: None,
        forked_from_id: None,
        forked_from_message_id: None,
        agent: "build".to_owned(),
        title: Some("mend the test".to_owned()),
        model: "acme/large".to_owned(),
        root: ROOT.to_owned(),
        status: SessionStatus::Idle,
        mode: SessionMode::Foreground,
        inspectable: true,
        delivered: false,
        permissions_json: "{}".to_owned(),
        metadata_json: "{}".to_owned(),
        depth: 0,
        tokens: TokenCounts::default(),
        steps: 1,
        created_at_ms: 1_000,
        updated_at_ms,
    }
}

fn child(number: u128, parent: u128, updated_at_ms: u64) -> SessionRow {
    let parent_id = Some(SessionId::from_bits(parent));
    let parent_tool_call_id = Some("toolu_1".to_owned());
    SessionRow { parent_id, parent_tool_call_id, ..session(number, updated_at_ms) }
}

fn fork(number: u128, source: u128, updated_at_ms: u64) -> SessionRow {
    let forked_from_id = Some(SessionId::from_bits(source));
    SessionRow { forked_from_id, steps: 0, ..session(number, updated_at_ms) }
}

async fn last_run(journal: &MemoryJournal) -> RunArgument {
    find_run(LAST, journal, || Ok(ROOT.to_owned())).await.unwrap()
}

async fn last_session(journal: &MemoryJournal) -> u128 {
    find_session(LAST, ROOT, journal).await.unwrap().bits()
}

#[tokio::test]
async fn a_run_that_was_begun_before_very_many_is_the_last_if_it_was_used_last() {
    let journal = MemoryJournal::new();
    begin(&journal, "nightly", "cli", 9_000).await;
    for number in 0..QUERY_RUNS_MAX {
        begin(&journal, &format!("run-{number}"), "cli", 2_000).await;
    }
    assert_eq!(last_run(&journal).await.id().as_str(), "nightly");
}

#[tokio::test]
async fn a_session_that_was_begun_before_very_many_is_the_last_if_it_was_used_last() {
    let journal = MemoryJournal::new();
    record(&journal, session(1, 9_000)).await;
    for number in 0..u128::from(QUERY_SESSIONS_MAX) {
        record(&journal, session(2 + number, 2_000)).await;
    }
    assert_eq!(last_session(&journal).await, 1);
    assert_eq!(last_run(&journal).await.id(), SessionId::from_bits(1).run());
}

#[tokio::test]
async fn who_goes_on_with_the_session_of_a_subagent_uses_the_one_above() {
    let journal = MemoryJournal::new();
    record(&journal, session(1, 2_000)).await;
    record(&journal, child(2, 1, 2_000)).await;
    let opaque = SessionRow { inspectable: false, depth: 2, ..child(3, 2, 9_000) };
    record(&journal, opaque).await;
    record(&journal, session(4, 5_000)).await;
    begin(&journal, "nightly", "cli", 8_000).await;
    assert_eq!(last_session(&journal).await, 1);
    let last = last_run(&journal).await;
    expect_test::expect![[r#"last is session ses_00000000000000000000000001, begun at 1970-01-01T00:00:01.000Z and used at 1970-01-01T00:00:09.000Z: mend the test"#]]
        .assert_eq(&last.latest_note().unwrap());
    begin(&journal, "later", "cli", 9_001).await;
    expect_test::expect![[r#"last is run later, begun by cli at 1970-01-01T00:00:09.001Z and used at 1970-01-01T00:00:09.001Z"#]]
        .assert_eq(&last_run(&journal).await.latest_note().unwrap());
}

#[tokio::test]
async fn a_fork_that_nobody_went_on_with_is_a_session_and_no_work() {
    let journal = MemoryJournal::new();
    record(&journal, session(1, 2_000)).await;
    record(&journal, fork(2, 1, 3_000)).await;
    // Not all of it is there.
    record(&journal, SessionRow { inspectable: false, ..fork(3, 1, 4_000) }).await;
    assert_eq!(last_session(&journal).await, 2);
    assert_eq!(last_run(&journal).await.id(), SessionId::from_bits(1).run());
    record(&journal, SessionRow { steps: 1, ..fork(4, 1, 5_000) }).await;
    assert_eq!(last_run(&journal).await.id(), SessionId::from_bits(4).run());
}

#[tokio::test]
async fn a_session_that_works_for_a_call_of_another_run_is_not_the_last() {
    let journal = MemoryJournal::new();
    record(&journal, session(1, 2_000)).await;
    let run = RunId::parse("nightly").unwrap();
    let of_run = |number: u128, metadata_json: &str| SessionRow {
        parent_id: Some(SessionId::standing_for(&run)),
        metadata_json: metadata_json.to_owned(),
        ..session(number, 8_000)
    };
    record(&journal, of_run(2, r#"{"task_of":"nightly"}"#)).await;
    let node = r#"{"plan_node":{"run":"nightly","node":"n0","iteration":0,"attempt":1}}"#;
    record(&journal, of_run(3, node)).await;
    // Nor are the sessions of its subagents.
    record(&journal, child(4, 2, 9_000)).await;
    record(&journal, child(5, 3, 9_000)).await;
    assert_eq!(last_session(&journal).await, 1);
}

#[tokio::test]
async fn names_count_back_from_the_last_and_ids_may_be_cut() {
    let journal = MemoryJournal::new();
    for (run, at_ms) in [("nightly", 2_000), ("daily", 3_000), ("weekly", 1_000)] {
        begin(&journal, run, "cli", at_ms).await;
    }
    let find = async |named: &str| {
        let found = find_run(named, &journal, || Ok(ROOT.to_owned())).await;
        found.map(|run| run.id().to_string()).map_err(|err| err.message)
    };
    assert_eq!(find("last~0").await.unwrap(), "daily");
    assert_eq!(find("last~1").await.unwrap(), "nightly");
    assert_eq!(find("last~2").await.unwrap(), "weekly");
    assert_eq!(find("we").await.unwrap(), "weekly");
    assert!(find("last~3").await.unwrap_err().contains("it has fewer"));
    assert!(find("last~-1").await.unwrap_err().contains("expected last~ and a number"));
    begin(&journal, "weekly-2", "cli", 1_000).await;
    assert!(find("wee").await.unwrap_err().contains("2 ids begin so"));
    assert_eq!(find("weekly").await.unwrap(), "weekly");
    // The caller says that there is none.
    assert_eq!(find("monthly").await.unwrap(), "monthly");
}
