//! The thread that brings commits to the disk while the writer goes on with the next ones. SQLite could sync each commit
//! itself, but then nothing is written as long as the disk works. So it only writes them. A caller that was promised more
//! is answered after a sync of the write-ahead log that began when the commit was in it.
//!
//! Readers see a commit before that. An answer never rests on a commit that can still be lost:
//!
//! - Readers of this process are answered after a sync, too, if there are commits that none has covered.
//! - Other processes do not see which commits are not synced. But each sync covers the whole log, with the commits of all
//!   processes. So the commits that a process makes durable come after all that it has seen. The intent of an effect is synced
//!   before the effect. A process that takes over a run syncs the log after taking it, and only then answers from its rows.
//!   A process without the lease of a run answers none of its calls.
//!
//! A caller that brings an outcome [ahead](crate::Journal::settle_ahead) has gone on meanwhile. The next commit will most
//! likely be
//! synced at once and this one with it, so it waits a moment for that before it is synced alone.
//!
//! All else that keeps the file whole stays SQLite's business, in whichever process: before pages are moved out of the log
//! it is synced; the database is, before the log begins anew, so that a commit which is overwritten before its sync is
//! in the database; and the process that writes a log's first block syncs it together with its directory. The log is not
//! replaced as long as any connection is open.
//!
//! This does not cover a disk that loses data which it took. After a sync that failed, this process promises nothing any
//! more, nor does any that had the log open; one that opens it later cannot know.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

use crate::JournalError;
use crate::limits::{SYNC_PAUSE_MS, UNSYNCED_COMMITS_MAX};
use crate::store::WriteBatch;
use crate::worker::Worker;

/// The thread that brings commits to the disk, and the log that it syncs.
pub(super) struct Disk {
    log: Arc<Log>,
    path: PathBuf,
    /// Begins with the first commits that share a sync.
    worker: OnceLock<Worker<Commit>>,
}

/// A commit that is to get to the disk.
struct Commit {
    /// Who waits for that.
    jobs: WriteBatch,
    /// How many commits had ended when this one had.
    ended: u64,
    haste: Haste,
}

/// How soon a commit is to get to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Haste {
    Now,
    /// No caller is blocked: the next urgent sync will most likely cover it.
    Soon,
}

/// The write-ahead log as a file.
///
/// The writer, the thread and the reader all sync it, each under the lock: the kernel reports a failure to one of them
/// only, and the others must not take the data for safe. The lock holds the failure, once there was one.
pub(super) struct Log {
    file: File,
    failure: Mutex<Option<SyncFailure>>,
    /// How many commits that have to get to the disk were begun. Each is counted before anybody can see it.
    begun: AtomicU64,
    /// How many of them have ended.
    ended: AtomicU64,
    /// How many of them are on disk.
    synced: AtomicU64,
}

/// Why nothing more is promised.
#[derive(Clone, Debug)]
pub(super) struct SyncFailure(String);

impl Disk {
    /// Takes the log that lies beside the database at `path`. SQLite must have the log open already: until SQLite closes it, the
    /// log is not replaced.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut name = path.canonicalize()?.into_os_string();
        name.push("-wal");
        Ok(Self::over(File::open(name)?, path))
    }

    /// Takes the file that is to be synced.
    pub(super) fn over(file: File, path: &Path) -> Self {
        let log = Arc::new(Log {
            file,
            failure: Mutex::new(None),
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            synced: AtomicU64::new(0),
        });
        Self { log, path: path.to_owned(), worker: OnceLock::new() }
    }

    /// Returns the thread; `None` if the system starts none.
    fn worker(&self) -> Option<&Worker<Commit>> {
        if let Some(worker) = self.worker.get() {
            return Some(worker);
        }
        let (synced, path) = (Arc::clone(&self.log), self.path.clone());
        let run = move |mut commits: mpsc::Receiver<Commit>| {
            let mut waiting = Vec::new();
            while commits.blocking_recv_many(&mut waiting, UNSYNCED_COMMITS_MAX) > 0 {
                if waiting.iter().all(|commit| commit.haste == Haste::Soon) {
                    // A commit that is in a hurry wakes this thread.
                    std::thread::park_timeout(Duration::from_millis(SYNC_PAUSE_MS));
                }
                // One sync covers all commits that are in the queue.
                let ended = waiting.iter().map(|commit| commit.ended).max().unwrap_or_default();
                let synced = synced.sync(ended);
                for commit in waiting.drain(..) {
                    answer(commit.jobs, || {
                        synced.clone().map_err(|failure| failure.to_error(&path))
                    });
                }
            }
        };
        let worker = Worker::spawn("journal-disk", UNSYNCED_COMMITS_MAX, run).ok()?;
        Some(self.worker.get_or_init(|| worker))
    }

    pub(super) fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Answers the jobs of a commit once it is on disk. Waits while too many commits are on their way.
    pub(super) fn answer_later(&self, jobs: WriteBatch) {
        self.send(self.commit(jobs, Haste::Now));
    }

    /// Answers the jobs of a commit once it is on disk, which need not be at once.
    pub(super) fn answer_soon(&self, jobs: WriteBatch) {
        let commit = self.commit(jobs, Haste::Soon);
        let offered = match self.worker() {
            Some(worker) => worker.offer(commit),
            None => Err(commit),
        };
        if let Err(commit) = offered {
            self.send(commit);
        }
    }

    fn commit(&self, jobs: WriteBatch, haste: Haste) -> Commit {
        Commit { jobs, ended: self.log.ended.load(Ordering::SeqCst), haste }
    }

    fn send(&self, commit: Commit) {
        let Some(worker) = self.worker() else {
            let synced = self.log.sync(commit.ended);
            return answer(commit.jobs, || {
                synced.clone().map_err(|failure| failure.to_error(&self.path))
            });
        };
        // It may be pausing, and this is more than it pauses for.
        worker.wake();
        // The thread takes commits until the queue is closed, so the send succeeds.
        worker.send_blocking(commit);
        worker.wake();
    }
}

impl SyncFailure {
    /// Returns what callers hear.
    pub(super) fn to_error(&self, path: &Path) -> JournalError {
        JournalError::Failed { path: path.to_owned(), detail: self.0.clone() }
    }
}

impl Log {
    /// Returns the length of the log.
    pub(super) fn bytes(&self) -> Option<u64> {
        Some(self.file.metadata().ok()?.len())
    }

    /// Counts a commit that will have to get to the disk. Only one thread commits.
    pub(super) fn begin_commit(&self) {
        self.begun.fetch_add(1, Ordering::SeqCst);
    }

    /// Says that the commit is in the log, or failed and left nothing there.
    pub(super) fn end_commit(&self) {
        self.ended.store(self.begun.load(Ordering::SeqCst), Ordering::SeqCst);
    }

    /// Brings all commits that have ended to the disk.
    pub(super) fn sync_ended(&self) -> Result<(), SyncFailure> {
        self.sync(self.ended.load(Ordering::SeqCst))
    }

    /// Brings all commits to the disk that a reader can have seen. They include one that has not ended: readers see it a
    /// moment earlier than the thread that commits it.
    pub(super) fn sync_seen(&self) -> Result<(), SyncFailure> {
        let begun = self.begun.load(Ordering::SeqCst);
        if self.synced.load(Ordering::SeqCst) >= begun { Ok(()) } else { self.sync(begun) }
    }

    /// Returns why nothing more can be promised, if so.
    pub(super) fn failure(&self) -> Option<SyncFailure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Syncs, unless so many commits got to the disk while the lock was waited for.
    fn sync(&self, commits: u64) -> Result<(), SyncFailure> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(failure) = &*failure {
            return Err(failure.clone());
        }
        if self.synced.load(Ordering::SeqCst) >= commits {
            return Ok(());
        }
        // Those that end from here on may be covered or not.
        let ended = self.ended.load(Ordering::SeqCst);
        if let Err(err) = self.file.sync_data() {
            // It may succeed the next time although the data is gone: Linux reports a failure once and forgets.
            let lost = SyncFailure(format!("its log could not be brought to the disk: {err}"));
            *failure = Some(lost.clone());
            return Err(lost);
        }
        self.synced.store(ended, Ordering::SeqCst);
        Ok(())
    }
}

pub(super) fn answer(jobs: WriteBatch, committed: impl Fn() -> Result<(), JournalError>) {
    for job in jobs {
        job.finish(committed());
    }
}

#[cfg(test)]
mod tests;
