//! Tests the order of calls from their rows, and the reasons for missing snapshots.

use haft_contract::AttemptAddress;
use haft_journal::SettledBy;

use super::*;

fn row(fencing_token: u64, change: u64, started_at_ms: u64) -> CallRow {
    CallRow {
        change,
        scope: AttemptAddress {
            run: RunId::parse("r1").unwrap(),
            node: "main".into(),
            iteration: 0,
            attempt: 1,
        },
        seq: 1,
        tool: "bash".into(),
        effect: Effect::Once,
        status: CallStatus::Succeeded,
        started_at_ms,
        finished_at_ms: Some(started_at_ms),
        first_key: String::new(),
        call_key: String::new(),
        driver_call_id: None,
        input: "{}".into(),
        accesses: "[]".into(),
        fencing_token,
        details: None,
        envelope: None,
        verdict: None,
        settled_by: None,
    }
}

fn settled(row: CallRow) -> CallRow {
    CallRow { settled_by: Some(SettledBy::Operator), ..row }
}

#[test]
fn the_journal_orders_calls_and_not_the_clock() {
    let than = row(2, 10, 1_000);
    let check = |call: CallRow, expect: bool| {
        assert_eq!(came_later(&call, &than), expect, "{call:?}");
    };
    check(row(2, 11, 1_000), true);
    check(row(2, 9, 1_000), false);
    // The clock was set back between, or forth.
    check(row(2, 11, 1), true);
    check(row(2, 9, 2_000), false);
    check(row(3, 9, 1), true);
    check(row(1, 11, 2_000), false);
    // Settled long after they were made.
    check(settled(row(1, 20, 900)), false);
    check(settled(row(2, 20, 900)), false);
    check(settled(row(2, 20, 1_100)), true);
}

#[test]
fn what_a_call_was_to_do_is_read_and_not_searched_for() {
    let check = |accesses: &str, expect: &str| {
        let row = CallRow { accesses: accesses.to_owned(), ..row(1, 1, 1) };
        assert_eq!(missing_record_text(&row), expect, "{accesses}");
    };
    let off = "snapshots were off, or haft died before it could record what it did";
    let none = "it was to change no files";
    check(r#"[{"capability":"fs.write","path":"a"}]"#, off);
    check(r#"[ { "path": "a", "capability": "fs.write" } ]"#, off);
    check(r#"[{"capability":"fs.read","path":"a"}]"#, none);
    check(r#"[{"capability":"named","name":"x","note":{"capability":"fs.write"}}]"#, none);
    check("[]", none);
    check("no list", none);
}
