//! Journals that earlier versions recorded: all that was in them is there after they were brought up to date, and a run
//! of theirs can be taken up.

use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use haft_contract::{Effect, Scope};
use haft_journal::{CallQuery, CallRow, Journal, PlannedCall, RunQuery, SqliteJournal, Status};
use rusqlite::Connection;

use crate::fixture::{call, claim, lines, record, run, run_lines, scope};

const VERSION_1: &str = include_str!("../fixtures/journal-1.sql");
const VERSION_2: &str = include_str!("../fixtures/journal-2.sql");
const VERSION_3: &str = include_str!("../fixtures/journal-3.sql");

fn restore(directory: &Path, recorded: &str) -> PathBuf {
    let path = directory.join("journal.db");
    Connection::open(&path).unwrap().execute_batch(recorded).unwrap();
    path
}

/// Returns each row as the version that recorded it wrote it, without what later versions changed or added.
fn texts(path: &Path) -> Vec<String> {
    let db = Connection::open(path).unwrap();
    let mut statement = db
        .prepare(
            "SELECT concat_ws('|', run, node, iteration, attempt, seq, tool, effect, started_at_ms, finished_at_ms, \
             first_key, call_key, driver_call_id, input, accesses, envelope) FROM calls ORDER BY run, seq",
        )
        .unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Opens a recorded journal, expects these runs and calls, and takes up both of its runs.
async fn check(recorded: &str, expect: Expect) {
    let directory = tempfile::tempdir().unwrap();
    let path = restore(directory.path(), recorded);
    let before = texts(&path);
    let journal = SqliteJournal::open(&path).unwrap();
    assert_eq!(texts(&path), before);
    let rows = journal.calls(CallQuery::default()).await.unwrap();
    let runs = journal.runs(RunQuery::default()).await.unwrap();
    expect.assert_eq(&(run_lines(&runs) + &lines(&rows)));
    assert_eq!(journal.verify().await.unwrap(), []);
    assert!(rows.iter().all(|row| row.parsed_envelope().is_ok()));
    take_up(&journal, &rows).await;
    assert_eq!(journal.verify().await.unwrap(), []);
}

async fn take_up(journal: &SqliteJournal, rows: &[CallRow]) {
    let greatest = rows.iter().map(|row| row.change).max().unwrap();
    for id in ["first", "second"] {
        let now_ms = 1_797_000_000_000;
        let lease = journal
            .open_run(run(id), haft_journal::Claim { now_ms, ..claim("next") })
            .await
            .unwrap();
        let scope = Scope { attempt: 9, ..scope(id) };
        let planned = PlannedCall { epoch: lease.epoch, ..call(&scope, 1, Effect::Once) };
        record(journal, planned.clone(), Status::Succeeded).await;
        let row = journal.calls(CallQuery::of_call(planned.id)).await.unwrap().remove(0);
        assert!(row.change > greatest, "change {} was given out before", row.change);
        journal.close_run(lease).await.unwrap();
    }
}

#[tokio::test]
async fn version_1_is_read() {
    check(
        VERSION_1,
        expect![[r#"
        second last Some(1795253505719) calls 4 failed 0 refused 1 intended 0 unknown 1
        first last Some(1795253425686) calls 4 failed 1 refused 1 intended 0 unknown 0
        1 first/main/0/1/1 read succeeded
        3 first/main/0/1/2 write succeeded
        4 first/main/0/1/3 read failed
        5 first/main/0/1/4 webfetch refused
        6 second/main/0/1/1 bash refused
        7 second/main/0/1/2 read succeeded
        10 second/main/0/1/3 bash unknown
        9 second/main/0/1/4 read succeeded
    "#]],
    )
    .await;
}

#[tokio::test]
async fn version_2_is_read() {
    check(
        VERSION_2,
        expect![[r#"
        second last Some(1795254000001) calls 1 failed 0 refused 0 intended 1 unknown 0
        first last Some(1795254000006) calls 7 failed 2 refused 1 intended 0 unknown 1
        2 first/main/0/1/1 write succeeded
        3 first/main/0/1/2 read succeeded
        10 first/main/0/1/3 edit failed
        11 first/main/0/1/4 bash succeeded
        9 first/main/0/1/5 bash unknown
        13 first/main/0/1/6 edit failed
        14 first/main/0/2/1 bash refused
        15 second/main/0/1/1 todo intended
    "#]],
    )
    .await;
}

#[tokio::test]
async fn version_3_is_read() {
    check(
        VERSION_3,
        expect![[r#"
        second last Some(1796000000001) calls 1 failed 0 refused 0 intended 1 unknown 0
        first last Some(1796000000006) calls 7 failed 2 refused 1 intended 0 unknown 1
        4 first/main/0/1/1 write succeeded
        3 first/main/0/1/2 read succeeded
        12 first/main/0/1/3 edit failed
        13 first/main/0/1/4 bash succeeded
        11 first/main/0/1/5 bash unknown
        8 first/main/0/1/6 write failed
        14 first/main/0/2/1 bash refused
        15 second/main/0/1/1 todo intended
    "#]],
    )
    .await;
}

/// Expects what a recorded journal has beside its calls, and one call with all that was found out about it.
async fn check_belongings(recorded: &str, expect: Expect) {
    let directory = tempfile::tempdir().unwrap();
    let journal = SqliteJournal::open(restore(directory.path(), recorded)).unwrap();
    let run = run("first").id;
    let edit = CallQuery { seq: Some(3), ..CallQuery::of_run(run.clone()) };
    let belongings = [
        serde_json::to_string(&journal.runs(RunQuery::default()).await.unwrap()).unwrap(),
        serde_json::to_string(&journal.snapshots(&run, None).await.unwrap()).unwrap(),
        serde_json::to_string(&journal.late_outcomes(&run).await.unwrap()).unwrap(),
        serde_json::to_string(&journal.calls(edit).await.unwrap()).unwrap(),
    ];
    expect.assert_eq(&belongings.join("\n"));
}

#[tokio::test]
async fn version_2_keeps_what_belongs_to_calls() {
    check_belongings(VERSION_2, expect![[r#"
        [{"id":"second","front_end":"cli","root":"/project","version":"0.1.0","started_at_ms":1795254000000,"last_call_at_ms":1795254000001,"calls":1,"failed":0,"refused":0,"intended":1,"unknown":0,"settings":{},"holder":{"run":"second","epoch":1,"id":"three","place":"process of three","since_ms":1795254003000,"expires_at_ms":1795254063000}},{"id":"first","front_end":"cli","root":"/project","version":"0.1.0","started_at_ms":1795254000000,"last_call_at_ms":1795254000006,"calls":7,"failed":2,"refused":1,"intended":0,"unknown":1,"settings":{"ignored":"excluded"},"holder":null}]
        [{"call":{"scope":{"run":"first","node":"main","iteration":0,"attempt":1},"seq":1},"root":"/project","before":"b1","after":"a1","note":null,"taken_at_ms":1795254000060}]
        [{"call":{"scope":{"run":"first","node":"main","iteration":0,"attempt":1},"seq":4},"tool":"bash","epoch":1,"status":"succeeded","envelope":{"type":"output","data":"made","metadata":{"duration_ms":0}},"finished_at_ms":1795254000050}]
        [{"change":10,"run":"first","node":"main","iteration":0,"attempt":1,"seq":3,"tool":"edit","effect":"once","status":"failed","started_at_ms":1795254000003,"finished_at_ms":1795254002100,"first_key":"c4f5d427a2e2d340898f58e21eb749607ea67d7e757dc8de1953606e0ac79c1e","call_key":"c4f5d427a2e2d340898f58e21eb749607ea67d7e757dc8de1953606e0ac79c1e","driver_call_id":null,"input":{"path":"a"},"accesses":[],"epoch":1,"details":{"files":[{"path":"a","before":"2d71","after":"77aa"}]},"envelope":{"type":"error","error_text":"the file is as it was before","metadata":{"duration_ms":0,"code":"IN_DOUBT"}},"verdict":"not_happened","settled_by":"probe"}]"#]]).await;
}

#[tokio::test]
async fn version_3_keeps_what_belongs_to_calls() {
    check_belongings(VERSION_3, expect![[r#"
        [{"id":"second","front_end":"cli","root":"/project","version":"0.1.0","started_at_ms":1796000000000,"last_call_at_ms":1796000000001,"calls":1,"failed":0,"refused":0,"intended":1,"unknown":0,"settings":{},"holder":{"run":"second","epoch":1,"id":"three","place":"process of three","since_ms":1796000003000,"expires_at_ms":1796000063000}},{"id":"first","front_end":"cli","root":"/project","version":"0.1.0","started_at_ms":1796000000000,"last_call_at_ms":1796000000006,"calls":7,"failed":2,"refused":1,"intended":0,"unknown":1,"settings":{"ignored":"excluded"},"holder":null}]
        [{"call":{"scope":{"run":"first","node":"main","iteration":0,"attempt":1},"seq":1},"root":"/project","before":"b1","after":"a1","note":null,"taken_at_ms":1796000000060}]
        [{"call":{"scope":{"run":"first","node":"main","iteration":0,"attempt":1},"seq":4},"tool":"bash","epoch":1,"status":"succeeded","envelope":{"type":"output","data":"made","metadata":{"duration_ms":0}},"finished_at_ms":1796000000053}]
        [{"change":12,"run":"first","node":"main","iteration":0,"attempt":1,"seq":3,"tool":"edit","effect":"once","status":"failed","started_at_ms":1796000000003,"finished_at_ms":1796000002100,"first_key":"c4f5d427a2e2d340898f58e21eb749607ea67d7e757dc8de1953606e0ac79c1e","call_key":"c4f5d427a2e2d340898f58e21eb749607ea67d7e757dc8de1953606e0ac79c1e","driver_call_id":null,"input":{"path":"a"},"accesses":[],"epoch":1,"details":{"files":[{"path":"a","before":"2d71","after":"77aa"}]},"envelope":{"type":"error","error_text":"the file is as it was before","metadata":{"duration_ms":0,"code":"TOOL_PATH_INVALID"}},"verdict":"not_happened","settled_by":"probe"}]"#]]).await;
}

#[tokio::test]
async fn an_older_haft_that_has_the_file_open_cannot_write_into_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = restore(directory.path(), VERSION_1);
    let older = Connection::open(&path).unwrap();
    drop(SqliteJournal::open(&path).unwrap());
    let insert = "INSERT INTO calls (change, run, node, iteration, attempt, seq, tool, effect, status, started_at_ms, \
                  first_key, call_key, input, accesses) \
                  VALUES (99, 'first', 'main', 0, 1, 9, 'write', 'once', 'intended', 1, 'k', 'k', '{}', '[]')";
    let err = older.execute(insert, []).unwrap_err().to_string();
    expect!["table calls has no column named change"].assert_eq(&err);
}
