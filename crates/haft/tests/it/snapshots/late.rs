//! Tests a journal that is slow to record snapshots, while pruning runs.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use haft_faults::{InterceptedJournal, JournalInterceptor};
use haft_journal::{JournalError, JournalFuture, SnapshotNote};
use tokio::sync::{Notify, oneshot};

use super::*;

/// A journal in memory that keeps notes waiting. As with a real one, a note that was given to it is written whether or not
/// anybody waits for that.
#[derive(Default)]
struct SlowJournal {
    inner: MemoryJournal,
    is_slow: AtomicBool,
    waiting: Mutex<Vec<(SnapshotNote, oneshot::Sender<()>)>>,
    came: Notify,
}

impl SlowJournal {
    /// Writes what waits, and everything from now on at once.
    async fn hurry(&self) {
        self.is_slow.store(false, Ordering::SeqCst);
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap());
        for (note, written) in waiting {
            self.inner.note_snapshot(note).await.unwrap();
            // The receiver may have been dropped.
            let _ = written.send(());
        }
    }
}

impl JournalInterceptor for SlowJournal {
    type Inner = MemoryJournal;

    fn inner(&self) -> &MemoryJournal {
        &self.inner
    }

    fn note_snapshot(&self, note: SnapshotNote) -> JournalFuture<'_, ()> {
        if !self.is_slow.load(Ordering::SeqCst) {
            return self.inner.note_snapshot(note);
        }
        let (sender, written) = oneshot::channel();
        self.waiting.lock().unwrap().push((note, sender));
        self.came.notify_one();
        Box::pin(async move {
            written.await.unwrap();
            Ok::<(), JournalError>(())
        })
    }
}

#[tokio::test]
async fn what_a_note_on_its_way_names_is_not_pruned_although_nobody_waits() {
    let journal = Arc::new(InterceptedJournal(SlowJournal::default()));
    let place =
        Place::with(RecordOptions::default(), Arc::clone(&journal) as Arc<dyn Journal>).await;
    let call = place.call("order", "x").await;
    let roots = WorkspaceRoots::open(&place.at(""), &[]).unwrap();
    let stores = place.directory.path().join("stores");
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let hook =
        WorkspaceSnapshots::new(&stores, &roots, Arc::clone(&place.journal), clock, &place.options);
    place.write("kept", "as it was");
    journal.is_slow.store(true, Ordering::SeqCst);
    let effect = PendingEffect {
        tool: "command".to_owned(),
        call_id: call.clone(),
        writes: Vec::new(),
        runs_commands: true,
    };
    tokio::select! {
        noted = hook.before_effect(&effect) => panic!("{noted:?}"),
        // From here on, the caller has dropped the hook, as it does after a timeout.
        () = journal.came.notified() => {}
    }
    assert_eq!(place.history().prune().await.unwrap().busy, 1);
    journal.hurry().await;
    while place.history().prune().await.unwrap().busy > 0 {
        tokio::task::yield_now().await;
    }
    fs::remove_file(place.at("kept")).unwrap();
    place.undo(&CallSelection::Call(call)).await.unwrap();
    assert_eq!(fs::read_to_string(place.at("kept")).unwrap(), "as it was");
}
