//! Tests the rows of calls in the journal.

use std::sync::Arc;

use expect_test::expect;
use haft::{Call, RunError, TaskAttempt};
use haft_contract::{Cx, Effect, ErrorCode, Tool, ToolError};
use haft_faults::JournalMethod;
use haft_journal::CallStatus;
use serde_json::json;

use crate::faulty::FaultyJournal;
use crate::stage::{Counter, Setting, Stage, Text};

fn keys() -> Tool {
    Tool::new("keys")
        .effect(Effect::Once)
        .redacted(&["text"])
        .execute_with(|_: Text, cx: Cx| async move { Ok::<_, ToolError>(cx.idempotency_key()) })
}

async fn stage() -> Stage {
    Stage::new(Setting { tools: vec![keys()], ..Setting::default() }).await
}

#[tokio::test]
async fn bodies_are_stored_as_size_and_digest_only() {
    let stage = stage().await;
    stage.call("keys", json!({"text": "a secret body"})).await;
    expect![[r#"
        1 keys succeeded {"text":{"bytes":13,"sha256":"772717769d4f3c8f1d207f9cd1e8099657de33002ec15ae0dd772f0ed9070bf2"}}
    "#]].assert_eq(&stage.journal().await);
}

#[tokio::test]
async fn keys_are_the_same_in_a_retry_and_differ_between_calls() {
    let stage = stage().await;
    let key = async |text: &str, attempt: u32| {
        let mut call = Call::new("keys", json!({"text": text}));
        call.task_attempt = TaskAttempt { attempt, ..TaskAttempt::default() };
        stage.run.call(call).await.unwrap().text()
    };
    let first = [key("a", 1).await, key("b", 1).await, key("a", 1).await];
    assert!(first[0] != first[1] && first[0] != first[2] && first[1] != first[2]);
    let retried_in_another_order = [key("b", 2).await, key("a", 2).await, key("a", 2).await];
    assert_eq!(retried_in_another_order, [first[1].clone(), first[0].clone(), first[2].clone()]);
}

#[tokio::test]
async fn calls_at_the_same_time_are_numbered_without_gaps() {
    let stage = stage().await;
    let calls = (0..16).map(|number| {
        let run = stage.run.clone();
        tokio::spawn(async move {
            run.call(Call::new("keys", json!({"text": number.to_string()}))).await
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap().unwrap();
    }
    let mut numbers: Vec<u32> = stage.rows().await.iter().map(|row| row.seq).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=16).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_second_session_goes_on_with_the_numbers_of_a_run() {
    let stage = stage().await;
    stage.call("keys", json!({"text": "a"})).await;
    let again = stage.session.run(stage.run.id().clone());
    let repeated = again.call(Call::new("keys", json!({"text": "a"}))).await.unwrap();
    let rows = stage.rows().await;
    assert_eq!(rows.iter().map(|row| row.seq).collect::<Vec<_>>(), [1, 2]);
    assert_ne!(
        rows[0].call_key, rows[1].call_key,
        "the second such call of an attempt is another call"
    );
    assert_eq!(repeated.metadata().call_id.as_deref(), Some("r1/main/0/1/2"));
}

#[tokio::test]
async fn a_place_that_is_not_valid_is_an_error_before_anything_happens() {
    let stage = stage().await;
    for place in [
        TaskAttempt { node: "a/b".to_owned(), ..TaskAttempt::default() },
        TaskAttempt { node: String::new(), ..TaskAttempt::default() },
        TaskAttempt { attempt: 0, ..TaskAttempt::default() },
    ] {
        let mut call = Call::new("keys", json!({"text": "a"}));
        call.task_attempt = place;
        assert!(matches!(stage.run.call(call).await, Err(RunError::Scope(_))));
    }
    assert!(stage.rows().await.is_empty());
}

#[tokio::test]
async fn nothing_executes_without_an_intent_and_no_envelope_leaves_without_an_outcome() {
    let journal = Arc::new(FaultyJournal::default());
    let counter = Counter::default();
    let (executed, filling) = (counter.clone(), Arc::clone(&journal));
    let fills = Tool::new("fills").effect(Effect::Once).execute_with(move |_: Text, _: Cx| {
        executed.add();
        filling.fail_from(JournalMethod::Intend);
        async { Ok::<_, ToolError>("done") }
    });
    let setting = Setting { tools: vec![fills], journal, ..Setting::default() };
    let stage = Stage::new(setting).await;
    let call = || stage.run.call(Call::new("fills", json!({"text": "x"})));
    let unrecorded = matches!(call().await, Err(RunError::Unrecorded { .. }));
    assert!(unrecorded, "the outcome could not be recorded");
    // Of the very same call it is not known whether it happened; another one is begun and cannot be recorded.
    assert_eq!(call().await.unwrap().code(), Some(ErrorCode::InDoubt));
    let other = stage.run.call(Call::new("fills", json!({"text": "y"}))).await;
    assert!(matches!(other, Err(RunError::Journal(_))), "the intent could not be recorded");
    assert_eq!(counter.count(), 1);
    assert_eq!(
        stage.rows().await.iter().map(|row| row.status).collect::<Vec<_>>(),
        [CallStatus::Intended]
    );
}
