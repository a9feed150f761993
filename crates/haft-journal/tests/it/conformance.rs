//! Every store makes the same journal: those of this crate, and one that is written outside of it.

use std::sync::Arc;

use haft_contract::Effect;
use haft_journal::{
    CallQuery, CallStatus, Journal, JournalMachine, MemoryJournal, SqliteJournal, conformance_tests,
};

use crate::fixture::{call, open, record, scope};
use crate::lines_store::LinesStore;

conformance_tests!(memory, |_| Arc::new(MemoryJournal::new()));
conformance_tests!(sqlite, |directory| Arc::new(
    SqliteJournal::open(directory.join("journal.db")).unwrap()
));
#[cfg(feature = "postgres")]
conformance_tests!(postgres, |_| crate::postgres_server::journal());
conformance_tests!(lines, |directory| Arc::new(JournalMachine::over(
    LinesStore::open(&directory.join("journal.jsonl")).unwrap()
)));

#[tokio::test]
async fn lines_are_the_journal_when_the_file_is_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.jsonl");
    let journal = JournalMachine::over(LinesStore::open(&path).unwrap());
    let lease = open(&journal, "r").await.unwrap();
    record(&journal, call(&scope("r"), 1, Effect::Once), CallStatus::Succeeded).await.unwrap();
    drop(journal.intend(call(&scope("r"), 2, Effect::Once)).await.unwrap());
    let before = journal.calls(CallQuery::default()).await.unwrap();
    drop(journal);
    // A crash cut the last line short.
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str(r#"[{"table":"calls","#);
    std::fs::write(&path, text).unwrap();
    let journal = JournalMachine::over(LinesStore::open(&path).unwrap());
    assert_eq!(journal.calls(CallQuery::default()).await.unwrap(), before);
    journal.close_run(lease).await.unwrap();
    assert_eq!(journal.verify().await.unwrap(), []);
}
