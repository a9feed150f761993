//! What cannot be seen from outside: how statements find their rows, and what callers hear when a thread is gone.

use expect_test::{Expect, expect};
use haft_contract::RunId;
use rusqlite::types::Value;

use super::*;
use crate::{CallOrder, Owner};

pub(super) fn run(id: &str) -> NewRun {
    NewRun {
        id: RunId::parse(id).unwrap(),
        front_end: "cli".to_owned(),
        root: "/project".to_owned(),
        started_at_ms: 1,
        version: "0.1.0".to_owned(),
        settings: "{}".to_owned(),
    }
}

pub(super) fn claim() -> Claim {
    let owner = Owner { id: "one".to_owned(), place: "process one".to_owned() };
    Claim { owner, now_ms: 1, lasts_ms: 60_000 }
}

/// Returns how SQLite would find the rows of a statement.
fn plan(db: &Connection, text: &str) -> String {
    let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
    let parameters = vec![Value::Integer(1); statement.parameter_count()];
    let steps = statement
        .query_map(rusqlite::params_from_iter(parameters), |row| row.get::<_, String>("detail"))
        .unwrap();
    steps.map(|step| step.unwrap() + "\n").collect()
}

fn database(directory: &tempfile::TempDir) -> Connection {
    open::writing(&directory.path().join("journal.db")).unwrap()
}

/// The statements whose cost must not grow with the journal, except with the rows that they answer.
const STATEMENTS: &[&str] = &[
    record::CALL_INSERT,
    record::CALL_SETTLE,
    record::CALL_AMEND,
    record::CALL_RESOLVE,
    record::LATE_INSERT,
    record::SNAPSHOT_UPSERT,
    record::FRUITLESS_RESET,
    transaction::CHANGE_READ,
    transaction::CHANGE_KEEP,
    lease::STANDING,
    lease::RUN_INSERT,
    lease::RUN_TAKE,
    lease::RUN_EXTEND,
    lease::RUN_FREE,
    lease::RUN_FRUITLESS,
    lease::OPEN_CALLS,
    lease::CALL_GIVE_UP,
    lease::PROGRESS,
    lease::LAST_OPEN,
    upkeep::RUN_LATEST,
    upkeep::RUN_MARK,
    upkeep::CALLS_DELETE,
    upkeep::SNAPSHOTS_DELETE,
    upkeep::LATE_DELETE,
    upkeep::EPOCH_KEEP,
    upkeep::RUN_DELETE,
    reader::ATTEMPT,
    reader::RECORDED,
    reader::EARLIER,
    reader::SNAPSHOTS_OF_RUN,
    reader::SNAPSHOTS_OF_CALL,
    reader::LATE_OUTCOMES,
];

/// The statements whose cost must not grow with other chats.
const CHAT_STATEMENTS: &[&str] = &[
    upkeep::PARTS_DELETE,
    upkeep::MESSAGES_DELETE,
    upkeep::SESSION_DELETE,
    chat::SESSION_UPSERT,
    chat::MESSAGE_UPSERT,
    chat::PART_UPSERT,
    chat::SESSION_TOUCH,
    chat::MESSAGE_FIND,
    chat::MESSAGES_REWIND,
    lease::CHAT_RESTS,
];

fn assert_no_scan(plans: &str) {
    let scans =
        plans.lines().filter(|line| line.contains("SCAN") && !line.contains("CONSTANT ROW"));
    assert_eq!(scans.count(), 0, "{plans}");
}

#[test]
fn no_statement_of_a_call_scans() {
    let directory = tempfile::tempdir().unwrap();
    let db = database(&directory);
    let by_driver = reader::by_driver_statement();
    let by_driver = by_driver.as_str();
    let statements = STATEMENTS.iter().chain([&by_driver]);
    let plans: String = statements.map(|text| plan(&db, text)).collect();
    assert_no_scan(&plans);
    expect![[r#"
        SEARCH calls USING INTEGER PRIMARY KEY (rowid=?)
        SCALAR SUBQUERY 1
        SEARCH calls USING COVERING INDEX calls_by_place (run=? AND node=? AND iteration=? AND attempt=? AND seq=?)
        SEARCH calls USING INDEX calls_by_place (run=? AND node=? AND iteration=? AND attempt=? AND seq=?)
        SEARCH calls USING INDEX calls_by_place (run=? AND node=? AND iteration=? AND attempt=? AND seq=?)
        SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)
        SEARCH changes USING INTEGER PRIMARY KEY (rowid=?)
        SCALAR SUBQUERY 1
        SEARCH calls
        SCALAR SUBQUERY 2
        SEARCH calls USING COVERING INDEX calls_by_change
        SEARCH changes USING INTEGER PRIMARY KEY (rowid=?)
        SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)
        SCALAR SUBQUERY 1
        SEARCH changes USING INTEGER PRIMARY KEY (rowid=?)
        SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)
        SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)
        SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)
        SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)
        SEARCH calls USING INDEX calls_by_change (closed=?)
        USE TEMP B-TREE FOR ORDER BY
        SEARCH calls USING INTEGER PRIMARY KEY (rowid=?)
        SCAN CONSTANT ROW
        SCALAR SUBQUERY 1
        SEARCH calls USING INDEX calls_of_run (run=? AND closed>?)
        SEARCH calls USING INDEX calls_of_run (run=? AND closed>?)
        SEARCH calls USING COVERING INDEX calls_of_run (run=? AND closed>?)
        SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)
        SEARCH calls USING INTEGER PRIMARY KEY (rowid=?)
        LIST SUBQUERY 1
        SEARCH calls USING COVERING INDEX calls_by_place (run=?)
        SEARCH snapshots USING INTEGER PRIMARY KEY (rowid=?)
        LIST SUBQUERY 1
        SEARCH snapshots USING COVERING INDEX snapshots_by_place (run=?)
        SEARCH late_outcomes USING COVERING INDEX late_outcomes_by_run (run=?)
        SEARCH changes USING INTEGER PRIMARY KEY (rowid=?)
        SCALAR SUBQUERY 1
        SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)
        SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)
        SEARCH chat_sessions USING COVERING INDEX sqlite_autoindex_chat_sessions_1 (id=?)
        SEARCH calls USING COVERING INDEX calls_by_place (run=?)
        SEARCH snapshots USING COVERING INDEX snapshots_by_place (run=?)
        SEARCH late_outcomes USING COVERING INDEX late_outcomes_by_run (run=?)
        SEARCH calls USING INDEX calls_by_place (run=? AND node=? AND iteration=? AND attempt=?)
        USE TEMP B-TREE FOR GROUP BY
        USE TEMP B-TREE FOR group_concat(DISTINCT)
        SEARCH calls USING INDEX calls_by_place (run=? AND node=? AND iteration=? AND attempt=?)
        SEARCH calls USING INDEX calls_by_place (run=? AND node=? AND iteration=? AND attempt<?)
        SEARCH snapshots USING INDEX snapshots_by_place (run=?)
        USE TEMP B-TREE FOR ORDER BY
        SEARCH snapshots USING INDEX snapshots_by_place (run=? AND node=? AND iteration=? AND attempt=? AND seq=?)
        USE TEMP B-TREE FOR ORDER BY
        SEARCH late_outcomes USING INDEX late_outcomes_by_run (run=?)
        SEARCH calls USING INDEX calls_by_driver (run=? AND driver_call_id=?)
        USE TEMP B-TREE FOR ORDER BY
    "#]].assert_eq(&plans);
}

#[test]
fn no_statement_of_a_chat_scans() {
    let directory = tempfile::tempdir().unwrap();
    let db = database(&directory);
    let plans: String = CHAT_STATEMENTS.iter().map(|text| plan(&db, text)).collect();
    assert_no_scan(&plans);
    expect![[r#"
        SEARCH chat_parts USING INTEGER PRIMARY KEY (rowid=?)
        LIST SUBQUERY 1
        SEARCH chat_parts USING COVERING INDEX chat_parts_by_call (session_id=?)
        SEARCH chat_messages USING INTEGER PRIMARY KEY (rowid=?)
        LIST SUBQUERY 1
        SEARCH chat_messages USING COVERING INDEX chat_messages_by_session (session_id=?)
        SEARCH chat_parts USING COVERING INDEX chat_parts_by_message (message_id=?)
        SEARCH chat_sessions USING INDEX sqlite_autoindex_chat_sessions_1 (id=?)
        SEARCH chat_messages USING COVERING INDEX chat_messages_by_session (session_id=?)
        SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)
        SEARCH chat_messages USING COVERING INDEX chat_messages_by_session (session_id=?)
        SEARCH chat_sessions USING COVERING INDEX sqlite_autoindex_chat_sessions_1 (id=?)
        SEARCH chat_parts USING COVERING INDEX chat_parts_by_message (message_id=?)
        SEARCH chat_messages USING INDEX sqlite_autoindex_chat_messages_1 (id=?)
        SCALAR SUBQUERY 1
        SEARCH chat_parts USING INDEX chat_parts_by_call (session_id=? AND tool_call_id=?)
        SEARCH chat_sessions USING INDEX sqlite_autoindex_chat_sessions_1 (id=?)
        SCAN CONSTANT ROW
        SCALAR SUBQUERY 1
        SEARCH chat_messages USING INDEX sqlite_autoindex_chat_messages_1 (id=?)
        SEARCH chat_messages USING INDEX chat_messages_by_session (session_id=? AND id>?)
        SCAN CONSTANT ROW
        SCALAR SUBQUERY 1
        SEARCH chat_sessions USING INDEX sqlite_autoindex_chat_sessions_1 (id=?)
    "#]]
    .assert_eq(&plans);
}

#[test]
fn queries_for_chats_follow_an_index() {
    let directory = tempfile::tempdir().unwrap();
    let db = database(&directory);
    let check = |text: &str, expect: Expect| {
        let plan = plan(&db, text);
        assert!(!plan.contains("TEMP B-TREE"), "{plan}");
        expect.assert_eq(&plan);
    };
    let newest = ChatQuery::default();
    check(
        &chat::chat_statement(),
        expect![[r#"
        SEARCH chat_sessions USING INDEX sqlite_autoindex_chat_sessions_1 (id=?)
        CORRELATED SCALAR SUBQUERY 1
        SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)
    "#]],
    );
    check(
        &chat::chats_statement(&newest).0,
        expect![[r#"
        SCAN chat_sessions USING INDEX sqlite_autoindex_chat_sessions_1
        CORRELATED SCALAR SUBQUERY 1
        SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)
    "#]],
    );
    let of_parent = ChatQuery { parent: Some(ChatId::from_bits(1)), ..newest };
    check(
        &chat::chats_statement(&of_parent).0,
        expect![[r#"
        SEARCH chat_sessions USING INDEX chat_sessions_by_parent (parent_id=?)
        CORRELATED SCALAR SUBQUERY 1
        SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)
    "#]],
    );
    check(
        &chat::messages_statement(&MessageQuery::default()),
        expect![[r#"
        SEARCH chat_messages USING INDEX chat_messages_by_session (session_id=? AND id>?)
        SCALAR SUBQUERY 1
        SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)
    "#]],
    );
    check(
        &chat::parts_statement(),
        expect![[r#"
        SEARCH chat_parts USING INDEX chat_parts_by_message (message_id=?)
    "#]],
    );
    check(
        upkeep::AGES,
        expect![[r#"
        SCAN run
        SEARCH call USING INDEX calls_by_place (run=?) LEFT-JOIN
        SEARCH chat USING INDEX sqlite_autoindex_chat_sessions_1 (id=?) LEFT-JOIN
        CORRELATED SCALAR SUBQUERY 1
        SEARCH part USING INDEX chat_parts_by_call (session_id=?)
    "#]],
    );
}

/// The plan of a query must be this one, with no row visited that is not answered and nothing sorted.
fn check_plan(query: &CallQuery, expect: Expect) {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(&database(&directory), &reader::calls_statement(query).0);
    assert!(!plan.contains("TEMP B-TREE"), "{plan}");
    expect.assert_eq(&plan);
}

#[test]
fn queries_follow_an_index() {
    let run = CallQuery::of_run(RunId::parse("r").unwrap());
    let attempt = CallQuery {
        attempt: Some(1),
        iteration: Some(0),
        node: Some("n".to_owned()),
        ..run.clone()
    };
    let follow = |query| CallQuery { after_change: Some(7), order: CallOrder::Change, ..query };
    check_plan(
        &run,
        expect![[r#"
        SEARCH calls USING INDEX calls_by_place (run=?)
    "#]],
    );
    check_plan(
        &attempt,
        expect![[r#"
        SEARCH calls USING INDEX calls_by_place (run=? AND node=? AND iteration=? AND attempt=?)
    "#]],
    );
    check_plan(
        &CallQuery { seq: Some(1), ..attempt.clone() },
        expect![[r#"
        SEARCH calls USING INDEX calls_by_place (run=? AND node=? AND iteration=? AND attempt=? AND seq=?)
    "#]],
    );
    check_plan(
        &follow(CallQuery::default()),
        expect![[r#"
            MERGE (UNION ALL)
            LEFT
            SEARCH calls USING INDEX calls_by_change (closed=? AND rowid>?)
            RIGHT
            SEARCH calls USING INDEX calls_by_change (closed>?)
        "#]],
    );
    check_plan(
        &follow(run.clone()),
        expect![[r#"
            MERGE (UNION ALL)
            LEFT
            SEARCH calls USING INDEX calls_by_change (closed=? AND rowid>?)
            RIGHT
            SEARCH calls USING INDEX calls_of_run (run=? AND closed>?)
        "#]],
    );
    check_plan(
        &follow(attempt),
        expect![[r#"
            MERGE (UNION ALL)
            LEFT
            SEARCH calls USING INDEX calls_by_change (closed=? AND rowid>?)
            RIGHT
            SEARCH calls USING INDEX calls_of_run (run=? AND closed>?)
        "#]],
    );
    check_plan(
        &CallQuery { order: CallOrder::Latest, ..run },
        expect![[r#"
            MERGE (UNION ALL)
            LEFT
            SEARCH calls USING INDEX calls_by_change (closed=? AND rowid>?)
            RIGHT
            SEARCH calls USING INDEX calls_of_run (run=? AND closed>?)
        "#]],
    );
}

#[test]
fn runs_are_counted_through_an_index() {
    let directory = tempfile::tempdir().unwrap();
    let text = reader::runs_statement(&RunQuery::default()).0;
    expect![[r#"
        CO-ROUTINE run
        SCAN runs
        SCAN run
        SEARCH call USING INDEX calls_by_place (run=?) LEFT-JOIN
    "#]]
    .assert_eq(&plan(&database(&directory), &text));
}

#[tokio::test]
async fn a_thread_that_is_gone_is_an_error_and_no_hang() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    drop(database(&directory));
    let refusing = Worker::spawn("refusing", 1, drop).unwrap();
    // This one takes what it is asked and dies of it.
    let dying = Worker::spawn("dying", 1, |mut requests| drop(requests.blocking_recv())).unwrap();
    let journal = SqliteJournal { path, reader: refusing, writer: Some(dying), log: None };
    for _ in 0..2 {
        let result = journal.open_run(run("r"), claim()).await;
        assert!(matches!(result, Err(JournalError::Stopped { .. })), "{result:?}");
    }
    let result = journal.runs(RunQuery::default()).await;
    assert!(matches!(result, Err(JournalError::Stopped { .. })), "{result:?}");
}

#[tokio::test]
async fn dropping_the_journal_writes_what_is_queued() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = SqliteJournal::open(&path).unwrap();
    let lock = Connection::open(&path).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    for number in 0..20 {
        let run = run(&format!("r{number}"));
        let (job, _) = job(Firmness::Process, move |tx| lease::open(tx, &run, &claim()));
        journal.writer.as_ref().unwrap().send(job).await.unwrap();
    }
    lock.execute_batch("ROLLBACK").unwrap();
    drop(journal);
    let runs: i64 = lock.query_row("SELECT count(*) FROM runs", [], |row| row.get(0)).unwrap();
    assert_eq!(runs, 20);
}

#[test]
fn a_lock_is_waited_for_until_the_bound() {
    let bound = i32::try_from(crate::limits::LOCK_WAIT_MS_MAX).unwrap();
    assert!(open::wait_for_lock(bound - 1));
    assert!(!open::wait_for_lock(bound));
}

#[test]
fn a_run_that_is_used_again_is_not_removed() {
    let directory = tempfile::tempdir().unwrap();
    let db = database(&directory);
    let lease = {
        let mut tx = Writing::new(&db).unwrap();
        let (lease, _) = lease::open(&mut tx, &run("r"), &claim()).unwrap().unwrap();
        lease::close(&mut tx, &lease).unwrap().unwrap();
        lease
    };
    let everything =
        Retention { before_ms: Some(u64::MAX), bytes_max: None, keeps_in_doubt: false };
    let seen = upkeep::candidates(&db, everything).unwrap().going.remove(0);
    let mut tx = Writing::new(&db).unwrap();
    let (again, _) = lease::open(&mut tx, &run("r"), &claim()).unwrap().unwrap();
    assert_eq!(upkeep::remove(&mut tx, &seen).unwrap().unwrap(), Removal::Kept);
    lease::close(&mut tx, &again).unwrap().unwrap();
    assert_eq!(upkeep::remove(&mut tx, &seen).unwrap().unwrap(), Removal::Kept);
    assert!(again.epoch > lease.epoch);
    let seen = upkeep::candidates(&db, everything).unwrap().going.remove(0);
    assert_eq!(upkeep::remove(&mut tx, &seen).unwrap().unwrap(), Removal::Done(0));
    assert_eq!(upkeep::remove(&mut tx, &seen).unwrap().unwrap(), Removal::Kept);
}
