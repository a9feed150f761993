//! The failures that only a server causes: it is restarted, its connections are cut, several machines share it, and it may
//! belong to others.

use std::sync::Arc;

use expect_test::{Expect, expect};
use haft_contract::{AttemptAddress, CallAddress, CallKey, Effect};
use haft_journal::{
    CallOrder, CallQuery, CallRow, CallStatus, Journal, JournalError, LeaseHolder, PlannedCall,
    PostgresJournal, SettledBy, Settlement, SettlementVerdict,
};
use serde_json::json;

use crate::fixture::{
    brief_request, call, call_of, lines, open, outcome, output, record, request, run, scope,
};
use crate::postgres_proxy::{Cut, Proxy};
use crate::postgres_server::Server;

async fn connect(url: &str) -> PostgresJournal {
    PostgresJournal::connect(url).await.unwrap()
}

async fn all_calls(journal: &dyn Journal) -> Vec<CallRow> {
    journal.calls(CallQuery::default()).await.unwrap()
}

/// Records calls one after the other, every tenth of them left open. Before each call `prepare` is called.
async fn record_stream(
    journal: &dyn Journal,
    scope: &AttemptAddress,
    calls: u32,
    prepare: impl Fn(u32),
) {
    for seq in 1..=calls {
        prepare(seq);
        let intent = journal.intend(call(scope, seq, Effect::Once)).await.unwrap();
        journal.amend(&intent, format!(r#"{{"seq":{seq}}}"#)).await.unwrap();
        if seq % 10 != 0 {
            journal.settle(intent, outcome(CallStatus::Succeeded)).await.unwrap();
        }
    }
}

/// Checks that the stream is there as it was acknowledged, each call once.
fn check_stream(rows: &[CallRow], streams: u32, calls: u32) {
    assert_eq!(rows.len(), (streams * calls) as usize);
    for row in rows {
        let expected = if row.seq % 10 == 0 { CallStatus::Intended } else { CallStatus::Succeeded };
        assert_eq!(
            (row.status, row.details.clone()),
            (expected, Some(format!(r#"{{"seq":{}}}"#, row.seq))),
            "{}",
            row.id()
        );
    }
    let mut changes: Vec<u64> = rows.iter().map(|row| row.change).collect();
    changes.sort_unstable();
    changes.dedup();
    assert_eq!(changes.len(), rows.len(), "two rows share a change number");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_crashes_loses_nothing_that_was_acknowledged() {
    const STREAMS: u32 = 8;
    const CALLS: u32 = 60;
    let server = Arc::new(Server::start("fsync = on"));
    let journal = Arc::new(connect(&server.url()).await);
    open(&*journal, "r").await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for iteration in 0..STREAMS {
        let journal = Arc::clone(&journal);
        let scope = AttemptAddress { iteration, ..scope("r") };
        tasks.spawn(async move { record_stream(&*journal, &scope, CALLS, |_| {}).await });
    }
    for crash in 1..=3 {
        // Not before a part of the work is done, and long before all of it.
        let done = (STREAMS * CALLS / 4 * crash) as usize;
        while all_calls(&*journal).await.len() < done {}
        let server = Arc::clone(&server);
        let crash = move || {
            server.crash();
            server.restart();
        };
        tokio::task::spawn_blocking(crash).await.unwrap();
    }
    while let Some(task) = tasks.join_next().await {
        task.unwrap();
    }
    check_stream(&all_calls(&*journal).await, STREAMS, CALLS);
    assert_eq!(journal.verify().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_sent_before_a_cut_is_looked_up() {
    const STREAMS: u32 = 4;
    const CALLS: u32 = 40;
    for cut in [Cut::BeforeRequest, Cut::InsideRequest, Cut::BeforeAnswer] {
        let server = Server::shared();
        let proxy = Arc::new(Proxy::start(server.port()));
        let database = server.database();
        let journal = Arc::new(connect(&url_through(&proxy, &database)).await);
        open(&*journal, "r").await.unwrap();
        let mut tasks = tokio::task::JoinSet::new();
        for iteration in 0..STREAMS {
            let (journal, proxy) = (Arc::clone(&journal), Arc::clone(&proxy));
            let scope = AttemptAddress { iteration, ..scope("r") };
            // At another time for each stream, so that no commit meets more cuts than it is tried.
            let prepare = move |seq: u32| {
                if seq % 10 == 1 + iteration * 2 {
                    proxy.cut_next(cut);
                }
            };
            tasks.spawn(async move { record_stream(&*journal, &scope, CALLS, prepare).await });
        }
        while let Some(task) = tasks.join_next().await {
            task.unwrap();
        }
        let watch = connect(&server.url_of(&database)).await;
        assert!(proxy.cuts() >= 5, "{cut:?}: {} cuts", proxy.cuts());
        check_stream(&all_calls(&watch).await, STREAMS, CALLS);
        assert_eq!(watch.verify().await.unwrap(), [], "{cut:?}");
    }
}

fn url_through(proxy: &Proxy, database: &str) -> String {
    format!("postgres://haft@127.0.0.1:{}/{database}", proxy.port())
}

/// Every record but those of streams, each with its connection cut.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_action_whose_answer_is_lost_answers_as_if_it_were_not() {
    for cut in [Cut::BeforeRequest, Cut::InsideRequest, Cut::BeforeAnswer] {
        let proxy = Proxy::start(Server::shared().port());
        let journal = connect(&url_through(&proxy, &Server::shared().database())).await;
        let cutting = || {
            proxy.cut_next(cut);
            &journal
        };
        let lease = cutting().open_run(run("r"), request("one")).await.unwrap();
        assert_eq!(lease.fencing_token, 1);
        cutting().renew_lease(lease.clone(), request("one")).await.unwrap();
        let read = journal.intend(call(&scope("r"), 1, Effect::Read)).await.unwrap();
        cutting().settle(read, outcome(CallStatus::Succeeded)).await.unwrap();
        cutting()
            .refuse(call(&scope("r"), 2, Effect::Once), outcome(CallStatus::Refused))
            .await
            .unwrap();
        drop(cutting().intend(call(&scope("r"), 3, Effect::Once)).await.unwrap());

        let holder: LeaseHolder = journal.lease_holders().await.unwrap().remove(0);
        let left = cutting().abandon_run(holder).await.unwrap();
        let third = CallAddress { scope: scope("r"), seq: 3 };
        assert_eq!(left, std::slice::from_ref(&third));
        let settlement = Settlement {
            call: third,
            verdict: SettlementVerdict::Happened,
            by: SettledBy::Operator,
            envelope: output(json!("done")),
            settled_at_ms: 5_000,
        };
        let settled = cutting().resolve(settlement).await.unwrap();
        assert_eq!(
            (settled.status, settled.verdict),
            (CallStatus::Succeeded, Some(SettlementVerdict::Happened))
        );
        let again = journal.open_run(run("r"), request("two")).await.unwrap();
        assert_eq!(again.fencing_token, 2);
        cutting().close_run(again).await.unwrap();
        expect![[r#"
            1 r/main/0/1/1 read succeeded
            2 r/main/0/1/2 write refused
            5 r/main/0/1/3 write succeeded
        "#]]
        .assert_eq(&lines(&all_calls(&journal).await));
        assert_eq!(journal.verify().await.unwrap(), [], "{cut:?}");
        assert!(proxy.cuts() >= 8, "{cut:?}: {} cuts", proxy.cuts());
    }
}

#[tokio::test]
async fn a_conflict_is_one_after_a_cut_too() {
    let proxy = Proxy::start(Server::shared().port());
    let journal = connect(&url_through(&proxy, &Server::shared().database())).await;
    open(&journal, "r").await.unwrap();
    record(&journal, call(&scope("r"), 1, Effect::Once), CallStatus::Succeeded).await.unwrap();
    let other = call_of(&scope("r"), 1, ("write", Effect::Once), r#"{"path":"another"}"#);
    proxy.cut_next(Cut::BeforeAnswer);
    let result = journal.intend(other).await;
    assert!(matches!(result, Err(JournalError::Conflict { .. })), "{result:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_journals_share_a_database_and_only_one_has_a_run() {
    let url = Server::shared().url();
    let (first, second) = (connect(&url).await, connect(&url).await);
    let lease = first.open_run(run("r"), request("one")).await.unwrap();
    let refused = second.open_run(run("r"), request("two")).await.unwrap_err();
    let JournalError::LeaseHeld { holder } = &refused else { panic!("{refused:?}") };
    assert_eq!((holder.owner.location.as_str(), holder.fencing_token), ("process one", 1));

    let intent = first.intend(call(&scope("r"), 1, Effect::Once)).await.unwrap();
    // Its time is over, as if it had not been heard of for long.
    first.renew_lease(lease, brief_request("one")).await.unwrap();
    let taken = second.open_run(run("r"), request("two")).await.unwrap();
    assert_eq!(taken.fencing_token, 2);
    let late = first.settle(intent, outcome(CallStatus::Succeeded)).await.unwrap_err();
    let JournalError::Fenced { fencing_token: 1, by: Some(by), .. } = &late else {
        panic!("{late:?}")
    };
    assert_eq!(by.location, "process two");
    assert_eq!(second.late_outcomes(&taken.run).await.unwrap().len(), 1);
    let rows = all_calls(&second).await;
    assert_eq!((rows[0].status, &rows[0].envelope), (CallStatus::Unknown, &None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_journals_that_write_a_follower_sees_every_change_in_order() {
    const TASKS: u32 = 8;
    const CALLS: u32 = 30;
    let url = Server::shared().url();
    let journals = [Arc::new(connect(&url).await), Arc::new(connect(&url).await)];
    open(&*journals[0], "r").await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for (number, journal) in (0..).zip(&journals) {
        for task in 0..TASKS {
            let journal = Arc::clone(journal);
            let scope = AttemptAddress { iteration: number * TASKS + task, ..scope("r") };
            tasks.spawn(async move {
                for seq in 1..=CALLS {
                    let effect = if seq % 2 == 0 { Effect::Read } else { Effect::Once };
                    record(&*journal, call(&scope, seq, effect), CallStatus::Succeeded)
                        .await
                        .unwrap();
                }
            });
        }
    }
    let expected = (journals.len() as u32 * TASKS * CALLS) as usize;
    let mut seen: Vec<CallRow> = Vec::new();
    while seen.iter().filter(|row| row.status == CallStatus::Succeeded).count() < expected {
        let after_change = seen.last().map(|row| row.change);
        let query = CallQuery { after_change, order: CallOrder::Change, ..CallQuery::default() };
        seen.extend(journals[1].calls(query).await.unwrap());
    }
    while let Some(task) = tasks.join_next().await {
        task.unwrap();
    }
    assert!(seen.windows(2).all(|pair| pair[0].change < pair[1].change));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_bring_a_new_database_up_to_date_at_once() {
    let url = Server::shared().url();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..4 {
        let url = url.clone();
        tasks.spawn(async move {
            let journal = connect(&url).await;
            open(&journal, &format!("run-{number}")).await.unwrap();
        });
    }
    while let Some(task) = tasks.join_next().await {
        task.unwrap();
    }
    let journal = connect(&url).await;
    assert_eq!(journal.runs(Default::default()).await.unwrap().len(), 4);
}

#[tokio::test]
async fn texts_hold_what_postgresql_cannot() {
    let journal = connect(&Server::shared().url()).await;
    let lease = journal
        .open_run(
            haft_journal::NewRun { root: "/a\0b\u{1a}0".to_owned(), ..run("r") },
            request("o\0ne"),
        )
        .await
        .unwrap();
    assert_eq!(lease.owner.id, "o\0ne");
    let named = PlannedCall {
        tool: "a\0\u{1a}1".to_owned(),
        driver_call_id: Some("\0".to_owned()),
        ..call(&scope("r"), 1, Effect::Once)
    };
    let intent = journal.intend(named.clone()).await.unwrap();
    let ended =
        haft_journal::Outcome { envelope: output(json!("x\0y")), ..outcome(CallStatus::Succeeded) };
    journal.settle(intent, ended.clone()).await.unwrap();
    let row = journal.by_driver_id(&scope("r"), "\0").await.unwrap().unwrap();
    assert_eq!((&row.tool, &row.driver_call_id), (&named.tool, &named.driver_call_id));
    assert_eq!(row.parsed_envelope().unwrap(), Some(ended.envelope));
    assert!(journal.by_driver_id(&scope("r"), "\u{1a}0").await.unwrap().is_none());
    let runs = journal.runs(Default::default()).await.unwrap();
    assert_eq!(runs[0].root, "/a\0b\u{1a}0");
    assert_eq!(runs[0].holder.as_ref().unwrap().owner.id, "o\0ne");
}

#[tokio::test]
async fn the_view_has_a_row_for_every_call_that_is_not_open() {
    let server = Server::shared();
    let database = server.database();
    let journal = connect(&server.url_of(&database)).await;
    open(&journal, "r").await.unwrap();
    record(&journal, call(&scope("r"), 1, Effect::Once), CallStatus::Succeeded).await.unwrap();
    record(&journal, call(&scope("r"), 2, Effect::Read), CallStatus::Failed).await.unwrap();
    drop(journal.intend(call(&scope("r"), 3, Effect::Once)).await.unwrap());
    let holder = journal.lease_holders().await.unwrap().remove(0);
    journal.abandon_run(holder).await.unwrap();
    let again = journal.open_run(run("r"), request("two")).await.unwrap();
    let open =
        PlannedCall { fencing_token: again.fencing_token, ..call(&scope("r"), 4, Effect::Once) };
    drop(journal.intend(open).await.unwrap());
    expect![[r#"
        r|main|0|1|1|write|{"path":"file-1"}|"ok"|2010|3000|success||r|main|write|{"path":"file-1"}|"ok"|2010|3000|
        r|main|0|1|2|read|{"path":"file-2"}||2020|3000|error|{"code":"TOOL_PATH_INVALID","message":"there is no file \"a\""}|r|main|read|{"path":"file-2"}||2020|3000|{"code":"TOOL_PATH_INVALID","message":"there is no file \"a\""}
        r|main|0|1|3|write|{"path":"file-3"}||2030||error|{"code":"IN_DOUBT","message":"haft ended before it was told how the call ended"}|r|main|write|{"path":"file-3"}||2030||{"code":"IN_DOUBT","message":"haft ended before it was told how the call ended"}
    "#]]
    .assert_eq(&server.ask(&database, "SELECT * FROM haft._smithers_tool_calls ORDER BY seq"));
}

#[tokio::test]
async fn the_view_cuts_an_output_before_the_character_that_crosses_the_bound() {
    let server = Server::shared();
    let database = server.database();
    let journal = connect(&server.url_of(&database)).await;
    open(&journal, "r").await.unwrap();
    // The quotes of the JSON string count; of a cut one only the first is left.
    let room = haft_journal::limits::VIEW_OUTPUT_BYTES_MAX - 1;
    let mut expected = String::new();
    let mut seq = 0;
    for character in ["y", "ä", "€", "\u{1F600}"] {
        for left in 0..=character.len() {
            seq += 1;
            let text = format!("{}{character}zzzz", "x".repeat(room - left));
            let intent = journal.intend(call(&scope("r"), seq, Effect::Read)).await.unwrap();
            let ended = haft_journal::Outcome {
                envelope: output(json!(text)),
                ..outcome(CallStatus::Succeeded)
            };
            journal.settle(intent, ended).await.unwrap();
            let kept = if left == character.len() { left } else { 0 };
            expected.push_str(&format!(
                "{}|{}\n",
                room + 1 - left + kept,
                if kept > 0 { character } else { "x" }
            ));
        }
    }
    let ask = "SELECT octet_length(output_json), right(output_json, 1) FROM haft._smithers_tool_calls ORDER BY seq";
    assert_eq!(server.ask(&database, ask), expected);
}

/// A database as the first version made it, with a call that was settled after its process had died.
const VERSION_1: &str = concat!(
    "CREATE SCHEMA haft; \
     CREATE TABLE haft.schema_version (id bigint PRIMARY KEY CHECK (id = 1), version bigint NOT NULL); \
     INSERT INTO haft.schema_version (id, version) VALUES (1, 1);",
    include_str!("../../src/postgres/schema/1.sql"),
    "INSERT INTO haft.runs (id, front_end, root, version, started_at_ms, settings, epoch) \
     VALUES ('r', 'cli', '/project', '0.1.0', 1000, '{}', 1); \
     INSERT INTO haft.calls (change, run, node, iteration, attempt, seq, tool, effect, status, verdict, settled_by, epoch, \
     started_at_ms, finished_at_ms, first_key, call_key, input, accesses, envelope) \
     VALUES (2, 'r', 'main', 0, 1, 1, 'bash', 'once', 'succeeded', 'happened', 'operator', 1, 2000, 3000, 'KEY', 'KEY', \
     '{\"cmd\":\"ls\"}', '[]', '{\"type\":\"output\",\"data\":\"ok\",\"metadata\":{\"duration_ms\":1}}'); \
     UPDATE haft.changes SET last = 2;",
);

#[tokio::test]
async fn a_database_of_the_first_version_is_brought_up_to_date() {
    let server = Server::shared();
    let database = server.database();
    let key = CallKey::of_first_call(&scope("r"), "bash", r#"{"cmd":"ls"}"#).to_string();
    server.ask(&database, &VERSION_1.replace("KEY\'", &format!("{key}\'")));
    let journal = connect(&server.url_of(&database)).await;
    let rows = all_calls(&journal).await;
    expect!["2 r/main/0/1/1 bash succeeded\n"].assert_eq(&lines(&rows));
    let unheard = async || {
        let state = journal.attempt_state(&scope("r")).await.unwrap();
        state.unacknowledged.iter().map(|call| call.seq).collect::<Vec<_>>()
    };
    assert_eq!(unheard().await, [1]);
    journal.acknowledge(rows[0].id()).await.unwrap();
    assert_eq!(unheard().await, [] as [u32; 0]);
    assert_eq!(journal.verify().await.unwrap(), []);
    assert_eq!(server.ask(&database, "SELECT version FROM haft.schema_version"), "8\n");
    // Queries that people wrote work for one more release.
    let old = [
        (
            "SELECT id, epoch, owner_place, fruitless, fruitless_since, is_going FROM haft.runs",
            "r|1||0|0|f\n",
        ),
        ("SELECT seq, epoch, heard FROM haft.calls", "1|1|t\n"),
        ("SELECT count(*) FROM haft.chat_sessions, haft.chat_messages, haft.chat_parts", "0\n"),
        ("SELECT epoch FROM haft.late_outcomes", ""),
    ];
    for (question, answer) in old {
        assert_eq!(server.ask(&database, question), answer, "{question}");
    }
}

async fn check_no_journal(url: &str, expect: Expect) {
    let err = PostgresJournal::connect(url).await.unwrap_err().to_string();
    let port = Server::shared().port().to_string();
    let database = url.rsplit('/').next().unwrap();
    expect.assert_eq(&err.replace(&port, "PORT").replace(&format!("/{database}"), "/DATABASE"));
}

#[tokio::test]
async fn what_is_no_journal_is_said_to_be_none() {
    let server = Server::shared();
    let port = server.port();
    let foreign = server.database();
    server.ask(&foreign, "CREATE SCHEMA haft; CREATE TABLE haft.cups (id int)");
    check_no_journal(&server.url_of(&foreign), expect!["postgres://127.0.0.1:PORT/DATABASE is not a haft journal: its schema `haft` belongs to another program; name another file"]).await;
    let newer = server.database();
    drop(connect(&server.url_of(&newer)).await);
    server.ask(&newer, "UPDATE haft.schema_version SET version = 99");
    check_no_journal(&server.url_of(&newer), expect!["journal postgres://127.0.0.1:PORT/DATABASE has schema version 99 and this haft knows versions up to 8: use the newer haft that wrote it, or another journal file"]).await;
    let latin = server.database();
    server.ask("postgres", &format!("DROP DATABASE {latin}"));
    server.ask("postgres", &format!("CREATE DATABASE {latin} ENCODING LATIN1 TEMPLATE template0"));
    check_no_journal(&server.url_of(&latin), expect!["postgres://127.0.0.1:PORT/DATABASE is not a haft journal: its encoding is LATIN1; expected UTF8, which holds every text; name another file"]).await;
    check_no_journal(&format!("postgres://haft:secret@127.0.0.1:{port}/nowhere"), expect![[r#"cannot reach journal postgres://127.0.0.1:PORT/DATABASE: FATAL: database "nowhere" does not exist; check the URL, and that the server runs and lets you in"#]])
        .await;
    check_no_journal(
        &format!("postgres://stranger:secret@127.0.0.1:{port}/postgres"),
        expect![[r#"cannot reach journal postgres://127.0.0.1:PORT/DATABASE: FATAL: role "stranger" does not exist; check the URL, and that the server runs and lets you in"#]],
    )
    .await;
    check_no_journal("postgres://haft:secret@127.0.0.1:1/haft", expect!["cannot reach journal postgres://127.0.0.1:1/DATABASE: error connecting to server: Connection refused (os error 111); check the URL, and that the server runs and lets you in"]).await;
    check_no_journal("mysql://haft:secret@127.0.0.1/haft", expect!["cannot reach journal postgres: expected a URL that begins with postgres://; check the URL, and that the server runs and lets you in"]).await;
    check_no_journal("postgres://haft:secret@127.0.0.1/haft?sslmode=maybe", expect![[r#"cannot reach journal postgres://127.0.0.1:5432/haft: sslmode is "maybe"; expected disable, prefer, require, verify-ca or verify-full; check the URL, and that the server runs and lets you in"#]]).await;
    check_no_journal(
        &format!("postgres://haft:secret@127.0.0.1:{port}/haft?sslmode=require"),
        expect!["cannot reach journal postgres://127.0.0.1:PORT/haft: error performing TLS handshake: server does not support TLS; check the URL, and that the server runs and lets you in"],
    )
    .await;
}

#[tokio::test]
async fn an_empty_schema_made_for_haft_is_used() {
    let server = Server::shared();
    let database = server.database();
    server.ask(&database, "CREATE SCHEMA haft");
    open(&connect(&server.url_of(&database)).await, "r").await.unwrap();
}

#[tokio::test]
async fn a_number_beyond_a_column_takes_nobody_else_with_it() {
    let journal = connect(&Server::shared().url()).await;
    open(&journal, "r").await.unwrap();
    let beyond = PlannedCall { started_at_ms: u64::MAX, ..call(&scope("r"), 1, Effect::Once) };
    let (refused, recorded) =
        tokio::join!(journal.intend(beyond), journal.intend(call(&scope("r"), 2, Effect::Once)),);
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("18446744073709551615 is more than a column holds"), "{message}");
    drop(recorded.unwrap());
    assert_eq!(all_calls(&journal).await.len(), 1);
}

/// A server that forgot a lease would give its fencing token to another owner.
#[tokio::test]
async fn a_lease_outlives_a_crash_of_the_server() {
    let server = Server::start("fsync = on");
    let url = server.url();
    let journal = connect(&url).await;
    let lease = open(&journal, "r").await.unwrap();
    server.crash();
    server.restart();
    let refused = connect(&url).await.open_run(run("r"), request("two")).await;
    assert!(matches!(refused, Err(JournalError::LeaseHeld { .. })), "{refused:?}");
    record(&journal, call(&scope("r"), 1, Effect::Once), CallStatus::Succeeded).await.unwrap();
    journal.close_run(lease).await.unwrap();
    server.crash();
    server.restart();
    assert_eq!(journal.lease_holders().await.unwrap(), []);
}

/// Returns what a server whose certificate names `localhost` is to a URL with these parameters.
async fn trusted(server: &Server, host: &str, parameters: &str) -> String {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/postgres-tls");
    let parameters = parameters.replace("DATA", data);
    let url = format!("postgres://haft@{host}:{}/postgres?{parameters}", server.port());
    match PostgresJournal::connect(&url).await {
        Ok(journal) => {
            drop(journal.lease_holders().await.unwrap());
            let ask = "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                       WHERE application_name LIKE 'haft %'";
            format!("encrypted: {}", server.ask("postgres", ask).trim())
        }
        Err(err) => err.to_string().replace(&server.port().to_string(), "PORT"),
    }
}

#[tokio::test]
async fn a_server_is_trusted_as_the_url_says() {
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/postgres-tls");
    let settings = "ssl = on\nssl_cert_file = 'server.pem'\nssl_key_file = 'server.key'";
    let server = Server::start_with(settings, |directory| {
        for name in ["server.pem", "server.key"] {
            std::fs::copy(data.join(name), directory.join(name)).unwrap();
        }
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(directory.join("server.key"), private).unwrap();
    });
    let mut told = String::new();
    for (host, parameters) in [
        ("127.0.0.1", "sslmode=disable"),
        ("127.0.0.1", ""),
        ("127.0.0.1", "sslmode=require"),
        ("127.0.0.1", "sslmode=verify-ca&sslrootcert=DATA/authority.pem"),
        ("127.0.0.1", "sslmode=verify-full&sslrootcert=DATA/authority.pem"),
        ("localhost", "sslmode=verify-full&sslrootcert=DATA/authority.pem"),
        ("localhost", "sslmode=require&sslrootcert=DATA/another-authority.pem"),
        ("localhost", "sslmode=verify-full&sslrootcert=/no/such/file"),
    ] {
        let result = trusted(&server, host, parameters).await;
        told.push_str(&format!("{host} {parameters}: {result}\n"));
    }
    expect![[r#"
        127.0.0.1 sslmode=disable: encrypted: f
        127.0.0.1 : encrypted: t
        127.0.0.1 sslmode=require: encrypted: t
        127.0.0.1 sslmode=verify-ca&sslrootcert=DATA/authority.pem: encrypted: t
        127.0.0.1 sslmode=verify-full&sslrootcert=DATA/authority.pem: cannot reach journal postgres://127.0.0.1:PORT/postgres: error performing TLS handshake: invalid peer certificate: certificate not valid for name "127.0.0.1"; certificate is only valid for DnsName("localhost"); check the URL, and that the server runs and lets you in
        localhost sslmode=verify-full&sslrootcert=DATA/authority.pem: encrypted: t
        localhost sslmode=require&sslrootcert=DATA/another-authority.pem: cannot reach journal postgres://localhost:PORT/postgres: error performing TLS handshake: invalid peer certificate: UnknownIssuer; check the URL, and that the server runs and lets you in
        localhost sslmode=verify-full&sslrootcert=/no/such/file: cannot reach journal postgres://localhost:PORT/postgres: cannot read the authorities in /no/such/file: I/O error: No such file or directory (os error 2); check the URL, and that the server runs and lets you in
    "#]]
    .assert_eq(&told);
}

/// A client that locks the tables that haft writes to, until dropped.
struct Blocker(std::process::Child);

impl Blocker {
    fn of(server: &Server, database: &str) -> Self {
        let lock = "BEGIN; SELECT FROM haft.changes WHERE id = 1 FOR UPDATE; SELECT pg_sleep(3600)";
        let blocker = Self(server.begin(database, lock));
        let sleeps = "SELECT count(*) FROM pg_stat_activity \
                      WHERE datname = current_database() AND wait_event = 'PgSleep'";
        while server.ask(database, sleeps).trim() != "1" {}
        blocker
    }
}

impl Drop for Blocker {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_is_waited_for_until_the_bound() {
    let server = Server::start("client_connection_check_interval = 100");
    let database = server.database();
    let journal = connect(&server.url_of(&database)).await;
    open(&journal, "r").await.unwrap();
    let blocker = Blocker::of(&server, &database);
    let planned = call(&scope("r"), 1, Effect::Once);
    let locked = journal.intend(planned.clone()).await.unwrap_err();
    let place = format!("127.0.0.1:{}/{database}", server.port());
    expect!["journal postgres://PLACE stayed locked by another process for 10000 ms: end the program that holds it and try again"]
        .assert_eq(&locked.to_string().replace(&place, "PLACE"));
    assert_eq!(all_calls(&journal).await, []);
    drop(blocker);
    record(&journal, planned, CallStatus::Succeeded).await.unwrap();
    assert_eq!(all_calls(&journal).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_says_nothing_is_given_up() {
    // The system accepts every connection, and no server answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://haft@{}/silent", silent.local_addr().unwrap());
    let refused = PostgresJournal::connect(&url).await.unwrap_err();
    let message = refused.to_string().replace(&silent.local_addr().unwrap().to_string(), "PLACE");
    expect!["cannot reach journal postgres://PLACE/silent: the server gave no answer for 10000 ms; check the URL, and that the server runs and lets you in"].assert_eq(&message);
}
