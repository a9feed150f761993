//! The content store beside an SQLite journal: which files hold a text, who may read them, and when they go.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use haft_contract::RunId;
use haft_journal::conformance::fixture::{request, run};
use haft_journal::{Journal, SqliteJournal};

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
