//! Tests runs whose lease is taken before the first call, and which process may write the run's session.

use std::path::Path;
use std::sync::Arc;

use expect_test::expect;
use haft::{Call, Run, RunError};
use haft_journal::{
    Journal, JournalError, MemoryJournal, MessageId, MessageKind, MessageQuery, MessageRole,
    RunQuery, SessionDurability, SessionId, SessionMessage, SessionMode, SessionRecord, SessionRow,
    SessionStatus, TokenCounts,
};

use serde_json::json;

use crate::refusals::counted;
use crate::stage::{Counter, Setting, Stage};

fn id() -> SessionId {
    SessionId::from_bits(7)
}

async fn process(journal: &Arc<dyn Journal>, owner: &'static str, root: &Path) -> (Stage, Run) {
    let (journal, root) = (Arc::clone(journal), Some(root.to_owned()));
    let stage = Stage::new(Setting { journal, owner, root, ..Setting::default() }).await;
    let run = stage.session.run(id().run());
    (stage, run)
}

fn session_record() -> SessionRecord {
    SessionRecord::Session(SessionRow {
        id: id(),
        parent_id: None,
        parent_tool_call_id: None,
        forked_from_id: None,
        forked_from_message_id: None,
        agent: "build".to_owned(),
        title: None,
        model: "acme/large".to_owned(),
        root: "/project".to_owned(),
        status: SessionStatus::Idle,
        mode: SessionMode::Foreground,
        inspectable: true,
        delivered: false,
        permissions_json: "{}".to_owned(),
        metadata_json: "{}".to_owned(),
        depth: 0,
        tokens: TokenCounts::default(),
        steps: 0,
        created_at_ms: 1,
        updated_at_ms: 1,
    })
}

fn message_record(number: u128) -> SessionRecord {
    SessionRecord::Message(SessionMessage {
        id: MessageId::from_bits(number),
        session_id: id(),
        role: MessageRole::User,
        kind: MessageKind::Said,
        agent: None,
        model: None,
        finish: None,
        error: None,
        covers_through: None,
        tokens: TokenCounts::default(),
        created_at_ms: 2,
        completed_at_ms: Some(2),
        rewound_at_ms: None,
    })
}

async fn record_message(run: &Run, number: u128) -> Result<(), RunError> {
    run.record_session(vec![session_record(), message_record(number)], SessionDurability::Ordered)
        .await
}

#[tokio::test]
async fn a_chat_is_written_by_whoever_has_its_run() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let root = tempfile::tempdir().unwrap();
    let (first, run) = process(&journal, "first", root.path()).await;
    let (_second, other) = process(&journal, "second", root.path()).await;
    expect!["this process does not own run ses_00000000000000000000000007: another process may have resumed it since, so nothing was done; open the run again, because the journal has its latest calls"]
        .assert_eq(&record_message(&run, 1).await.unwrap_err().to_string());
    assert_eq!(journal.runs(RunQuery::default()).await.unwrap(), []);

    run.take_lease().await.unwrap();
    run.take_lease().await.unwrap();
    record_message(&run, 1).await.unwrap();
    record_message(&run, 2).await.unwrap();
    let held = other.take_lease().await;
    assert!(matches!(held, Err(RunError::Journal(JournalError::LeaseHeld { .. }))), "{held:?}");
    assert_eq!(run.rewind_session(&MessageId::from_bits(2), 9).await.unwrap(), 1);

    first.runtime.shut_down().await;
    other.take_lease().await.unwrap();
    record_message(&other, 3).await.unwrap();
    // This message would not answer the last one, so the journal refuses it.
    let fenced = record_message(&run, 4).await;
    assert!(matches!(fenced, Err(RunError::Journal(JournalError::Fenced { .. }))), "{fenced:?}");
    let lost = record_message(&run, 4).await;
    assert!(matches!(lost, Err(RunError::NotOpen { .. })), "{lost:?}");
    let rewound = run.rewind_session(&MessageId::from_bits(1), 9).await;
    assert!(matches!(rewound, Err(RunError::NotOpen { .. })), "{rewound:?}");
    let said = journal.session_messages(&id(), MessageQuery::default()).await.unwrap();
    let numbers: Vec<u128> = said.iter().map(|(message, _)| message.id.bits()).collect();
    assert_eq!(numbers, [1, 3]);
}

#[tokio::test]
async fn a_run_that_was_opened_and_taken_away_is_not_taken_anew_by_a_call() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let root = tempfile::tempdir().unwrap();
    let counter = Counter::default();
    let process = async |owner: &'static str| {
        let setting = Setting {
            tools: vec![counted("send", &counter)],
            journal: Arc::clone(&journal),
            root: Some(root.path().to_owned()),
            owner,
            ..Setting::default()
        };
        let stage = Stage::new(setting).await;
        let run = stage.session.run(id().run());
        (stage, run)
    };
    let send = || Call::new("send", json!({"text": "x"}));
    let (first, run) = process("first").await;
    run.take_lease().await.unwrap();
    record_message(&run, 1).await.unwrap();
    // As from a machine that slept: another one goes on with it, and is done before the first one looks again.
    first.runtime.shut_down().await;
    let (second, other) = process("second").await;
    other.take_lease().await.unwrap();
    record_message(&other, 2).await.unwrap();
    let fenced = record_message(&run, 3).await;
    assert!(matches!(fenced, Err(RunError::Journal(JournalError::Fenced { .. }))), "{fenced:?}");
    second.runtime.shut_down().await;
    let lost = run.call(send()).await;
    assert!(matches!(lost, Err(RunError::NotOpen { .. })), "{lost:?}");
    assert_eq!(counter.count(), 0);
    run.take_lease().await.unwrap();
    run.call(send()).await.unwrap();
    assert_eq!(counter.count(), 1);
}
