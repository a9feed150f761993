//! The kinds of path that a journal is opened at: nothing yet, an older or a newer journal, something else, a place that
//! cannot be
//! written. A file that is not ours is left as it was.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use haft_contract::Effect;
use haft_journal::{CallQuery, CallStatus, Journal, JournalError, SqliteJournal};
use rusqlite::Connection;

use crate::fixture::{call, lines, open, record, request, run, scope};

/// Opens what `prepare` makes inside a directory, and expects this error; the directory is written `DIR`.
fn check_error(prepare: impl Fn(&Path) -> PathBuf, expect: Expect) {
    let directory = tempfile::tempdir().unwrap();
    let path = prepare(directory.path());
    let before = fs::read(&path).ok();
    let err = SqliteJournal::open(&path).unwrap_err();
    expect.assert_eq(&err.to_string().replace(directory.path().to_str().unwrap(), "DIR"));
    assert_eq!(fs::read(&path).ok(), before, "the file was changed");
}

/// Opens the journal, records one call and returns all calls.
async fn use_once(path: &Path, seq: u32) -> String {
    let journal = SqliteJournal::open(path).unwrap();
    open(&journal, "r").await.unwrap();
    record(&journal, call(&scope("r"), seq, Effect::Once), CallStatus::Succeeded).await.unwrap();
    lines(&journal.calls(CallQuery::default()).await.unwrap())
}

fn sqlite(path: &Path, text: &str) {
    Connection::open(path).unwrap().execute_batch(text).unwrap();
}

fn existing(directory: &Path) -> PathBuf {
    let path = directory.join("journal.db");
    drop(SqliteJournal::open(&path).unwrap());
    path
}

#[tokio::test]
async fn a_journal_is_created_and_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state/haft/journal.db");
    use_once(&path, 1).await;
    expect![[r#"
        2 r/main/0/1/1 write succeeded
        4 r/main/0/1/2 write succeeded
    "#]]
    .assert_eq(&use_once(&path, 2).await);
    let version: i64 = Connection::open(&path)
        .unwrap()
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, 8);
}

#[tokio::test]
async fn only_the_owner_can_look_inside() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state/haft/journal.db");
    let journal = SqliteJournal::open(&path).unwrap();
    open(&journal, "r").await.unwrap();
    let mode = |name: &str| {
        let path = directory.path().join(name);
        format!("{:o} {name}\n", fs::metadata(path).unwrap().permissions().mode() & 0o777)
    };
    let names = [
        "state",
        "state/haft",
        "state/haft/journal.db",
        "state/haft/journal.db-wal",
        "state/haft/journal.db-shm",
    ];
    expect![[r#"
        700 state
        700 state/haft
        600 state/haft/journal.db
        600 state/haft/journal.db-wal
        600 state/haft/journal.db-shm
    "#]]
    .assert_eq(&names.map(mode).concat());
}

#[tokio::test]
async fn an_empty_file_becomes_a_journal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    fs::write(&path, "").unwrap();
    expect![[r#"
        2 r/main/0/1/1 write succeeded
    "#]]
    .assert_eq(&use_once(&path, 1).await);
}

#[tokio::test]
async fn a_name_that_means_something_to_sqlite_is_a_file_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file:journal.db?mode=memory");
    use_once(&path, 1).await;
    assert!(path.is_file());
}

#[test]
fn a_newer_journal_is_left_alone() {
    check_error(
        |directory| {
            let path = existing(directory);
            sqlite(&path, "PRAGMA user_version = 99");
            path
        },
        expect![
            "journal DIR/journal.db has schema version 99 and this haft knows versions up to 8: use the newer haft that wrote it, or another journal file"
        ],
    );
}

#[test]
fn what_is_no_journal_is_left_alone() {
    let no_database = |directory: &Path| {
        let path = directory.join("notes.txt");
        fs::write(&path, "Buy milk. ".repeat(1_000)).unwrap();
        path
    };
    check_error(
        no_database,
        expect!["DIR/notes.txt is not a haft journal: it is no SQLite database; name another file"],
    );
    let other_tables = |directory: &Path| {
        let path = directory.join("bookmarks.db");
        sqlite(&path, "CREATE TABLE bookmarks (url TEXT)");
        path
    };
    check_error(
        other_tables,
        expect![
            "DIR/bookmarks.db is not a haft journal: it is an SQLite database of another program; name another file"
        ],
    );
    let other_program = |directory: &Path| {
        let path = existing(directory);
        sqlite(&path, "PRAGMA application_id = 7");
        path
    };
    check_error(
        other_program,
        expect![
            "DIR/journal.db is not a haft journal: it is an SQLite database of another program; name another file"
        ],
    );
    check_error(
        Path::to_owned,
        expect!["DIR is not a haft journal: it is a directory; name another file"],
    );
    check_error(
        |_| PathBuf::from("/dev/null"),
        expect!["/dev/null is not a haft journal: it is not a regular file; name another file"],
    );
}

#[test]
fn a_damaged_journal_is_reported() {
    check_error(
        |directory| {
            let path = existing(directory);
            // As long as pages are in the log, the file is not looked at.
            let db = Connection::open(&path).unwrap();
            db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
            drop(db);
            let mut bytes = fs::read(&path).unwrap();
            // Behind the header of the file lies the root of the schema.
            bytes[100..4_096].fill(0xff);
            fs::write(&path, bytes).unwrap();
            path
        },
        expect![
            "journal DIR/journal.db is damaged: database disk image is malformed; move it away and start a new one"
        ],
    );
}

#[test]
fn a_place_that_cannot_be_written_is_reported() {
    check_error(
        |_| PathBuf::from("/proc/haft/journal.db"),
        expect![
            "cannot open journal /proc/haft/journal.db: No such file or directory (os error 2); check that its directory exists and can be written"
        ],
    );
    let below_a_file = |directory: &Path| {
        fs::write(directory.join("file"), "").unwrap();
        directory.join("file/journal.db")
    };
    check_error(
        below_a_file,
        expect![
            "cannot open journal DIR/file/journal.db: Not a directory (os error 20); check that its directory exists and can be written"
        ],
    );
    let dangling_link = |directory: &Path| {
        let path = directory.join("link.db");
        std::os::unix::fs::symlink("nowhere/journal.db", &path).unwrap();
        path
    };
    check_error(
        dangling_link,
        expect![
            "cannot open journal DIR/link.db: unable to open database file: DIR/link.db; check that its directory exists and can be written"
        ],
    );
}

#[tokio::test]
async fn a_row_that_makes_no_sense_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    use_once(&path, 1).await;
    sqlite(&path, "UPDATE calls SET attempt = -1");
    let journal = SqliteJournal::open(&path).unwrap();
    let err = journal.calls(CallQuery::default()).await.unwrap_err().to_string();
    expect!["journal PATH is damaged: column attempt holds -1, of which this haft can make no sense; move it away and start a new one"].assert_eq(&err.replace(path.to_str().unwrap(), "PATH"));
}

#[test]
fn eight_at_once_create_one_journal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state/journal.db");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    std::thread::scope(|threads| {
        for seq in 1..=8 {
            let path = &path;
            threads.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                runtime.block_on(use_once(path, seq));
            });
        }
    });
    assert_eq!(runtime.block_on(use_once(&path, 9)).lines().count(), 9);
}

#[tokio::test]
async fn a_journal_can_be_looked_at_without_changing_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a #1?.db");
    use_once(&path, 1).await;
    let journal = SqliteJournal::open_to_read(&path).unwrap();
    assert_eq!(lines(&journal.calls(CallQuery::default()).await.unwrap()).lines().count(), 1);
    let refused = journal.open_run(run("s"), request("one")).await;
    assert!(matches!(refused, Err(JournalError::ReadOnly { .. })), "{refused:?}");
    let nothing = SqliteJournal::open_to_read(directory.path().join("none.db"));
    assert!(matches!(nothing, Err(JournalError::CannotOpen { .. })), "{nothing:?}");
    assert!(!directory.path().join("none.db").exists());
}

#[tokio::test]
async fn a_journal_that_was_taken_away_is_noticed_before_anything_is_acknowledged() {
    for replaced in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.db");
        let journal = SqliteJournal::open(&path).unwrap();
        open(&journal, "r").await.unwrap();
        fs::remove_file(&path).unwrap();
        if replaced {
            fs::write(&path, "").unwrap();
        }
        let intent = journal.intend(call(&scope("r"), 1, Effect::Once)).await;
        assert!(matches!(intent, Err(JournalError::Removed { .. })), "{intent:?}");
        let later = journal.intend(call(&scope("r"), 1, Effect::Once)).await;
        assert!(matches!(later, Err(JournalError::Stopped { .. })), "{later:?}");
    }
}
