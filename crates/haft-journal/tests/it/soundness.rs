//! The findings of `verify` in a file that another program has changed. Each case breaks one promise of haft.

use std::path::Path;

use expect_test::{Expect, expect};
use haft_contract::Effect;
use haft_journal::limits::FINDINGS_MAX;
use haft_journal::{CallStatus, Journal, JournalFinding, SqliteJournal};
use rusqlite::Connection;

use crate::fixture::{call, open, record, scope};

/// Records two settled calls and an open one.
async fn prepare(path: &Path) -> SqliteJournal {
    let journal = SqliteJournal::open(path).unwrap();
    open(&journal, "r").await.unwrap();
    record(&journal, call(&scope("r"), 1, Effect::Once), CallStatus::Succeeded).await.unwrap();
    record(&journal, call(&scope("r"), 2, Effect::Read), CallStatus::Failed).await.unwrap();
    drop(journal.intend(call(&scope("r"), 3, Effect::Once)).await.unwrap());
    journal
}

async fn check(breakage: &str, expect: Expect) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = prepare(&path).await;
    let other = Connection::open(&path).unwrap();
    other.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON").unwrap();
    other.execute_batch(breakage).unwrap();
    let text = |finding: JournalFinding| format!("{}: {}\n", finding.rule, finding.detail);
    let found: String = journal.verify().await.unwrap().into_iter().map(text).collect();
    expect.assert_eq(&found);
}

#[tokio::test]
async fn columns_that_do_not_fit_are_found() {
    check("SELECT 1", expect![[r#""#]]).await;
    check(
        "UPDATE calls SET seq = 0 WHERE seq = 1",
        expect![[r#"
        numbers count from 1: call r/main/0/1/0
    "#]],
    )
    .await;
    check(
        "UPDATE calls SET status = 'intended' WHERE seq = 2",
        expect![[r#"
        a status fits its row: call r/main/0/1/2 (read) is intended with an envelope and an end
    "#]],
    )
    .await;
    check(
        "UPDATE calls SET envelope = NULL WHERE seq = 1",
        expect![[r#"
        a status fits its row: call r/main/0/1/1 (once) is succeeded with no envelope and an end
    "#]],
    )
    .await;
    check(
        "UPDATE calls SET finished_at_ms = NULL WHERE seq = 1",
        expect![[r#"
        a status fits its row: call r/main/0/1/1 (once) is succeeded with an envelope and no end
    "#]],
    )
    .await;
    check(
        "UPDATE calls SET verdict = 'not_happened', settled_by = 'probe' WHERE seq = 1",
        expect![[r#"
            a verdict fits its row: call r/main/0/1/1 is succeeded with not_happened
        "#]],
    )
    .await;
    check(
        "UPDATE calls SET settled_by = 'probe' WHERE seq = 1",
        expect![[r#"
        a verdict fits its row: call r/main/0/1/1 is succeeded with no verdict
    "#]],
    )
    .await;
}

#[tokio::test]
async fn texts_that_are_no_json_are_found() {
    check(
        "UPDATE calls SET envelope = '{' WHERE seq = 1; UPDATE calls SET input = 'x', accesses = '', details = '[' WHERE seq = 3",
        expect![[r#"
            envelopes are JSON: call r/main/0/1/1: EOF while parsing an object at line 1 column 1
            inputs are JSON: call r/main/0/1/3: expected value at line 1 column 1
            accesses are JSON: call r/main/0/1/3: EOF while parsing a value at line 1 column 0
            details are JSON: call r/main/0/1/3: EOF while parsing a list at line 1 column 1
        "#]],
    )
    .await;
}

#[tokio::test]
async fn keys_and_epochs_that_are_wrong_are_found() {
    check(
        "UPDATE calls SET call_key = upper(call_key) WHERE seq = 1",
        expect![[r#"
        keys are 64 hexadecimal digits: call r/main/0/1/1
    "#]],
    )
    .await;
    check(
        "UPDATE calls SET call_key = (SELECT call_key FROM calls WHERE seq = 1) WHERE seq = 2",
        expect![[r#"
            a key stands for one call: call r/main/0/1/2 shares its key
        "#]],
    )
    .await;
    check(
        "UPDATE calls SET fencing_token = 2 WHERE seq IN (1, 3)",
        expect![[r#"
        fencing tokens are those of the run: call r/main/0/1/1 has fencing token 2 and its run 1
        fencing tokens are those of the run: call r/main/0/1/3 has fencing token 2 and its run 1
        open calls have an owner: call r/main/0/1/3 is open, and no process has its fencing token 2
    "#]],
    )
    .await;
    check(
        "UPDATE runs SET owner_id = NULL",
        expect![[r#"
        open calls have an owner: call r/main/0/1/3 is open, and no process has its fencing token 1
    "#]],
    )
    .await;
    check(
        "UPDATE runs SET settings = 'no'",
        expect![[r#"
        settings are JSON: run r: expected ident at line 1 column 2
    "#]],
    )
    .await;
    check(
        "INSERT INTO calls SELECT 9, NULL, run, node, iteration, attempt, 9, fencing_token, tool, effect, status, verdict, settled_by, acknowledged, held_back, \
         started_at_ms, finished_at_ms, first_key, call_key, driver_call_id, input, accesses, details, envelope \
         FROM calls WHERE seq = 3",
        expect![[r#"
            a call is open once: call r/main/0/1/9 is open under number 3 too
        "#]],
    )
    .await;
}

#[tokio::test]
async fn rows_that_make_no_sense_or_belong_nowhere_are_found() {
    check(
        "UPDATE calls SET status = 'done', attempt = -1 WHERE seq = 1",
        expect![[r#"
        rows make sense: column attempt holds -1, of which this haft can make no sense
    "#]],
    )
    .await;
    check(
        "UPDATE calls SET run = 's' WHERE seq = 1",
        expect![[r#"
        rows belong to runs: row Some(1) of table calls
        calls belong to runs: call s/main/0/1/1 has no run
    "#]],
    )
    .await;
    check(
        "INSERT INTO late_outcomes VALUES (1, 'r', 'main', 0, 1, 3, 1, 'write', 'intended', 1, 'x')",
        expect![[r#"
            envelopes are JSON: the late outcome of call r/main/0/1/3: expected value at line 1 column 1
            late outcomes have ended: the late outcome of call r/main/0/1/3 is intended
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_damaged_page_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    drop(prepare(&path).await);
    let root: i64 = Connection::open(&path)
        .unwrap()
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'calls_by_place'", [], |row| {
            row.get(0)
        })
        .unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let begin = (root as usize - 1) * 4_096;
    bytes[begin..begin + 4_096].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let journal = SqliteJournal::open(&path).unwrap();
    let rules: Vec<String> =
        journal.verify().await.unwrap().into_iter().map(|finding| finding.rule).collect();
    let is_said = |rule: &String| rule == "the file is whole" || rule == "the file can be read";
    assert!(!rules.is_empty() && rules.iter().all(is_said), "{rules:?}");
}

#[tokio::test]
async fn findings_end_at_the_bound() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = prepare(&path).await;
    let copies = format!(
        "WITH RECURSIVE n (n) AS (VALUES (10) UNION ALL SELECT n + 1 FROM n WHERE n < {FINDINGS_MAX} + 20) \
         INSERT INTO calls SELECT n, n, run, node, iteration, attempt, n, 7, tool, effect, status, verdict, settled_by, acknowledged, held_back, \
         started_at_ms, finished_at_ms, first_key, call_key, driver_call_id, input, accesses, details, envelope \
         FROM calls, n WHERE seq = 1"
    );
    Connection::open(&path).unwrap().execute_batch(&copies).unwrap();
    assert_eq!(journal.verify().await.unwrap().len(), FINDINGS_MAX);
}
