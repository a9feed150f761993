//! Callers that wait at the same time share a commit. Commits are counted where they leave their mark, in the
//! write-ahead log, so nothing has to be built in for the test.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use haft_contract::Effect;
use haft_journal::{CallStatus, Journal, JournalError, SqliteJournal};
use rusqlite::Connection;

use crate::fixture::{call, open, outcome, record, scope};

/// Returns how many frames of the log end a commit: those whose second word, the size of the database after the
/// commit, is not 0. A frame is a page behind 24 bytes; the log's own header is 32 bytes.
fn commits_in_log(path: &Path) -> usize {
    let log = std::fs::read(path.with_extension("db-wal")).unwrap();
    let word = |bytes: &[u8], index: usize| {
        u32::from_be_bytes(bytes[index * 4..index * 4 + 4].try_into().unwrap())
    };
    let page_bytes = word(&log, 2) as usize;
    log[32..].chunks(24 + page_bytes).filter(|frame| word(frame, 1) != 0).count()
}

fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Lets all callers queue up behind a lock, opens the lock, and returns how many commits they took together.
fn commits_of(seqs: std::ops::RangeInclusive<u32>, effect: Effect) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = SqliteJournal::open(&path).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        open(&journal, "r").await.unwrap();
        record(&journal, call(&scope("r"), 1_000, Effect::Once), CallStatus::Succeeded)
            .await
            .unwrap();
    });
    let before = commits_in_log(&path);

    let lock = Connection::open(&path).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    // Polled outside of any runtime, each caller gets exactly as far as the queue.
    let mut callers: Vec<_> = seqs
        .map(|seq| {
            let journal = &journal;
            Box::pin(async move {
                let intent = journal.intend(call(&scope("r"), seq, effect)).await?;
                if effect == Effect::Read {
                    journal.settle(intent, outcome(CallStatus::Succeeded)).await?;
                }
                Ok::<_, JournalError>(())
            })
        })
        .collect();
    for caller in &mut callers {
        assert!(poll_once(caller.as_mut()).is_pending(), "a caller did not wait for the commit");
    }
    lock.execute_batch("ROLLBACK").unwrap();
    runtime.block_on(async {
        for caller in callers {
            caller.await.unwrap();
        }
    });
    commits_in_log(&path) - before
}

#[test]
fn callers_that_wait_together_share_a_commit() {
    // The writer may have taken the first few alone before it met the lock.
    for effect in [Effect::Once, Effect::Read] {
        let commits = commits_of(1..=64, effect);
        assert!((1..=2).contains(&commits), "64 callers took {commits} commits");
    }
    assert_eq!(commits_of(1..=1, Effect::Once), 1);
}
