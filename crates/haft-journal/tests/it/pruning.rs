//! The removal of a run in a file when it is interrupted between two of its commits, as a kill leaves it.

use haft_contract::Effect;
use haft_journal::{
    CallQuery, CallStatus, Journal, PrunedRuns, Retention, RunQuery, SqliteJournal,
};
use rusqlite::Connection;

use crate::fixture::{call, open, record, request, run, scope};

/// Records a run of three calls and leaves it as a removal does that was killed after the first call.
async fn interrupted(directory: &tempfile::TempDir) -> SqliteJournal {
    let path = directory.path().join("journal.db");
    let journal = SqliteJournal::open(&path).unwrap();
    let lease = open(&journal, "r").await.unwrap();
    for seq in 1..=3 {
        record(&journal, call(&scope("r"), seq, Effect::Once), CallStatus::Succeeded)
            .await
            .unwrap();
    }
    journal.close_run(lease).await.unwrap();
    let killed = "UPDATE runs SET is_being_removed = 1; DELETE FROM calls WHERE seq = 1";
    Connection::open(&path).unwrap().execute_batch(killed).unwrap();
    journal
}

#[tokio::test]
async fn the_next_removal_finishes_it() {
    let directory = tempfile::tempdir().unwrap();
    let journal = interrupted(&directory).await;
    assert_eq!(journal.runs(RunQuery::default()).await.unwrap(), []);
    assert_eq!(journal.verify().await.unwrap(), []);
    let pruned = journal.prune(Retention::default()).await.unwrap();
    assert_eq!(pruned, PrunedRuns { runs: vec![run("r").id], calls: 2, kept_in_doubt: Vec::new() });
    assert_eq!(journal.calls(CallQuery::default()).await.unwrap(), []);
}

#[tokio::test]
async fn a_run_of_that_name_begins_anew() {
    let directory = tempfile::tempdir().unwrap();
    let journal = interrupted(&directory).await;
    let lease = journal.open_run(run("r"), request("two")).await.unwrap();
    assert_eq!(lease.fencing_token, 2);
    assert_eq!(journal.calls(CallQuery::default()).await.unwrap(), []);
    assert_eq!(
        journal
            .prune(Retention { bytes_max: Some(0), before_ms: None, keeps_in_doubt: false })
            .await
            .unwrap(),
        PrunedRuns::default()
    );
}
