//! Two things that callers do not see: how statements find their rows, and the answers after a thread has ended.

use std::sync::Mutex;

use expect_test::{Expect, expect};
use haft_contract::{
    AttemptAddress, CallAddress, CallKey, Effect, Envelope, EnvelopeMetadata, RunId,
};
use rusqlite::TransactionBehavior;

use super::sql::Texts;
use super::transaction::{CHANGE_KEEP, CHANGE_READ, SqliteTransaction, TOKEN_KEEP, TOKEN_READ};
use super::*;
use crate::store::{
    Column, Counter, Inserted, RowCondition, RowUpdate, Table, Transaction, Value, contents,
};
use crate::{
    CallOrder, CallQuery, CallStatus, Journal, LeaseOwner, LeaseRequest, MessageQuery, NewRun,
    Outcome, PlannedCall, Retention, RunQuery, SessionId, SessionJournal, SessionQuery, SettledBy,
    Settlement, SettlementVerdict, SnapshotNote,
};

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

pub(super) fn request(owner: &str) -> LeaseRequest {
    let owner = LeaseOwner { id: owner.to_owned(), location: "process one".to_owned() };
    LeaseRequest { owner, now_ms: 1, lasts_ms: 60_000 }
}

pub(super) fn call(run: &str, seq: u32, effect: Effect) -> PlannedCall {
    let scope = AttemptAddress::first_of_run(RunId::parse(run).unwrap());
    let key = CallKey::of_first_call(&scope, "tool", "{}");
    PlannedCall {
        id: CallAddress { scope, seq },
        fencing_token: 1,
        tool: "tool".to_owned(),
        effect,
        first_key: key,
        call_key: key,
        input: "{}".to_owned(),
        accesses: "[]".to_owned(),
        driver_call_id: None,
        started_at_ms: 2,
        announces_effects: false,
    }
}

pub(super) fn outcome() -> Outcome {
    let envelope = Envelope::Output { data: "ok".into(), metadata: EnvelopeMetadata::default() };
    Outcome { status: CallStatus::Succeeded, envelope, finished_at_ms: 3 }
}

/// Returns how SQLite would find the rows of a statement.
fn plan(db: &Connection, text: &str) -> String {
    let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
    let parameters = vec![1; statement.parameter_count()];
    let steps = statement
        .query_map(rusqlite::params_from_iter(parameters), |row| row.get::<_, String>("detail"))
        .unwrap();
    steps.map(|step| step.unwrap() + "\n").collect()
}

/// A store that does at once what it is told, and notes how SQLite finds the rows.
#[derive(Debug)]
struct Explaining {
    db: Mutex<Connection>,
    plans: Mutex<String>,
}

struct Explained<'a> {
    transaction: SqliteTransaction<'a>,
    db: &'a Connection,
    plans: &'a mut String,
}

impl Explained<'_> {
    fn explain(&mut self, text: &str) {
        self.plans.push_str(&plan(self.db, text));
    }
}

impl Reader for Explained<'_> {
    fn scan(
        &mut self,
        query: &RowQuery,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<(), StoreFailure> {
        // The content store lies in files.
        if *query.table != contents::TABLE {
            self.explain(&sql::select(query).text);
        }
        self.transaction.scan(query, visit)
    }

    fn get(
        &mut self,
        table: &'static Table,
        key: &[Value],
        columns: &'static [Column],
    ) -> Result<Option<Row>, StoreFailure> {
        self.transaction.get(table, key, columns)
    }

    fn tally(&mut self, tally: &Tally) -> Result<Vec<Tallied>, StoreFailure> {
        self.explain(&sql::DIALECT.tally(tally).text);
        self.transaction.tally(tally)
    }
}

impl Transaction for Explained<'_> {
    fn insert(
        &mut self,
        table: &'static Table,
        row: &[(Column, Value)],
    ) -> Result<Inserted, StoreFailure> {
        self.transaction.insert(table, row)
    }

    fn update(&mut self, update: &RowUpdate<'_>) -> Result<bool, StoreFailure> {
        self.transaction.update(update)
    }

    fn delete(
        &mut self,
        table: &'static Table,
        conditions: &[RowCondition],
        rows_max: u32,
    ) -> Result<u64, StoreFailure> {
        if *table != contents::TABLE {
            self.explain(&sql::DIALECT.delete(table, conditions, rows_max).text);
        }
        self.transaction.delete(table, conditions, rows_max)
    }

    fn last(&mut self, counter: Counter) -> Result<u64, StoreFailure> {
        self.transaction.last(counter)
    }

    fn set_last(&mut self, counter: Counter, number: u64) -> Result<(), StoreFailure> {
        self.transaction.set_last(counter, number)
    }
}

impl Explaining {
    fn work(&self, work: impl FnOnce(&mut Explained<'_>) -> Result<(), StoreFailure>) {
        let mut db = self.db.lock().unwrap();
        let mut plans = self.plans.lock().unwrap();
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        let mut texts = Texts::default();
        let path = Path::new("journal.db");
        let inner = SqliteTransaction::new(&transaction, path, &mut texts).unwrap();
        let mut explained = Explained { transaction: inner, db: &transaction, plans: &mut plans };
        work(&mut explained).unwrap();
        drop(explained);
        texts.all().for_each(|text| plans.push_str(&plan(&transaction, text)));
        transaction.commit().unwrap();
    }

    /// Returns the plans of all statements since the last time, each once.
    fn take_plans(&self) -> String {
        let plans = std::mem::take(&mut *self.plans.lock().unwrap());
        let lines: std::collections::BTreeSet<&str> = plans.lines().collect();
        lines.into_iter().map(|line| format!("{line}\n")).collect()
    }
}

impl Store for Explaining {
    fn location(&self) -> &Path {
        Path::new("journal.db")
    }

    fn write(&self, mut operation: Box<dyn WriteOperation>) -> BoxFuture<'_, ()> {
        self.work(|explained| operation.apply(explained));
        operation.finish(Ok(()));
        Box::pin(async {})
    }

    fn read(&self, mut operation: Box<dyn ReadOperation>) -> BoxFuture<'_, ()> {
        self.work(|explained| operation.apply(explained));
        operation.finish(Ok(()));
        Box::pin(async {})
    }
}

fn explaining(directory: &tempfile::TempDir) -> JournalMachine<Explaining> {
    let db = Mutex::new(open::writing(&directory.path().join("journal.db")).unwrap());
    JournalMachine::over(Explaining { db, plans: Mutex::new(String::new()) })
}

fn check_no_scan(plans: &str) {
    let scans =
        plans.lines().filter(|line| line.contains("SCAN") && !line.contains("CONSTANT ROW"));
    assert_eq!(scans.count(), 0, "{plans}");
}

/// An operation on a single call or run must not cost more in a longer journal.
#[tokio::test]
async fn no_statement_of_a_call_scans() {
    let directory = tempfile::tempdir().unwrap();
    let journal = explaining(&directory);
    let lease = journal.open_run(run("r"), request("one")).await.unwrap();
    journal.renew_lease(lease.clone(), request("one")).await.unwrap();
    let intent = journal.intend(call("r", 1, Effect::Once)).await.unwrap();
    journal.amend(&intent, "{}".to_owned()).await.unwrap();
    journal.settle(intent, outcome()).await.unwrap();
    drop(journal.intend(call("r", 2, Effect::Once)).await.unwrap());
    let read = journal.intend(call("r", 3, Effect::Read)).await.unwrap();
    let holder = journal.lease_holders().await.unwrap().remove(0);
    journal.store().take_plans();
    let left = journal.abandon_run(holder).await.unwrap();
    journal.settle(read, outcome()).await.unwrap_err();
    let settlement = Settlement {
        call: left[0].clone(),
        verdict: SettlementVerdict::Happened,
        by: SettledBy::Operator,
        envelope: outcome().envelope,
        settled_at_ms: 4,
    };
    journal.resolve(settlement).await.unwrap();
    journal.acknowledge(left[0].clone()).await.unwrap();
    let note = SnapshotNote {
        call: left[0].clone(),
        root: "/project".to_owned(),
        before: None,
        after: None,
        note: None,
        taken_at_ms: 5,
        repositories: Vec::new(),
    };
    journal.note_snapshot(note).await.unwrap();
    let scope = call("r", 1, Effect::Once).id.scope;
    journal.attempt_state(&scope).await.unwrap();
    journal.recorded_calls(&scope).await.unwrap();
    journal.by_driver_id(&scope, "toolu_1").await.unwrap();
    journal.earlier_effects(&scope, 3).await.unwrap();
    journal.snapshots(&scope.run, None).await.unwrap();
    journal.snapshots(&scope.run, Some(&left[0])).await.unwrap();
    journal.late_outcomes(&scope.run).await.unwrap();
    let plans = journal.store().take_plans();
    let counters = [CHANGE_READ, CHANGE_KEEP, TOKEN_READ, TOKEN_KEEP];
    let db = journal.store().db.lock().unwrap();
    let counters: String = counters.iter().map(|text| plan(&db, text)).collect();
    check_no_scan(&(plans.clone() + &counters));
    expect![[r#"
        SEARCH asks USING INDEX asks_of_run (run=? AND state=?)
        SEARCH calls USING INDEX calls_by_change (closed=?)
        SEARCH calls USING INDEX calls_by_driver (run=? AND driver_call_id=?)
        SEARCH calls USING INDEX calls_by_place (run=? AND node=? AND iteration=? AND attempt<?)
        SEARCH calls USING INDEX calls_by_place (run=? AND node=? AND iteration=? AND attempt=? AND seq=?)
        SEARCH calls USING INDEX calls_by_place (run=? AND node=? AND iteration=? AND attempt=?)
        SEARCH calls USING INDEX calls_of_run (run=? AND closed>?)
        SEARCH late_outcomes USING INDEX late_outcomes_by_run (run=?)
        SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)
        SEARCH sessions USING INDEX sqlite_autoindex_sessions_1 (id=?)
        SEARCH snapshots USING INDEX snapshots_by_place (run=? AND node=? AND iteration=? AND attempt=? AND seq=? AND root=?)
        SEARCH snapshots USING INDEX snapshots_by_place (run=? AND node=? AND iteration=? AND attempt=? AND seq=?)
        SEARCH snapshots USING INDEX snapshots_by_place (run=?)
        USE TEMP B-TREE FOR ORDER BY
    "#]].assert_eq(&plans);
}

/// The cost of a removal follows the number of removed rows.
#[tokio::test]
async fn no_statement_that_removes_scans() {
    let directory = tempfile::tempdir().unwrap();
    let journal = explaining(&directory);
    let lease = journal.open_run(run("r"), request("one")).await.unwrap();
    let intent = journal.intend(call("r", 1, Effect::Once)).await.unwrap();
    journal.settle(intent, outcome()).await.unwrap();
    journal.close_run(lease).await.unwrap();
    journal.store().take_plans();
    let everything =
        Retention { before_ms: Some(u64::MAX), bytes_max: None, keeps_in_doubt: false };
    journal.due_runs(everything).await.unwrap();
    expect![[r#"
        SCAN calls USING INDEX calls_by_place
        SCAN parts USING INDEX chat_parts_by_call
        SCAN runs
        SCAN sessions USING INDEX sqlite_autoindex_sessions_1
    "#]]
    .assert_eq(&journal.store().take_plans());
    journal.prune(everything).await.unwrap();
    let plans = journal.store().take_plans();
    let deletions: Vec<&str> = plans.lines().filter(|line| line.contains("rowid=?")).collect();
    assert_eq!(deletions.len(), 8, "{plans}");
}

#[tokio::test]
async fn queries_for_sessions_follow_an_index() {
    let directory = tempfile::tempdir().unwrap();
    let journal = explaining(&directory);
    let id = SessionId::from_bits(1);
    journal.session(&id).await.unwrap();
    journal.session_messages(&id, MessageQuery::default()).await.unwrap();
    let plans = journal.store().take_plans();
    check_no_scan(&plans);
    expect![[r#"
        SEARCH messages USING INDEX chat_messages_by_session (session_id=?)
        SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)
        SEARCH sessions USING INDEX sqlite_autoindex_sessions_1 (id=?)
    "#]]
    .assert_eq(&plans);
    journal.sessions(SessionQuery::default()).await.unwrap();
    expect![[r#"
        SCAN runs USING COVERING INDEX runs_being_removed
        SCAN sessions USING INDEX sqlite_autoindex_sessions_1
    "#]]
    .assert_eq(&journal.store().take_plans());
    let of_parent = SessionQuery { parent: Some(id), ..SessionQuery::default() };
    journal.sessions(of_parent).await.unwrap();
    expect![[r#"
        SCAN runs USING COVERING INDEX runs_being_removed
        SEARCH sessions USING INDEX chat_sessions_by_parent (parent_id=?)
    "#]]
    .assert_eq(&journal.store().take_plans());
}

/// The plan of a query must be this one, with no row visited that is not answered and nothing sorted.
async fn check_plan(query: CallQuery, expect: Expect) {
    let directory = tempfile::tempdir().unwrap();
    let journal = explaining(&directory);
    journal.calls(query).await.unwrap();
    let plan = std::mem::take(&mut *journal.store().plans.lock().unwrap());
    assert!(!plan.contains("TEMP B-TREE"), "{plan}");
    expect.assert_eq(&plan);
}

#[tokio::test]
async fn queries_follow_an_index() {
    let run = CallQuery::of_run(RunId::parse("r").unwrap());
    let attempt = CallQuery {
        attempt: Some(1),
        iteration: Some(0),
        node: Some("n".to_owned()),
        ..run.clone()
    };
    let follow = |query| CallQuery { after_change: Some(7), order: CallOrder::Change, ..query };
    check_plan(
        run.clone(),
        expect![[r#"
        SEARCH calls USING INDEX calls_by_place (run=?)
    "#]],
    )
    .await;
    check_plan(
        attempt.clone(),
        expect![[r#"
        SEARCH calls USING INDEX calls_by_place (run=? AND node=? AND iteration=? AND attempt=?)
    "#]],
    )
    .await;
    check_plan(
        CallQuery { seq: Some(1), ..attempt.clone() },
        expect![[r#"
        SEARCH calls USING INDEX calls_by_place (run=? AND node=? AND iteration=? AND attempt=? AND seq=?)
    "#]],
    )
    .await;
    check_plan(
        follow(CallQuery::default()),
        expect![[r#"
            MERGE (UNION ALL)
            LEFT
            SEARCH calls USING INDEX calls_by_change (closed=? AND rowid>?)
            RIGHT
            SEARCH calls USING INDEX calls_by_change (closed>?)
        "#]],
    )
    .await;
    check_plan(
        follow(run.clone()),
        expect![[r#"
            MERGE (UNION ALL)
            LEFT
            SEARCH calls USING INDEX calls_by_change (closed=? AND rowid>?)
            RIGHT
            SEARCH calls USING INDEX calls_of_run (run=? AND closed>?)
        "#]],
    )
    .await;
    check_plan(
        follow(attempt),
        expect![[r#"
            MERGE (UNION ALL)
            LEFT
            SEARCH calls USING INDEX calls_by_change (closed=? AND rowid>?)
            RIGHT
            SEARCH calls USING INDEX calls_of_run (run=? AND closed>?)
        "#]],
    )
    .await;
    check_plan(
        CallQuery { order: CallOrder::Latest, ..run },
        expect![[r#"
            MERGE (UNION ALL)
            LEFT
            SEARCH calls USING INDEX calls_by_change (closed=? AND rowid>?)
            RIGHT
            SEARCH calls USING INDEX calls_of_run (run=? AND closed>?)
        "#]],
    )
    .await;
}

#[tokio::test]
async fn runs_are_counted_through_an_index() {
    let directory = tempfile::tempdir().unwrap();
    let journal = explaining(&directory);
    journal.open_run(run("r"), request("one")).await.unwrap();
    journal.store().take_plans();
    journal.runs(RunQuery::default()).await.unwrap();
    expect![[r#"
        SCAN runs
        SEARCH calls USING INDEX calls_by_place (run=?)
        USE TEMP B-TREE FOR GROUP BY
    "#]]
    .assert_eq(&journal.store().take_plans());
}

#[tokio::test]
async fn a_thread_that_is_gone_is_an_error_and_no_hang() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    drop(SqliteJournal::open(&path).unwrap());
    let refusing = Worker::spawn("refusing", 1, drop).unwrap();
    // This one takes what it is asked and dies of it.
    let dying = Worker::spawn("dying", 1, |mut requests| drop(requests.blocking_recv())).unwrap();
    let store =
        SqliteStore { path, reader: refusing.into(), file: None, log: None, writer: Some(dying) };
    let journal = JournalMachine::over(store);
    for _ in 0..2 {
        let result = journal.open_run(run("r"), request("one")).await;
        assert!(matches!(result, Err(JournalError::Stopped { .. })), "{result:?}");
    }
    let result = journal.runs(RunQuery::default()).await;
    assert!(matches!(result, Err(JournalError::Stopped { .. })), "{result:?}");
}

#[test]
fn dropping_the_journal_writes_what_is_queued() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = SqliteJournal::open(&path).unwrap();
    let lock = Connection::open(&path).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    for number in 0..20 {
        let mut opened = journal.open_run(run(&format!("r{number}")), request("one"));
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(opened.as_mut().poll(&mut cx).is_pending());
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
