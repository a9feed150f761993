//! Failures that a caller cannot cause on purpose: errors between staging and the last rename, or
//! while undoing.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::super::super::Root;
use super::super::super::change::{ChangeTag, ExpectedFile, RootFileChange};
use super::*;

fn write(path: &str, contents: &str) -> RootFileChange {
    let contents = contents.as_bytes().to_vec();
    RootFileChange::Write { path: path.into(), contents, mode: None, expected: ExpectedFile::Any }
}

fn remove(path: &str) -> RootFileChange {
    RootFileChange::Remove { path: path.into(), expected: ExpectedFile::Any }
}

/// Returns the names and contents of all files in a flat directory.
fn contents(directory: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(directory).unwrap().flatten();
    let read = |entry: fs::DirEntry| {
        let content = fs::read_to_string(entry.path()).unwrap_or("directory".to_owned());
        (entry.file_name().into_string().unwrap(), content)
    };
    entries.map(read).collect()
}

fn roots(directory: &Path) -> [Root; 2] {
    [Root::open(directory).unwrap(), Root::open_portably(directory).unwrap()]
}

fn staged(root: &Root) -> FileTransaction<'_> {
    let mut transaction = FileTransaction::new(root, ChangeTag::new(1));
    let changes =
        [write("one", "new"), remove("two"), write("fresh", "new"), write("made/x", "new")];
    for change in changes.into_iter().chain([write("last", "new")]) {
        transaction.stage(change).unwrap();
    }
    transaction
}

#[test]
fn a_rename_that_fails_undoes_those_before_it() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["one", "two", "last"] {
        fs::write(directory.path().join(name), name).unwrap();
    }
    let before = contents(directory.path());
    for root in roots(directory.path()) {
        let transaction = staged(&root);
        let last = transaction.staged.last().unwrap();
        fs::remove_file(directory.path().join(&last.temporary)).unwrap();
        let error = transaction.commit().unwrap_err();
        assert!(matches!(error, ChangeSetError::Path(_)), "{error:?}");
        assert_eq!(contents(directory.path()), before);
    }
}

#[test]
fn a_set_that_is_dropped_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["one", "two", "last"] {
        fs::write(directory.path().join(name), name).unwrap();
    }
    let before = contents(directory.path());
    for root in roots(directory.path()) {
        drop(staged(&root));
        assert_eq!(contents(directory.path()), before);
    }
}

#[test]
fn what_cannot_be_put_back_is_kept_and_named() {
    for portably in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        fs::write(path.join("one"), "precious").unwrap();
        let [special, portable] = roots(path);
        let root = if portably { portable } else { special };
        let mut transaction = FileTransaction::new(&root, ChangeTag::new(1));
        transaction.stage(write("one", "new")).unwrap();
        let mut steps = Vec::new();
        transaction.make_steps(&mut steps).unwrap();
        // Undoing renames over the target, which fails if a directory is in its place.
        fs::remove_file(path.join("one")).unwrap();
        fs::create_dir_all(path.join("one/in the way")).unwrap();
        let error = transaction.undo(&steps, ChangeSetError::Changed { path: "other".into() });
        drop(transaction);
        match error {
            // Two names can be exchanged whatever their kinds, so this one is restored even now.
            ChangeSetError::Changed { .. } if !portably => {
                assert_eq!(fs::read_to_string(path.join("one")).unwrap(), "precious");
            }
            ChangeSetError::RollbackFailed { kept, .. } if portably => {
                assert_eq!(fs::read_to_string(path.join(kept)).unwrap(), "precious");
            }
            error => panic!("{error:?}"),
        }
    }
}

#[test]
fn a_file_that_another_process_put_there_meanwhile_is_not_lost() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for root in roots(path) {
        for change in [write("one", "ours"), remove("one")] {
            fs::write(path.join("one"), "seen").unwrap();
            let mut transaction = FileTransaction::new(&root, ChangeTag::new(1));
            transaction.stage(change).unwrap();
            let old = transaction.staged[0].check_target().unwrap();
            fs::write(path.join("other"), "theirs").unwrap();
            fs::rename(path.join("other"), path.join("one")).unwrap();
            let mut steps = Vec::new();
            let specially = root.inner.renames_specially;
            let cause = transaction.staged[0].make(old, specially, &mut steps).unwrap_err();
            let error = transaction.undo(&steps, cause);
            drop(transaction);
            assert!(matches!(error, ChangeSetError::Changed { .. }), "{error:?}");
            assert_eq!(contents(path), BTreeMap::from([("one".into(), "theirs".into())]));
        }
    }
}

#[test]
fn a_new_file_does_not_replace_one_that_turned_up_meanwhile() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for root in roots(path) {
        let mut transaction = FileTransaction::new(&root, ChangeTag::new(1));
        transaction.stage(write("one", "ours")).unwrap();
        fs::write(path.join("one"), "theirs").unwrap();
        let mut steps = Vec::new();
        let specially = root.inner.renames_specially;
        let cause = transaction.staged[0].make(None, specially, &mut steps).unwrap_err();
        let error = transaction.undo(&steps, cause);
        drop(transaction);
        assert!(matches!(error, ChangeSetError::Changed { .. }), "{error:?}");
        assert_eq!(contents(path), BTreeMap::from([("one".into(), "theirs".into())]));
        fs::remove_file(path.join("one")).unwrap();
    }
}

#[test]
fn a_replacement_is_later_than_what_it_replaces() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("one");
    let modified = || fs::metadata(&file).unwrap().modified().unwrap();
    for root in roots(directory.path()) {
        // Simulates a file system clock that has not ticked since the last replacement.
        fs::write(&file, "old").unwrap();
        let ahead = SystemTime::now() + Duration::from_millis(900);
        File::options().write(true).open(&file).unwrap().set_modified(ahead).unwrap();
        root.apply(vec![write("one", "new")]).unwrap();
        assert_eq!(modified(), ahead + Duration::from_nanos(1));

        // A time that a person set on purpose is not continued.
        let far_ahead = SystemTime::now() + Duration::from_secs(3_600);
        File::options().write(true).open(&file).unwrap().set_modified(far_ahead).unwrap();
        root.apply(vec![write("one", "newer")]).unwrap();
        assert!(modified() < far_ahead);
    }
}
