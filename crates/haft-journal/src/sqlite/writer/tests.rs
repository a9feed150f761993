//! The writer without its thread: what becomes of each entry when some cannot be written.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use expect_test::{Expect, expect};
use haft_contract::{BoxFuture, Effect};

use super::*;
use crate::sqlite::SqliteStore;
use crate::sqlite::tests::{call, outcome, request, run};
use crate::store::{ReadOperation, Store};
use crate::{CallQuery, Journal, JournalMachine, PlannedCall, Retention};

/// A store that only queues.
#[derive(Debug, Default)]
struct Queue(Mutex<Waiting>);

#[derive(Default)]
struct Waiting(WriteBatch);

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} operations", self.0.len())
    }
}

impl Store for Queue {
    fn location(&self) -> &Path {
        Path::new("journal.db")
    }

    fn write(&self, operation: Box<dyn WriteOperation>) -> BoxFuture<'_, ()> {
        self.0.lock().unwrap().0.push(operation);
        Box::pin(async {})
    }

    fn read(&self, _: Box<dyn ReadOperation>) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

struct Fixture {
    writer: SqliteWriter,
    journal: JournalMachine<Queue>,
    _directory: tempfile::TempDir,
}

fn fixture() -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let writer = SqliteWriter::open(&directory.path().join("journal.db")).unwrap();
    let journal = JournalMachine::over(Queue::default());
    let mut fixture = Fixture { writer, journal, _directory: directory };
    fixture.check(vec![Entry::Open("r")], expect!["done; sound"]);
    fixture
}

/// The records that a test brings to the journal.
enum Entry {
    Open(&'static str),
    Intend(PlannedCall),
    Settle(PlannedCall),
}

type Recorded<'a> = BoxFuture<'a, Result<(), JournalError>>;

fn queue(journal: &JournalMachine<Queue>, entry: Entry) -> Recorded<'_> {
    let mut recorded: Recorded<'_> = Box::pin(async move {
        match entry {
            Entry::Open(id) => journal.open_run(run(id), request("one")).await.map(drop),
            Entry::Intend(call) => journal.intend(call).await.map(drop),
            Entry::Settle(call) => {
                journal.settle(crate::Intent::new(Arc::new(call)), outcome()).await
            }
        }
    });
    // It gets exactly as far as the queue.
    let state = recorded.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    match state {
        Poll::Pending => recorded,
        Poll::Ready(result) => Box::pin(std::future::ready(result)),
    }
}

impl Fixture {
    /// Writes the entries as one batch and expects these results, in the order of the entries.
    fn check(&mut self, entries: Vec<Entry>, expect: Expect) {
        expect.assert_eq(&self.results(entries));
    }

    fn results(&mut self, entries: Vec<Entry>) -> String {
        let journal = &self.journal;
        let recorded: Vec<Recorded<'_>> =
            entries.into_iter().map(|entry| queue(journal, entry)).collect();
        let batch = std::mem::take(&mut journal.store().0.lock().unwrap().0);
        let health = self.writer.write(batch);
        let path = self.writer.path.to_str().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut lines: Vec<String> = recorded
            .into_iter()
            .map(|recorded| match runtime.block_on(recorded) {
                Ok(()) => "done".to_owned(),
                Err(err) => {
                    let text = err.to_string().replace(path, "journal.db");
                    text.split(':').next().unwrap_or_default().to_owned()
                }
            })
            .collect();
        lines.push(format!("{health:?}").to_lowercase());
        lines.join("; ")
    }

    fn recorded(&self) -> String {
        let mut statement = self
            .writer
            .db
            .prepare("SELECT seq || ' ' || status FROM calls ORDER BY coalesce(closed, number)")
            .unwrap();
        let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        rows.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    }
}

fn intended(seq: u32) -> Entry {
    Entry::Intend(call("r", seq, Effect::Once))
}

fn settled(seq: u32, effect: Effect) -> Entry {
    Entry::Settle(call("r", seq, effect))
}

fn large(seq: u32, input_bytes: usize) -> Entry {
    Entry::Intend(PlannedCall { input: "x".repeat(input_bytes), ..call("r", seq, Effect::Once) })
}

#[test]
fn each_entry_of_a_batch_has_its_own_result() {
    let mut fixture = fixture();
    let unknown_run = Entry::Intend(call("elsewhere", 1, Effect::Once));
    let batch = vec![
        intended(1),
        intended(1),
        settled(2, Effect::Read),
        settled(7, Effect::Once),
        unknown_run,
        settled(1, Effect::Once),
        intended(3),
    ];
    fixture.check(batch, expect!["done; call r/main/0/1/1 is recorded already; done; call r/main/0/1/7 has no open intent in this journal; run elsewhere is not in the journal; done; done; sound"]);
    expect!["2 succeeded; 1 succeeded; 3 intended"].assert_eq(&fixture.recorded());
}

#[test]
fn an_entry_that_breaks_the_commit_takes_no_other_with_it() {
    let mut fixture = fixture();
    let beyond_all_time = PlannedCall { started_at_ms: u64::MAX, ..call("r", 2, Effect::Once) };
    let beyond_all_time = Entry::Intend(beyond_all_time);
    let batch = vec![intended(1), beyond_all_time, intended(3)];
    fixture.check(batch, expect!["done; journal journal.db failed; done; sound"]);
    expect!["1 intended; 3 intended"].assert_eq(&fixture.recorded());
}

#[test]
fn what_fits_on_a_full_disk_is_written() {
    let mut fixture = fixture();
    let pages: i64 =
        fixture.writer.db.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    fixture.writer.db.pragma_update(None, "max_page_count", pages + 2).unwrap();
    fixture.check(
        vec![intended(1), large(2, 100_000), intended(3)],
        expect!["done; no space left for journal journal.db; done; sound"],
    );
    fixture.writer.db.pragma_update(None, "max_page_count", pages + 100).unwrap();
    fixture.check(vec![large(2, 100_000)], expect!["done; sound"]);
    expect!["1 intended; 3 intended; 2 intended"].assert_eq(&fixture.recorded());
}

#[test]
fn a_lock_is_waited_for_once_per_batch() {
    let mut fixture = fixture();
    let waits = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&waits);
    let give_up = move |_| {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        false
    };
    fixture.writer.db.busy_handler(Some(give_up)).unwrap();
    let path = fixture.writer.db.path().unwrap().to_owned();
    let other = Connection::open(path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    fixture.check(vec![intended(1), intended(2)], expect!["journal journal.db stayed locked by another process for 10000 ms; journal journal.db stayed locked by another process for 10000 ms; sound"]);
    assert_eq!(waits.load(std::sync::atomic::Ordering::Relaxed), 1);
    other.execute_batch("ROLLBACK").unwrap();
    fixture.check(vec![intended(1), intended(2)], expect!["done; done; sound"]);
}

#[test]
fn after_a_failed_sync_nothing_more_is_promised() {
    let health = |code| health_after(&rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
    assert_eq!(health(ffi::SQLITE_IOERR_FSYNC), Health::Lost);
    assert_eq!(health(ffi::SQLITE_IOERR_DIR_FSYNC), Health::Lost);
    assert_eq!(health(ffi::SQLITE_IOERR_WRITE), Health::Sound);
    assert_eq!(health(ffi::SQLITE_FULL), Health::Sound);
}

#[test]
fn what_cannot_be_synced_is_not_acknowledged_and_nothing_after_it() {
    let unsyncable = || std::fs::File::open("/dev/null").unwrap();
    for count in [1, 2] {
        let mut fixture = fixture();
        fixture.writer.disk = Disk::over(unsyncable(), &fixture.writer.path);
        let results = ["journal journal.db failed; "; 2][..count].concat();
        let check = |fixture: &mut Fixture, last: &str| {
            let entries = (1..).take(count).map(intended).collect();
            assert_eq!(fixture.results(entries), format!("{results}{last}"));
        };
        check(&mut fixture, "sound");
        // A sync of something else would succeed now, but what failed is lost.
        check(&mut fixture, "lost");
    }
}

#[tokio::test]
async fn nobody_is_answered_from_what_cannot_be_synced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = |unsyncable: bool| {
        let mut writer = SqliteWriter::open(&path).unwrap();
        if unsyncable {
            let null = std::fs::File::open("/dev/null").unwrap();
            writer.disk = Disk::over(null, &path);
        }
        JournalMachine::over(SqliteStore::start(writer, path.clone()).unwrap())
    };
    let failed = |result| matches!(result, Err(JournalError::Failed { .. }));
    let planned = |seq| call("r", seq, Effect::Once);

    // A run that is new has nothing that could be lost, and what is written without a promise needs no sync.
    let first = journal(true);
    first.open_run(run("r"), request("one")).await.unwrap();
    assert_eq!(first.calls(CallQuery::default()).await.unwrap(), []);
    assert!(failed(first.intend(planned(1)).await.map(drop)));
    // The row is there, and might not be tomorrow.
    assert!(failed(first.calls(CallQuery::default()).await.map(drop)));

    // The next owner of the run answers from that row, so it is synced first.
    let second = journal(true);
    assert_eq!(second.calls(CallQuery::default()).await.unwrap().len(), 1);
    assert!(failed(second.open_run(run("r"), request("one")).await.map(drop)));
    drop((first, second));
    let third = journal(false);
    let lease = third.open_run(run("r"), request("one")).await.unwrap();
    assert_eq!(third.calls(CallQuery::default()).await.unwrap().len(), 1);

    // A run that was removed does not come back.
    third.close_run(lease).await.unwrap();
    let fourth = journal(true);
    let everything =
        Retention { before_ms: Some(u64::MAX), bytes_max: None, keeps_in_doubt: false };
    assert!(failed(fourth.prune(everything).await.map(drop)));
}

#[tokio::test]
async fn change_numbers_are_never_given_twice() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = crate::SqliteJournal::open(&path).unwrap();
    let lease = journal.open_run(run("r"), request("one")).await.unwrap();
    for seq in 1..=2 {
        let intent = journal.intend(call("r", seq, Effect::Once)).await.unwrap();
        journal.settle(intent, outcome()).await.unwrap();
    }
    journal.close_run(lease).await.unwrap();
    let everything =
        Retention { before_ms: Some(u64::MAX), bytes_max: None, keeps_in_doubt: false };
    journal.prune(everything).await.unwrap();
    drop(journal);
    let journal = crate::SqliteJournal::open(&path).unwrap();
    let lease = journal.open_run(run("r"), request("one")).await.unwrap();
    let planned = PlannedCall { fencing_token: lease.fencing_token, ..call("r", 1, Effect::Once) };
    drop(journal.intend(planned).await.unwrap());
    let rows = journal.calls(CallQuery::default()).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.change).collect::<Vec<_>>(), [5]);
}
