//! Tests that a text is removed only if no later transaction wants it.

use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use haft_contract::ContentDigest;

use super::*;

const TEXT: &str = "a plan";

fn cells() -> Vec<(Column, Value)> {
    let digest = ContentDigest::of(TEXT);
    vec![
        (contents::RUN, "nightly".into()),
        (contents::SHA256, digest.sha256.as_str().into()),
        (contents::CONTENT, TEXT.into()),
    ]
}

fn of_run() -> Vec<RowCondition> {
    vec![RowCondition::Equal(contents::RUN, "nightly".into())]
}

fn text(journal: &Path) -> PathBuf {
    let digest = ContentDigest::of(TEXT);
    ContentFiles::beside(journal).run_directory("nightly").join(digest.sha256)
}

fn insert(journal: &Path) {
    let mut writes = ContentWrites::new(journal);
    writes.insert(&cells()).unwrap();
    writes.into_removed().remove();
}

#[test]
fn a_new_run_keeps_its_text_while_an_old_one_of_the_name_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let journal = directory.path().join("journal.sqlite");
    insert(&journal);
    // The rows of the old run are gone, and its files are not yet.
    let mut removing = ContentWrites::new(&journal);
    removing.remove(&of_run()).unwrap();
    let removed = removing.into_removed();
    let (begun, is_begun) = mpsc::channel();
    let (done, is_done) = mpsc::channel();
    let of_new_run = {
        let journal = journal.clone();
        std::thread::spawn(move || {
            begun.send(()).unwrap();
            insert(&journal);
            done.send(()).unwrap();
        })
    };
    is_begun.recv().unwrap();
    // The new run waits: its text would look as if it were there.
    assert!(is_done.recv_timeout(Duration::from_millis(100)).is_err());
    removed.remove();
    of_new_run.join().unwrap();
    assert_eq!(std::fs::read_to_string(text(&journal)).unwrap(), TEXT);
}

#[test]
fn a_text_that_is_wanted_again_stays() {
    let directory = tempfile::tempdir().unwrap();
    let journal = directory.path().join("journal.sqlite");
    insert(&journal);
    std::fs::write(text(&journal).with_file_name("0".repeat(64)), "old").unwrap();
    let mut writes = ContentWrites::new(&journal);
    writes.remove(&of_run()).unwrap();
    writes.insert(&cells()).unwrap();
    writes.into_removed().remove();
    let names = names_in(text(&journal).parent().unwrap()).unwrap();
    assert_eq!(names, [ContentDigest::of(TEXT).sha256]);
    // Without such a text, the directory goes with its files.
    let mut writes = ContentWrites::new(&journal);
    writes.remove(&of_run()).unwrap();
    writes.into_removed().remove();
    assert!(!text(&journal).parent().unwrap().exists());
}
