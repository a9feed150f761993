//! Two journals on one file, as two processes have them: both write, neither starves, change numbers stay in the order
//! in which commits become visible, and a run is one's or the other's.

use std::sync::Arc;

use haft_contract::{AttemptAddress, Effect};
use haft_journal::{
    CallOrder, CallQuery, CallRow, CallStatus, Journal, JournalError, PlannedCall, SqliteJournal,
};

use crate::fixture::{brief_request, call, open, outcome, record, request, run, scope};

const TASKS: u32 = 8;
const CALLS: u32 = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_write_and_a_follower_sees_every_change_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journals = [(); 2].map(|()| Arc::new(SqliteJournal::open(&path).unwrap()));
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
    let seen = follow_until(&journals[1], expected).await;
    while let Some(task) = tasks.join_next().await {
        task.unwrap();
    }
    assert!(seen.windows(2).all(|pair| pair[0].change < pair[1].change));
    let query = CallQuery { order: CallOrder::Change, ..CallQuery::default() };
    let settled: Vec<CallRow> =
        seen.into_iter().filter(|row| row.status == CallStatus::Succeeded).collect();
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
        succeeded += rows.iter().filter(|row| row.status == CallStatus::Succeeded).count();
        seen.extend(rows);
    }
    seen
}

#[tokio::test]
async fn a_run_is_one_process_s_and_the_other_is_told_whose() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let [first, second] = [(); 2].map(|()| SqliteJournal::open(&path).unwrap());
    first.open_run(run("r"), brief_request("one")).await.unwrap();
    let intent = first.intend(call(&scope("r"), 1, Effect::Once)).await.unwrap();

    let lease = second.open_run(run("r"), request("two")).await.unwrap();
    let loser = first.open_run(run("r"), request("one")).await;
    let Err(JournalError::LeaseHeld { holder }) = loser else {
        panic!("both have the run: {loser:?}")
    };
    assert_eq!(holder.owner, request("two").owner);

    let settled = first.settle(intent, outcome(CallStatus::Succeeded)).await;
    let Err(JournalError::Fenced { fencing_token, by, .. }) = settled else {
        panic!("{settled:?}")
    };
    assert_eq!((fencing_token, by), (1, Some(request("two").owner)));
    let late = second.late_outcomes(&run("r").id).await.unwrap();
    assert_eq!((late.len(), late[0].status, late[0].fencing_token), (1, CallStatus::Succeeded, 1));
    let rows = second.calls(CallQuery::default()).await.unwrap();
    assert_eq!((rows.len(), rows[0].status), (1, CallStatus::Unknown));

    let next =
        PlannedCall { fencing_token: lease.fencing_token, ..call(&scope("r"), 2, Effect::Once) };
    record(&second, next, CallStatus::Succeeded).await.unwrap();
    assert_eq!(second.verify().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_that_want_a_run_at_once_one_gets_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..8 {
        let journal = SqliteJournal::open(&path).unwrap();
        tasks
            .spawn(async move { journal.open_run(run("r"), request(&format!("p{number}"))).await });
    }
    let mut leases = Vec::new();
    while let Some(answer) = tasks.join_next().await {
        match answer.unwrap() {
            Ok(lease) => leases.push(lease),
            Err(JournalError::LeaseHeld { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(leases.len(), 1, "{leases:?}");
}
