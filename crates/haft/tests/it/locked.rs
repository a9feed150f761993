//! Another program keeps the journal's file locked for longer than haft waits: nothing executes that has no row, what was
//! executed is in doubt until its end is recorded, and with the lock gone it goes on. The lock is held until the error has
//! come, however long haft waits.

use std::path::Path;
use std::sync::Arc;

use expect_test::{Expect, expect};
use haft::{Call, ResumeMode, RunError};
use haft_contract::{Effect, RunId, Tool, ToolError};
use haft_journal::{CallStatus, SqliteJournal};
use rusqlite::Connection;
use serde_json::json;
use tokio::sync::Notify;

use crate::stage::{Counter, Setting, Stage, Text};

/// A runtime beside which another program has the journal's file open.
struct Shared {
    place: tempfile::TempDir,
    other: Connection,
    orders: Counter,
    begun: Arc<Notify>,
    go_on: Arc<Notify>,
}

impl Shared {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        drop(SqliteJournal::open(place.path().join("journal.db")).unwrap());
        let other = Connection::open(place.path().join("journal.db")).unwrap();
        let (begun, go_on) = Default::default();
        Self { place, other, orders: Counter::default(), begun, go_on }
    }

    async fn stage(&self, owner: &'static str) -> Stage {
        let (orders, begun, go_on) =
            (self.orders.clone(), Arc::clone(&self.begun), Arc::clone(&self.go_on));
        let order = Tool::new("order").effect(Effect::Once).execute(move |input: Text| {
            let (orders, begun, go_on) = (orders.clone(), Arc::clone(&begun), Arc::clone(&go_on));
            async move {
                orders.add();
                if input.text == "slowly" {
                    begun.notify_one();
                    go_on.notified().await;
                }
                Ok::<_, ToolError>(format!("ordered {}", input.text))
            }
        });
        let journal = Arc::new(SqliteJournal::open(self.place.path().join("journal.db")).unwrap());
        let (tools, root) = (vec![order], Some(self.place.path().join("root")));
        Stage::new(Setting { tools, journal, owner, root, ..Setting::default() }).await
    }

    fn lock(&self) {
        self.other.execute_batch("BEGIN IMMEDIATE").unwrap();
    }

    fn unlock(&self) {
        self.other.execute_batch("ROLLBACK").unwrap();
    }
}

fn order(text: &str) -> Call {
    Call::new("order", json!({ "text": text }))
}

fn check(err: RunError, place: &Path, expect: Expect) {
    expect.assert_eq(&err.to_string().replace(place.to_str().unwrap(), "PLACE"));
}

#[tokio::test]
async fn without_a_row_nothing_is_executed() {
    let shared = Shared::new();
    let stage = shared.stage("first").await;
    stage.run.call(order("milk")).await.unwrap();
    shared.lock();
    let err = stage.run.call(order("tea")).await.unwrap_err();
    check(
        err,
        shared.place.path(),
        expect![
            "journal PLACE/journal.db stayed locked by another process for 10000 ms: end the program that holds it and try again"
        ],
    );
    assert_eq!(shared.orders.count(), 1);
    // A reader does not wait for the lock.
    assert_eq!(stage.journal().await, "1 order succeeded {\"text\":\"milk\"}\n");
    shared.unlock();
    assert_eq!(stage.run.call(order("tea")).await.unwrap().text(), "ordered tea");
    assert_eq!(shared.orders.count(), 2);
    expect![[r#"
        1 order succeeded {"text":"milk"}
        3 order succeeded {"text":"tea"}
    "#]]
    .assert_eq(&stage.journal().await);
}

#[tokio::test]
async fn an_effect_whose_end_cannot_be_recorded_is_in_doubt() {
    let shared = Shared::new();
    let stage = shared.stage("dead").await;
    let run = stage.run.clone();
    let calling = tokio::spawn(async move { run.call(order("slowly")).await });
    shared.begun.notified().await;
    shared.lock();
    shared.go_on.notify_one();
    let err = calling.await.unwrap().unwrap_err();
    check(
        err,
        shared.place.path(),
        expect![
            "call r1/main/0/1/1 was begun and its end could not be recorded, so it is in doubt: journal PLACE/journal.db stayed locked by another process for 10000 ms: end the program that holds it and try again"
        ],
    );
    shared.unlock();
    assert_eq!(stage.run.call(order("tea")).await.unwrap().text(), "ordered tea");
    let statuses: Vec<CallStatus> = stage.rows().await.into_iter().map(|row| row.status).collect();
    assert_eq!(statuses, [CallStatus::Intended, CallStatus::Succeeded]);

    let next = shared.stage("next").await;
    let replay = next.session.resume(RunId::parse("r1").unwrap(), ResumeMode::Replay);
    let in_doubt = replay.call(order("slowly")).await.unwrap();
    expect!["in doubt: order was begun as call r1/main/0/1/1 and its end was never recorded, so it may or may not have happened. It is not repeated."].assert_eq(&in_doubt.text());
    assert_eq!(shared.orders.count(), 2);
    assert_eq!(next.runtime.journal().verify().await.unwrap(), []);
}
