//! A disk that fills up and one that turns read-only: a clear error, nothing lost, and on it goes when there is space
//! again. The disk is a small tmpfs in a mount namespace; the test runs itself inside. Where namespaces cannot be
//! made it says so.

use std::path::Path;
use std::process::Command;

use haft_contract::Effect;
use haft_journal::{CallQuery, CallStatus, Journal, JournalError, SqliteJournal};

use crate::fixture::{call, call_of, open, outcome, record, scope};

const PART: &str = "HAFT_TEST_DISK_PART";
const DISK: &str = "HAFT_TEST_DISK";

const SCRIPT: &str = r#"
set -e
mount -t tmpfs -o size=2m haft-test "$HAFT_TEST_DISK"
run() { HAFT_TEST_DISK_PART="$1" "$0" --exact small_disk::a_full_or_read_only_disk_loses_nothing --nocapture; }
run full
mount -o remount,ro "$HAFT_TEST_DISK"
run read-only
"#;

#[test]
fn a_full_or_read_only_disk_loses_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    match std::env::var(PART).as_deref() {
        Ok("full") => return runtime.block_on(fill(Path::new(&std::env::var(DISK).unwrap()))),
        Ok("read-only") => return check_read_only(Path::new(&std::env::var(DISK).unwrap())),
        _ => {}
    }
    let namespace = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", script]);
        command
    };
    let probe = namespace("mount -t tmpfs haft-test /mnt").output();
    if !probe.is_ok_and(|output| output.status.success()) {
        eprintln!("not tested: this host allows no mount namespace, so there is no disk to fill");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = namespace(SCRIPT)
        .arg(std::env::current_exe().unwrap())
        .env(DISK, directory.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert_eq!(text.matches("1 passed").count(), 2, "{text}");
}

/// Writes until the disk is full, makes space, writes again, and checks what is there after that.
async fn fill(disk: &Path) {
    let ballast = disk.join("ballast");
    std::fs::write(&ballast, vec![1; 500_000]).unwrap();
    let path = disk.join("journal.db");
    let journal = SqliteJournal::open(&path).unwrap();
    open(&journal, "r").await.unwrap();
    let input = format!("{{\"content\":\"{}\"}}", "x".repeat(10_000));
    let large = |seq| call_of(&scope("r"), seq, ("write", Effect::Once), &input);

    let mut seq = 1;
    let err = loop {
        match journal.intend(large(seq)).await {
            Ok(intent) => drop(intent),
            Err(err) => break err,
        }
        seq += 1;
        assert!(seq < 1_000, "the disk does not fill up");
    };
    assert!(matches!(err, JournalError::Full { .. }), "{err}");
    let refusal = journal.refuse(large(seq), outcome(CallStatus::Refused)).await;
    assert!(matches!(refusal, Err(JournalError::Full { .. })), "{refusal:?}");
    let acknowledged = seq - 1;
    assert!(acknowledged > 10, "only {acknowledged} calls fit");

    std::fs::remove_file(&ballast).unwrap();
    record(&journal, call(&scope("r"), seq, Effect::Once), CallStatus::Succeeded).await.unwrap();
    drop(journal);
    let journal = SqliteJournal::open(&path).unwrap();
    let rows = journal.calls(CallQuery::default()).await.unwrap();
    let seqs: Vec<u32> = rows.iter().map(|row| row.seq).collect();
    assert_eq!(seqs, (1..=seq).collect::<Vec<_>>());
}

/// A reader needs no space on the disk.
fn check_read_only(disk: &Path) {
    let journal = SqliteJournal::open_to_read(disk.join("journal.db")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let rows = runtime.block_on(journal.calls(CallQuery::default())).unwrap();
    assert!(rows.len() > 10, "{} rows", rows.len());
    for name in ["journal.db", "another.db"] {
        let result = SqliteJournal::open(disk.join(name));
        assert!(matches!(result, Err(JournalError::ReadOnly { .. })), "{name}: {result:?}");
    }
}
