//! Journals that earlier versions recorded: all that was in them is there after they were brought up to date, and a run
//! of theirs can be taken up.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use haft_contract::{AttemptAddress, Effect};
use haft_journal::{
    CallQuery, CallRow, CallStatus, Journal, MessageFinish, MessageQuery, PartState, PlannedCall,
    RunQuery, SessionDurability, SessionJournal as _, SessionQuery, SessionRecord, SqliteJournal,
};
use rusqlite::Connection;

use crate::fixture::{call, lines, record, request, run, run_lines, scope};

const VERSION_1: &str = include_str!("../fixtures/journal-1.sql");
const VERSION_2: &str = include_str!("../fixtures/journal-2.sql");
const VERSION_3: &str = include_str!("../fixtures/journal-3.sql");
const VERSION_4: &str = include_str!("../fixtures/journal-4.sql");

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
            .open_run(run(id), haft_journal::LeaseRequest { now_ms, ..request("next") })
            .await
            .unwrap();
        let scope = AttemptAddress { attempt: 9, ..scope(id) };
        let planned =
            PlannedCall { fencing_token: lease.fencing_token, ..call(&scope, 1, Effect::Once) };
        record(journal, planned.clone(), CallStatus::Succeeded).await.unwrap();
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

#[tokio::test]
async fn version_4_is_read() {
    check(VERSION_4, expect![[r#"
        ses_01m93vx3800000000000000003 last None calls 0 failed 0 refused 0 intended 0 unknown 0
        ses_01m93vx3800000000000000002 last None calls 0 failed 0 refused 0 intended 0 unknown 0
        ses_01m93vx3800000000000000001 last Some(1796500004220) calls 2 failed 0 refused 0 intended 0 unknown 0
        second last Some(1796500000001) calls 1 failed 0 refused 0 intended 1 unknown 0
        first last Some(1796500000005) calls 6 failed 1 refused 1 intended 0 unknown 1
        2 first/main/0/1/1 write succeeded
        3 first/main/0/1/2 read succeeded
        10 first/main/0/1/3 edit failed
        11 first/main/0/1/4 bash succeeded
        9 first/main/0/1/5 bash unknown
        12 first/main/0/2/1 bash refused
        13 second/main/0/1/1 todo intended
        14 ses_01m93vx3800000000000000001/main/0/1/1 read succeeded
        16 ses_01m93vx3800000000000000001/main/0/1/2 task succeeded
    "#]]).await;
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
async fn version_4_keeps_what_belongs_to_calls() {
    check_belongings(VERSION_4, expect![[r#"
        [{"id":"ses_01m93vx3800000000000000003","front_end":"agent","root":"/project","version":"0.1.0","started_at_ms":1796500004000,"last_call_at_ms":null,"calls":0,"failed":0,"refused":0,"intended":0,"unknown":0,"settings":{},"holder":null},{"id":"ses_01m93vx3800000000000000002","front_end":"agent","root":"/project","version":"0.1.0","started_at_ms":1796500004000,"last_call_at_ms":null,"calls":0,"failed":0,"refused":0,"intended":0,"unknown":0,"settings":{},"holder":null},{"id":"ses_01m93vx3800000000000000001","front_end":"agent","root":"/project","version":"0.1.0","started_at_ms":1796500004000,"last_call_at_ms":1796500004220,"calls":2,"failed":0,"refused":0,"intended":0,"unknown":0,"settings":{},"holder":{"run":"ses_01m93vx3800000000000000001","epoch":1,"id":"one","place":"process one","since_ms":1796500004000,"expires_at_ms":1796500005000}},{"id":"second","front_end":"cli","root":"/project","version":"0.1.0","started_at_ms":1796500000000,"last_call_at_ms":1796500000001,"calls":1,"failed":0,"refused":0,"intended":1,"unknown":0,"settings":{},"holder":{"run":"second","epoch":1,"id":"three","place":"process three","since_ms":1796500003000,"expires_at_ms":1796500063000}},{"id":"first","front_end":"cli","root":"/project","version":"0.1.0","started_at_ms":1796500000000,"last_call_at_ms":1796500000005,"calls":6,"failed":1,"refused":1,"intended":0,"unknown":1,"settings":{"ignored":"excluded"},"holder":null}]
        [{"call":{"scope":{"run":"first","node":"main","iteration":0,"attempt":1},"seq":1},"root":"/project","before":"b1","after":"a1","note":null,"taken_at_ms":1796500000060}]
        [{"call":{"scope":{"run":"first","node":"main","iteration":0,"attempt":1},"seq":4},"tool":"bash","epoch":1,"status":"succeeded","envelope":{"type":"output","data":"made","metadata":{"duration_ms":3}},"finished_at_ms":1796500000053}]
        [{"change":10,"run":"first","node":"main","iteration":0,"attempt":1,"seq":3,"tool":"edit","effect":"once","status":"failed","started_at_ms":1796500000003,"finished_at_ms":1796500002100,"first_key":"c4f5d427a2e2d340898f58e21eb749607ea67d7e757dc8de1953606e0ac79c1e","call_key":"c4f5d427a2e2d340898f58e21eb749607ea67d7e757dc8de1953606e0ac79c1e","driver_call_id":null,"input":{"path":"a"},"accesses":[],"epoch":1,"details":{"files":[{"path":"a","before":"2d71","after":"77aa"}]},"envelope":{"type":"error","error_text":"the file is as it was before","metadata":{"duration_ms":0,"code":"TOOL_PATH_INVALID"}},"verdict":"not_happened","settled_by":"probe"}]"#]]).await;
}

/// Returns the sessions of a journal, each with its messages: who says it and how it ended, then what it consists of.
async fn said(journal: &SqliteJournal) -> String {
    let mut text = String::new();
    let all = SessionQuery { with_opaque: true, ..SessionQuery::default() };
    for session in journal.sessions(all).await.unwrap() {
        writeln!(text, "{}", serde_json::to_string(&session).unwrap()).unwrap();
        let query = MessageQuery { with_rewound: true, ..MessageQuery::default() };
        for (message, parts) in journal.session_messages(&session.id, query).await.unwrap() {
            let finish = message.finish.map_or("-", MessageFinish::as_str);
            let aside = message.rewound_at_ms.map_or("", |_| ", set aside");
            writeln!(text, "{} {} {finish}{aside}", message.role, message.kind).unwrap();
            for part in parts {
                let state = part.state.map_or("-", PartState::as_str);
                let what = [part.tool, part.text, part.output_json].into_iter().flatten();
                let what: Vec<String> = what.collect();
                writeln!(text, "  {} {state} {}", part.kind, what.join(" ")).unwrap();
            }
        }
    }
    text
}

#[tokio::test]
async fn version_4_keeps_what_was_said() {
    let directory = tempfile::tempdir().unwrap();
    let journal = SqliteJournal::open(restore(directory.path(), VERSION_4)).unwrap();
    expect![[r#"
        {"id":"ses_01m93vx3800000000000000003","parent_id":null,"parent_tool_call_id":null,"forked_from_id":"ses_01m93vx3800000000000000001","forked_from_message_id":"msg_01m93vx380000000000000000a","agent":"build","title":"mend it otherwise","model":"acme/large","root":"/project","status":"idle","mode":"foreground","inspectable":true,"delivered":false,"permissions_json":[{"tools":null,"requires":null,"permissions":[]}],"metadata_json":{},"depth":0,"tokens_input":0,"tokens_output":0,"tokens_reasoning":0,"tokens_cache_read":0,"tokens_cache_write":0,"steps":0,"created_at_ms":1796500004000,"updated_at_ms":1796500004100}
        user said -
          text - mend the test
        {"id":"ses_01m93vx3800000000000000002","parent_id":"ses_01m93vx3800000000000000001","parent_tool_call_id":"toolu_2","forked_from_id":null,"forked_from_message_id":null,"agent":"explore","title":null,"model":"acme/large","root":"/project","status":"completed","mode":"background","inspectable":false,"delivered":true,"permissions_json":{},"metadata_json":{},"depth":1,"tokens_input":5,"tokens_output":4,"tokens_reasoning":3,"tokens_cache_read":2,"tokens_cache_write":1,"steps":1,"created_at_ms":1796500004230,"updated_at_ms":1796500004340}
        user said -
          text - where is it?
        assistant said stop
          text - In src/lib.rs.
        {"id":"ses_01m93vx3800000000000000001","parent_id":null,"parent_tool_call_id":null,"forked_from_id":null,"forked_from_message_id":null,"agent":"build","title":"mend the test","model":"acme/large","root":"/project","status":"running","mode":"foreground","inspectable":true,"delivered":false,"permissions_json":[{"tools":null,"requires":null,"permissions":[]}],"metadata_json":{},"depth":0,"tokens_input":20,"tokens_output":16,"tokens_reasoning":12,"tokens_cache_read":8,"tokens_cache_write":4,"steps":4,"created_at_ms":1796500004000,"updated_at_ms":1796500004800}
        user said -
          text - mend the test
        assistant said tool-calls
          reasoning - The file comes first.
          text - I look at it.
          tool output-available read {"type":"output","data":"x","metadata":{"duration_ms":3}}
          tool output-available task {"type":"output","data":{"session_id":"ses_01m93vx3800000000000000002"},"metadata":{"duration_ms":3}}
        user notice -
          text - background task is done: In src/lib.rs.
        assistant said stop
          text - It is mended.
        assistant summary stop
          text - A test was to be mended.
        user said -, set aside
          text - break it again
        assistant said aborted, set aside
          text - That I would
          tool output-error write {"type":"error","error_text":"was not made: the person stopped the turn","metadata":{"duration_ms":0,"code":"PROCESS_ABORTED"}}
        user said -
          text - and the other one?
        assistant said -
          text - The other
          tool input-streaming edit
    "#]].assert_eq(&said(&journal).await);
    // One message with all that is kept of it.
    let top = SessionQuery { only_top: true, ..SessionQuery::default() };
    let session = journal.sessions(top).await.unwrap().pop().unwrap();
    let messages = journal.session_messages(&session.id, MessageQuery::default()).await.unwrap();
    expect![[r#"[{"id":"msg_01m93vx380000000000000000b","session_id":"ses_01m93vx3800000000000000001","role":"assistant","kind":"said","agent":"build","model":"acme/large","finish":"tool-calls","error":null,"covers_through":null,"tokens_input":5,"tokens_output":4,"tokens_reasoning":3,"tokens_cache_read":2,"tokens_cache_write":1,"created_at_ms":1796500004100,"completed_at_ms":1796500004200,"rewound_at_ms":null},[{"id":"prt_01m93vx3800000000000000035","message_id":"msg_01m93vx380000000000000000b","session_id":"ses_01m93vx3800000000000000001","type":"reasoning","text":"The file comes first.","tool_call_id":null,"tool":null,"state":null,"input_json":null,"output_json":null,"call_id":null,"signatures_json":["c2ln"],"created_at_ms":1796500004100,"updated_at_ms":1796500004150},{"id":"prt_01m93vx3800000000000000036","message_id":"msg_01m93vx380000000000000000b","session_id":"ses_01m93vx3800000000000000001","type":"text","text":"I look at it.","tool_call_id":null,"tool":null,"state":null,"input_json":null,"output_json":null,"call_id":null,"signatures_json":null,"created_at_ms":1796500004110,"updated_at_ms":1796500004160},{"id":"prt_01m93vx3800000000000000037","message_id":"msg_01m93vx380000000000000000b","session_id":"ses_01m93vx3800000000000000001","type":"tool","text":null,"tool_call_id":"toolu_1","tool":"read","state":"output-available","input_json":{"path":"a"},"output_json":{"type":"output","data":"x","metadata":{"duration_ms":3}},"call_id":"ses_01m93vx3800000000000000001/main/0/1/1","signatures_json":{"acme":"c2ln"},"created_at_ms":1796500004120,"updated_at_ms":1796500004170},{"id":"prt_01m93vx3800000000000000038","message_id":"msg_01m93vx380000000000000000b","session_id":"ses_01m93vx3800000000000000001","type":"tool","text":null,"tool_call_id":"toolu_2","tool":"task","state":"output-available","input_json":{"subagent_type":"explore","prompt":"where is it?","background":true},"output_json":{"type":"output","data":{"session_id":"ses_01m93vx3800000000000000002"},"metadata":{"duration_ms":3}},"call_id":"ses_01m93vx3800000000000000001/main/0/1/2","signatures_json":{"acme":"c2ln"},"created_at_ms":1796500004130,"updated_at_ms":1796500004180}]]"#]].assert_eq(&serde_json::to_string(&messages[1]).unwrap());

    // Another process goes on.
    let now = haft_journal::LeaseRequest { now_ms: 1_797_000_000_000, ..request("next") };
    let lease = journal.open_run(run(session.id.as_str()), now).await.unwrap();
    let (mut open, _) = messages.into_iter().next_back().unwrap();
    assert_eq!((open.finish, lease.fencing_token), (None, 2));
    open.finish = Some(MessageFinish::Interrupted);
    open.completed_at_ms = Some(1_797_000_000_000);
    let records = vec![SessionRecord::Message(open), SessionRecord::Session(session)];
    journal.record_session(&lease, records, SessionDurability::Durable).await.unwrap();
    assert_eq!(journal.verify().await.unwrap(), []);
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

/// People query journals with SQL. Their queries work for one more release.
#[tokio::test]
async fn the_columns_and_tables_of_version_4_are_readable_under_their_names() {
    let directory = tempfile::tempdir().unwrap();
    let path = restore(directory.path(), VERSION_4);
    let questions = [
        "SELECT id, epoch, owner_id, owner_place, fruitless, fruitless_since, is_going FROM runs ORDER BY id",
        "SELECT run, seq, epoch, heard FROM calls ORDER BY run, attempt, seq",
        "SELECT run, seq, epoch FROM late_outcomes",
        "SELECT id, run, status, depth FROM chat_sessions ORDER BY id",
        "SELECT chat_messages.created_at_ms, role, kind, text FROM chat_messages \
         JOIN chat_parts ON chat_parts.message_id = chat_messages.id \
         ORDER BY chat_messages.id, chat_parts.id",
    ];
    let answers = || {
        let db = Connection::open(&path).unwrap();
        questions.map(|question| {
            let mut statement = db.prepare(question).unwrap();
            let columns = statement.column_count();
            let rows = statement.query_map([], |row| {
                let value = |column| row.get::<_, rusqlite::types::Value>(column);
                (0..columns).map(value).collect::<rusqlite::Result<Vec<_>>>()
            });
            let rows: rusqlite::Result<Vec<_>> = rows.unwrap().collect();
            rows.unwrap()
        })
    };
    let before = answers();
    assert!(before.iter().all(|rows| !rows.is_empty()));
    drop(SqliteJournal::open(&path).unwrap());
    assert_eq!(answers(), before);
}
