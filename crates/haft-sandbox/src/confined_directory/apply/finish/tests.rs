//! A process dies between any two steps of a change set. After finishing, either all or none of the
//! changes are in place.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use super::super::super::change::{ExpectedFile, RootFileChange};
use super::super::stage::FileTransaction;
use super::*;

const TAG: ChangeTag = ChangeTag::new(0xfeed);

fn changes() -> Vec<RootFileChange> {
    let write = |path: &str, contents: &str| RootFileChange::Write {
        path: path.into(),
        contents: contents.as_bytes().to_vec(),
        mode: None,
        expected: ExpectedFile::Any,
    };
    vec![
        write("one", "new one"),
        RootFileChange::Remove { path: "two".into(), expected: ExpectedFile::Any },
        write("fresh", "new fresh"),
        write("made/x", "new x"),
        write("same", "same"),
        write("last", "new last"),
    ]
}

fn targets() -> Vec<ChangeTarget<String>> {
    let target = |path: &str, before: Option<&str>, after: Option<&str>| ChangeTarget {
        path: path.into(),
        before: before.map(str::to_owned),
        after: after.map(str::to_owned),
    };
    vec![
        target("one", Some("one"), Some("new one")),
        target("two", Some("two"), None),
        target("fresh", None, Some("new fresh")),
        target("made/x", None, Some("new x")),
        target("same", Some("same"), Some("same")),
        target("last", Some("last"), Some("new last")),
    ]
}

fn before() -> BTreeMap<String, String> {
    ["one", "two", "same", "last"].map(|name| (name.to_owned(), name.to_owned())).into()
}

fn after() -> BTreeMap<String, String> {
    let pairs = [("one", "new one"), ("fresh", "new fresh"), ("made/x", "new x")];
    let more = [("same", "same"), ("last", "new last")];
    pairs.into_iter().chain(more).map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
}

/// Returns every file beneath a directory.
fn contents(directory: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![directory.to_path_buf()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(next).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let name = path.strip_prefix(directory).unwrap().to_str().unwrap().to_owned();
                found.insert(name, fs::read_to_string(path).unwrap());
            }
        }
    }
    found
}

/// Stages `staged` changes of the set, makes its first `steps` renames, and dies.
fn die(root: &Root, staged: usize, steps: usize) {
    let mut transaction = FileTransaction::new(root, TAG);
    for change in changes().into_iter().take(staged) {
        transaction.stage(change).unwrap();
    }
    for staged in transaction.staged.iter().take(steps) {
        let old = staged.check_target().unwrap();
        staged.make(old, root.inner.renames_specially, &mut Vec::new()).unwrap();
    }
    std::mem::forget(transaction);
}

fn finish(root: &Root) -> ChangeSetState {
    let read = |file: &mut File| {
        let mut text = String::new();
        file.read_to_string(&mut text).map(|_| text)
    };
    root.finish_changes(TAG, &targets(), read).unwrap()
}

fn check(staged: usize, steps: usize, disturb: impl Fn(&Path), expect: ChangeSetState) {
    for open in [Root::open, Root::open_portably] {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in before() {
            fs::write(directory.path().join(name), text).unwrap();
        }
        die(&open(directory.path()).unwrap(), staged, steps);
        disturb(directory.path());
        let disturbed = contents(directory.path());
        let finished = finish(&open(directory.path()).unwrap());
        assert_eq!(finished, expect, "{staged} staged, {steps} steps");
        let expected = match finished {
            ChangeSetState::Applied => after(),
            ChangeSetState::NotApplied => before(),
            ChangeSetState::Unclear => disturbed,
        };
        assert_eq!(contents(directory.path()), expected, "{staged} staged, {steps} steps");
        // An interruption while finishing must do no harm.
        assert_eq!(finish(&open(directory.path()).unwrap()), finished);
    }
}

#[test]
fn a_set_that_was_only_staged_leaves_nothing() {
    for staged in 0..=changes().len() {
        check(staged, 0, |_| (), ChangeSetState::NotApplied);
    }
}

#[test]
fn a_set_that_was_begun_is_made() {
    for steps in 1..=changes().len() {
        check(changes().len(), steps, |_| (), ChangeSetState::Applied);
    }
}

#[test]
fn a_set_whose_new_contents_are_lost_is_taken_back() {
    let lose = |directory: &Path| {
        for (name, text) in contents(directory) {
            if name.starts_with(".haft-") && text == "new last" {
                fs::remove_file(directory.join(name)).unwrap();
            }
        }
    };
    check(changes().len(), 3, lose, ChangeSetState::NotApplied);
}

#[test]
fn what_somebody_else_changed_is_left_alone() {
    let write = |directory: &Path| fs::write(directory.join("one"), "mine").unwrap();
    check(changes().len(), 2, write, ChangeSetState::Unclear);
    let make_directory = |directory: &Path| fs::create_dir(directory.join("fresh")).unwrap();
    check(changes().len(), 2, make_directory, ChangeSetState::Unclear);
}

#[test]
fn a_tag_is_read_back() {
    let check = |text: &str, expect: Option<ChangeTag>| assert_eq!(ChangeTag::parse(text), expect);
    check(&TAG.to_string(), Some(TAG));
    for text in ["", "feed", "0000fee", "0000feeg", "+000feed", "00000feed"] {
        check(text, None);
    }
}
