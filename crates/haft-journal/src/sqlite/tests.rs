//! What cannot be seen from outside: how statements find their rows, and what callers hear when a thread is gone.

use expect_test::{Expect, expect};
use haft_contract::RunId;
use rusqlite::types::Value;

use super::*;
use crate::CallOrder;

pub(super) fn run(id: &str) -> NewRun {
    NewRun {
        id: RunId::parse(id).unwrap(),
        front_end: "cli".to_owned(),
        root: "/project".to_owned(),
        started_at_ms: 1,
        version: "0.1.0".to_owned(),
    }
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

#[test]
fn no_statement_of_a_call_scans() {
    let directory = tempfile::tempdir().unwrap();
    let db = database(&directory);
    let statements = [
        statement::RUN_INSERT,
        statement::CALL_INSERT,
        statement::CALL_SETTLE,
        statement::CHANGE_READ,
        statement::CHANGE_WRITE,
        reader::ATTEMPT,
    ];
    let plans = statements.map(|text| plan(&db, text)).concat();
    assert!(!plans.contains("SCAN"), "{plans}");
    expect![[r#"
        SEARCH calls USING INDEX calls_by_place (run=? AND node=? AND iteration=? AND attempt=? AND seq=?)
        SEARCH changes USING INTEGER PRIMARY KEY (rowid=?)
        SEARCH changes USING INTEGER PRIMARY KEY (rowid=?)
        SEARCH calls USING INDEX calls_by_place (run=? AND node=? AND iteration=? AND attempt=?)
        USE TEMP B-TREE FOR GROUP BY
    "#]].assert_eq(&plans);
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
        SEARCH calls USING INTEGER PRIMARY KEY (rowid>?)
    "#]],
    );
    check_plan(
        &follow(run.clone()),
        expect![[r#"
        SEARCH calls USING INDEX calls_by_run (run=? AND rowid>?)
    "#]],
    );
    check_plan(
        &follow(attempt),
        expect![[r#"
        SEARCH calls USING INDEX calls_by_run (run=? AND rowid>?)
    "#]],
    );
    check_plan(
        &CallQuery { order: CallOrder::Latest, ..run },
        expect![[r#"
        SEARCH calls USING INDEX calls_by_run (run=?)
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
        SEARCH call USING INDEX calls_by_run (run=?) LEFT-JOIN
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
    let journal = SqliteJournal { path, reader: refusing, writer: dying };
    for _ in 0..2 {
        let result = journal.begin_run(run("r")).await;
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
        let (reply, _) = oneshot::channel();
        let entry = Entry::Run(run(&format!("r{number}")));
        journal.writer.send(Request { entry, reply }).await.unwrap();
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
