//! Two journals on one file, as two processes have them: both write, neither starves, and change numbers stay in the
//! order in which commits become visible.

use std::sync::Arc;

use haft_contract::{Effect, Scope};
use haft_journal::{CallOrder, CallQuery, CallRow, Journal, SqliteJournal, Status};

use crate::fixture::{call, record, run, scope};

const TASKS: u32 = 8;
const CALLS: u32 = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_write_and_a_follower_sees_every_change_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journals = [(); 2].map(|()| Arc::new(SqliteJournal::open(&path).unwrap()));
    journals[0].begin_run(run("r")).await.unwrap();

    let mut tasks = tokio::task::JoinSet::new();
    for (number, journal) in (0..).zip(&journals) {
        for task in 0..TASKS {
            let journal = Arc::clone(journal);
            let scope = Scope { iteration: number * TASKS + task, ..scope("r") };
            tasks.spawn(async move {
                for seq in 1..=CALLS {
                    let effect = if seq % 2 == 0 { Effect::Read } else { Effect::Once };
                    record(&*journal, call(&scope, seq, effect), Status::Succeeded).await;
                }
            });
        }
    }
    let expected = (journals.len() as u32 * TASKS * CALLS) as usize;
    let seen = follow_until(&journals[1], expected).await;
    while let Some(task) = tasks.join_next().await {
        task.unwrap();
    }
    assert!(seen.windows(2).all(|pair| pair[0].change < pair[1].change));
    let query = CallQuery { order: CallOrder::Change, ..CallQuery::default() };
    let settled: Vec<CallRow> =
        seen.into_iter().filter(|row| row.status == Status::Succeeded).collect();
    assert_eq!(settled, journals[0].calls(query).await.unwrap());
}

/// Follows the journal until so many calls were seen to succeed. A change that became visible behind the follower's
/// back would keep this from ending.
async fn follow_until(journal: &SqliteJournal, succeeded_expected: usize) -> Vec<CallRow> {
    let mut seen: Vec<CallRow> = Vec::new();
    let mut succeeded = 0;
    while succeeded < succeeded_expected {
        let after_change = seen.last().map(|row| row.change);
        let query = CallQuery { after_change, order: CallOrder::Change, ..CallQuery::default() };
        let rows = journal.calls(query).await.unwrap();
        succeeded += rows.iter().filter(|row| row.status == Status::Succeeded).count();
        seen.extend(rows);
    }
    seen
}
