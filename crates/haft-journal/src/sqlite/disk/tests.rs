//! The disk thread while the disk stands still.

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Poll, Waker};

use super::*;
use crate::store::{Durability, RowNeed, StoreFailure, Transaction, WriteOperation};

/// A job that has nothing to write and says how it is answered.
struct Promise(Sender<bool>);

impl WriteOperation for Promise {
    fn durability(&self) -> Durability {
        Durability::Power
    }

    fn needs(&self) -> Vec<RowNeed> {
        Vec::new()
    }

    fn apply(&mut self, _: &mut dyn Transaction) -> Result<(), StoreFailure> {
        Ok(())
    }

    fn finish(self: Box<Self>, committed: Result<(), JournalError>) {
        self.0.send(committed.is_ok()).unwrap();
    }
}

#[test]
fn at_the_bound_the_writer_waits_and_nobody_is_answered_before_the_disk() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let disk = Disk::over(File::create(&path).unwrap(), &path);
    let (answer, answers) = channel();

    let standstill = disk.log.failure.lock().unwrap();
    let mut taken = 0;
    loop {
        disk.log.begin_commit();
        disk.log.end_commit();
        let commit = disk.commit(vec![Box::new(Promise(answer.clone()))], Haste::Now);
        match pin!(disk.worker().unwrap().send(commit))
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(sent) => sent.unwrap(),
            Poll::Pending => break,
        }
        taken += 1;
    }
    // The thread may be at as many already as can wait behind them.
    assert!((UNSYNCED_COMMITS_MAX..=2 * UNSYNCED_COMMITS_MAX).contains(&taken), "{taken}");
    assert!(answers.try_recv().is_err(), "somebody was answered before the disk");

    drop(standstill);
    drop((disk, answer));
    assert_eq!(answers.iter().collect::<Vec<_>>(), vec![true; taken]);
}

#[test]
fn what_was_seen_is_synced_and_what_is_on_disk_is_not_synced_again() {
    let log_over =
        |path: &str| Arc::clone(Disk::over(File::open(path).unwrap(), Path::new(path)).log());
    let unsyncable = log_over("/dev/null");
    unsyncable.sync_seen().unwrap();
    unsyncable.sync_ended().unwrap();
    // Readers may see a commit before it has ended.
    unsyncable.begin_commit();
    unsyncable.sync_ended().unwrap();
    unsyncable.sync_seen().unwrap_err();
    unsyncable.end_commit();
    unsyncable.sync_ended().unwrap_err();

    let file = tempfile::NamedTempFile::new().unwrap();
    let log = log_over(file.path().to_str().unwrap());
    log.begin_commit();
    log.sync_seen().unwrap();
    assert_eq!(log.synced.load(Ordering::SeqCst), 0, "it had not ended when the sync began");
    log.end_commit();
    log.sync_seen().unwrap();
    assert_eq!(log.synced.load(Ordering::SeqCst), 1);
}

#[test]
fn who_has_time_is_answered_without_a_sync_of_somebody_else_and_with_one() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let disk = Disk::over(file.reopen().unwrap(), file.path());
    let (answer, answers) = channel();
    let commit = || {
        disk.log.begin_commit();
        disk.log.end_commit();
        disk.answer_soon(vec![Box::new(Promise(answer.clone()))]);
    };
    commit();
    assert_eq!(answers.recv(), Ok(true));
    assert_eq!(disk.log.synced.load(Ordering::SeqCst), 1);

    // More than can wait, so that the pause is cut short.
    for _ in 0..3 * UNSYNCED_COMMITS_MAX {
        commit();
    }
    disk.log.sync_ended().unwrap();
    assert!(answers.iter().take(3 * UNSYNCED_COMMITS_MAX).all(|is_well| is_well));

    // Callers that could wait get the loss as an error, too.
    let lost = Disk::over(File::open("/dev/null").unwrap(), Path::new("/dev/null"));
    lost.log.begin_commit();
    lost.log.end_commit();
    lost.answer_soon(vec![Box::new(Promise(answer.clone()))]);
    assert_eq!(answers.recv(), Ok(false));
}
