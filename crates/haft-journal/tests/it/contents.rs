//! The content store beside an SQLite journal: which files hold a text, who may read them, and when they go.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haft_contract::RunId;
use haft_journal::conformance::fixture::{request, run};
use haft_journal::{Journal, Retention, SqliteJournal};

const MARKER: &str = "a text that no row has";

/// Returns the files below a directory that hold the marker.
fn files_with_marker(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with_marker(&path));
        } else if String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(MARKER) {
            found.push(path);
        }
    }
    found
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_text_is_in_one_file_that_only_its_owner_reads() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("j");
    let journal = SqliteJournal::open(&path).unwrap();
    let lease = journal.open_run(run(".."), request("one")).await.unwrap();
    let digest = journal.keep_content(&lease, MARKER.to_owned()).await.unwrap();
    let of_run = directory.path().join("j-contents/run-..");
    let file = of_run.join(&digest.sha256);
    assert_eq!(files_with_marker(directory.path()), std::slice::from_ref(&file));
    assert_eq!((mode(&file), mode(&of_run), mode(of_run.parent().unwrap())), (0o600, 0o700, 0o700));

    // Another process reads it, also if it only looks.
    let looking = SqliteJournal::open_to_read(&path).unwrap();
    let found = looking.content(&lease.run, &digest).await.unwrap();
    assert_eq!(found.as_deref(), Some(MARKER));

    // A file that others changed is no text that a row names.
    std::fs::write(&file, "another text").unwrap();
    assert_eq!(journal.content(&lease.run, &digest).await.unwrap(), None);

    journal.remove_contents(&lease).await.unwrap();
    assert_eq!(files_with_marker(directory.path()), Vec::<PathBuf>::new());
    assert!(!of_run.exists());
}

#[tokio::test]
async fn texts_of_runs_that_are_not_there_are_swept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("j");
    let contents = directory.path().join("j-contents");
    let journal = SqliteJournal::open(&path).unwrap();
    let lease = journal.open_run(run("known"), request("one")).await.unwrap();
    let digest = journal.keep_content(&lease, MARKER.to_owned()).await.unwrap();
    drop(journal);
    // A process died after it had written a text, or before it had removed the texts of a run.
    std::fs::create_dir(contents.join("run-gone")).unwrap();
    std::fs::write(contents.join("run-gone/unfinished"), MARKER).unwrap();
    std::fs::write(contents.join("of another program"), MARKER).unwrap();
    let journal = SqliteJournal::open(&path).unwrap();
    assert!(!contents.join("run-gone").exists());
    assert!(contents.join("of another program").exists());
    let found = journal.content(&RunId::parse("known").unwrap(), &digest).await.unwrap();
    assert_eq!(found.as_deref(), Some(MARKER));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_begins_while_an_old_one_of_its_name_is_removed_keeps_its_texts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("j");
    let (removing, working) =
        (SqliteJournal::open(&path).unwrap(), SqliteJournal::open(&path).unwrap());
    let is_over = Arc::new(AtomicBool::new(false));
    let remover = tokio::spawn({
        let is_over = Arc::clone(&is_over);
        async move {
            let all =
                Retention { before_ms: Some(u64::MAX / 2), bytes_max: None, keeps_in_doubt: true };
            let mut removed = 0;
            while !is_over.load(Ordering::Relaxed) {
                removed += removing.prune(all).await.unwrap().runs.len();
            }
            removed
        }
    });
    for _ in 0..100 {
        let lease = working.open_run(run("nightly"), request("one")).await.unwrap();
        let digest = working.keep_content(&lease, MARKER.to_owned()).await.unwrap();
        // A run that is held is not removed, and what is removed is what the old one had.
        for _ in 0..3 {
            let found = working.content(&lease.run, &digest).await.unwrap();
            assert_eq!(found.as_deref(), Some(MARKER));
        }
        working.close_run(lease).await.unwrap();
    }
    is_over.store(true, Ordering::Relaxed);
    assert!(remover.await.unwrap() > 0);
}
