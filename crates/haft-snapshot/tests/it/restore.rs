//! Restored paths, kept paths, and conflicts that stop a restore before anything is changed.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use expect_test::{Expect, expect};
use haft_snapshot::{
    ChangeScope, OverwritePolicy, RestoreError, RestoreReport, SnapshotStore, TreeId,
};
use rustix::fs::{CWD, RenameFlags};

use crate::{Place, lines, listing};

/// Makes a change, undoes it, redoes it, and compares each state.
fn check_exact(place: &Place, change: impl FnOnce(&Place)) {
    let (before, listed_before) = (place.record(), place.listing());
    change(place);
    let (after, listed_after) = (place.record(), place.listing());
    let undone = place.restore(after, before).unwrap();
    assert_eq!(place.listing(), listed_before, "undone");
    assert_eq!(place.record(), before);
    assert_eq!(undone.skipped, []);
    place.restore(before, after).unwrap();
    assert_eq!(place.listing(), listed_after, "done again");
    let again = place.restore(before, after).unwrap();
    assert_eq!(
        (again.written, again.created_directories, again.removed, again.changed_modes),
        (0, 0, 0, 0)
    );
    assert_eq!(place.listing(), listed_after, "asked for twice");
}

fn check_conflicts(
    place: &Place,
    [from, to]: [TreeId; 2],
    overwrite: OverwritePolicy,
    expect: Expect,
) {
    let before = place.listing();
    let answer = place.store.restore(&place.root, [from, to], overwrite);
    let Err(RestoreError::Conflicts { conflicts }) = answer else {
        panic!("no conflicts: {answer:?}")
    };
    expect.assert_eq(&lines(&conflicts, ToString::to_string));
    assert_eq!(place.listing(), before, "something was changed");
}

fn check_left_alone(restored: &RestoreReport, expect: Expect) {
    expect.assert_eq(&lines(&restored.skipped, |left| {
        format!("{}: {:?}", left.path.display(), left.reason)
    }));
}

#[test]
fn files_come_back_with_bytes_and_bits() {
    let place = Place::with(&["a", "b/c", "gone", "crlf", "b/mode"]);
    place.write("crlf", "one\r\ntwo\r\n\u{feff}");
    place.set_mode("gone", 0o4751);
    check_exact(&place, |place| {
        place.write("a", [0, 255, 13, 10]);
        place.write("b/new", "");
        place.remove("gone");
        place.write("crlf", "one\ntwo\n");
        place.set_mode("b/mode", 0o2710);
    });
}

#[test]
fn all_permission_bits_come_back() {
    let place = Place::with(&["file", "directory/x"]);
    for bit in 0..12 {
        check_exact(&place, |place| {
            // An unreadable file cannot be recorded.
            place.set_mode("file", 0o400 | (0o600 ^ (1 << bit)));
            place.set_mode("directory", 0o700 | (1 << bit));
        });
    }
}

#[test]
fn links_come_back_as_links() {
    let place = Place::with(&["a", "b/c"]);
    place.link("../outside/the/root", "dangling");
    place.link("b", "to-directory");
    check_exact(&place, |place| {
        place.remove("dangling");
        place.remove("to-directory");
        place.link("a", "to-directory");
        place.link("/", "new");
    });
}

#[test]
fn directories_come_back_even_if_empty() {
    let place = Place::with(&["empty/", "deep/er/and/deeper/", "full/a", "full/b/c"]);
    place.set_mode("empty", 0o1777);
    place.set_mode("deep/er", 0o2750);
    check_exact(&place, |place| {
        place.remove("empty");
        place.remove("deep");
        place.remove("full");
        fs::create_dir_all(place.at("new/and/newer")).unwrap();
    });
}

#[test]
fn kinds_change_back() {
    let place = Place::with(&["file", "directory/a/b", "directory/c", "to-link", "to-link-too/x"]);
    place.link("file", "link");
    check_exact(&place, |place| {
        for path in ["file", "directory", "to-link", "to-link-too", "link"] {
            place.remove(path);
        }
        place.write("file/is/now/a/directory", "");
        place.write("directory", "is now a file");
        place.link("directory", "to-link");
        place.link("directory", "to-link-too");
        fs::create_dir(place.at("link")).unwrap();
    });
}

#[test]
fn read_only_directories_are_worked_in_and_stay_read_only() {
    let place = Place::with(&["ro/a", "ro/sub/b", "ro/sub/c", "free/"]);
    place.set_mode("ro/a", 0o444);
    place.set_mode("ro/sub", 0o555);
    place.set_mode("ro", 0o555);
    check_exact(&place, |place| {
        place.set_mode("ro", 0o755);
        place.set_mode("ro/sub", 0o755);
        place.write("ro/new", "new");
        place.remove("ro/a");
        place.write("ro/a", "changed");
        place.remove("ro/sub/b");
        place.set_mode("ro/sub", 0o500);
        place.set_mode("ro", 0o555);
    });
    // So that the directory can be removed.
    for path in ["ro", "ro/sub"] {
        place.set_mode(path, 0o755);
    }
}

#[test]
fn later_changes_of_other_paths_are_kept() {
    let place = Place::with(&["a", "b", "dir/c"]);
    let before = place.record();
    place.write("a", "by the call");
    place.write("new/by-the-call", "");
    let after = place.record();
    place.write("b", "later");
    place.write("dir/d", "later");
    place.write("new/later", "later");
    let restored = place.restore(after, before).unwrap();
    check_left_alone(
        &restored,
        expect![[r#"
            new: NotEmpty
        "#]],
    );
    let names: Vec<String> = place
        .listing()
        .into_iter()
        .filter(|(_, text)| text.starts_with("file"))
        .map(|(path, _)| {
            format!("{}={}", path.display(), fs::read_to_string(place.at(&path)).unwrap())
        })
        .collect();
    assert_eq!(names, ["a=a", "b=later", "dir/c=dir/c", "dir/d=later", "new/later=later"]);
}

#[test]
fn every_later_change_of_the_same_paths_is_a_conflict() {
    let place = Place::with(&["content", "mode", "gone", "kind", "dir/", "fine", "undone"]);
    place.link("a", "link");
    let before = place.record();
    for path in ["content", "mode", "gone", "kind", "fine", "undone"] {
        place.write(path, "by the call");
    }
    place.write("new", "by the call");
    place.remove("link");
    place.link("b", "link");
    place.remove("dir");
    let after = place.record();
    place.write("content", "by the user");
    place.set_mode("mode", 0o611);
    place.remove("gone");
    place.remove("kind");
    fs::create_dir(place.at("kind")).unwrap();
    place.write("undone", "undone");
    place.write("new", "by the user");
    place.remove("link");
    place.link("c", "link");
    place.write("dir", "by the user");
    check_conflicts(
        &place,
        [after, before],
        OverwritePolicy::Refuse,
        expect![[r#"
            content: it changed since
            dir: it changed since
            gone: it changed since
            kind: it changed since
            link: it changed since
            mode: it changed since
            new: it changed since
        "#]],
    );
    let restored = place.force(after, before).unwrap();
    assert_eq!(restored.unchanged, 1);
    assert_eq!(place.record(), before);
}

#[test]
fn conflicts_in_a_directory_in_conflict_are_listed_too() {
    let place = Place::with(&["dir/a", "dir/b", "other/c"]);
    let before = place.record();
    for path in ["dir", "other"] {
        place.set_mode(path, 0o711);
    }
    for path in ["dir/a", "dir/b", "other/c"] {
        place.write(path, "by the call");
    }
    let after = place.record();
    place.set_mode("dir", 0o700 | 0o1000);
    place.write("dir/a", "by the user");
    place.remove("other");
    check_conflicts(
        &place,
        [after, before],
        OverwritePolicy::Refuse,
        expect![[r#"
            dir: it changed since
            dir/a: it changed since
            other: it changed since
            other/c: it changed since
        "#]],
    );
    place.force(after, before).unwrap();
    assert_eq!(place.record(), before);
}

#[test]
fn what_no_record_knows_is_never_removed() {
    let place = Place::with(&["was-a-file", "a"]);
    let before = place.record();
    place.remove("was-a-file");
    place.write("was-a-file/x", "by the call");
    let after = place.record();
    place.write("was-a-file/y/z", "by the user");
    place.write("was-a-file/.git/HEAD", "by the user");
    for overwrite in [OverwritePolicy::Refuse, OverwritePolicy::Force] {
        check_conflicts(
            &place,
            [after, before],
            overwrite,
            expect![[r#"
                was-a-file/.git: it lies where something must be written; move it away
                was-a-file/y: it lies where something must be written; move it away
            "#]],
        );
    }
}

#[test]
fn a_link_in_the_way_leads_nowhere() {
    let place = Place::with(&["dir/a", "dir/b"]);
    let outside = place.directory.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("b"), "not the workspace's").unwrap();
    let before = place.record();
    place.remove("dir/a");
    place.write("dir/b", "by the call");
    let after = place.record();
    place.remove("dir");
    place.link(&outside, "dir");
    let listed = listing(&outside);
    for overwrite in [OverwritePolicy::Refuse, OverwritePolicy::Force] {
        check_conflicts(
            &place,
            [after, before],
            overwrite,
            expect![[r#"
                dir: it lies where something must be written; move it away
            "#]],
        );
    }
    assert_eq!(listing(&outside), listed);
}

#[test]
fn a_directory_exchanged_for_a_link_meanwhile_leads_nowhere() {
    let place = Place::with(&["dir/a"]);
    let outside = place.directory.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let before = place.record();
    for number in 0..30 {
        place.write(format!("dir/{number}"), "by the call");
    }
    place.write("dir/a", "by the call");
    let after = place.record();
    place.link(&outside, "swap");
    let exchange = || {
        let (dir, swap) = (place.at("dir"), place.at("swap"));
        rustix::fs::renameat_with(CWD, dir, CWD, swap, RenameFlags::EXCHANGE).unwrap();
    };
    let (is_over, order) = (AtomicBool::new(false), Ordering::Relaxed);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(order) {
                exchange();
            }
        });
        for round in 0..100 {
            let trees = if round % 2 == 0 { [after, before] } else { [before, after] };
            // Whether it fails depends on the race; the test checks where it wrote.
            let _ = place.store.restore(&place.root, trees, OverwritePolicy::Force);
        }
        is_over.store(true, order);
    });
    assert_eq!(listing(&outside).len(), 0, "{:?}", listing(&outside));
}

#[test]
fn hard_links_become_files_of_their_own() {
    let place = Place::with(&["one"]);
    fs::hard_link(place.at("one"), place.at("two")).unwrap();
    fs::hard_link(place.at("one"), place.directory.path().join("outside")).unwrap();
    let before = place.record();
    place.write("one", "by the call");
    let after = place.record();
    place.restore(after, before).unwrap();
    let text = |path| fs::read_to_string(path).unwrap();
    assert_eq!([text(place.at("one")), text(place.at("two"))], ["one", "one"]);
    assert_eq!(text(place.directory.path().join("outside")), "by the call");
    assert_ne!(inode(&place, "one"), inode(&place, "two"));
}

#[test]
fn bits_alone_change_in_place() {
    let place = Place::with(&["one"]);
    fs::hard_link(place.at("one"), place.at("two")).unwrap();
    let before = place.record();
    place.set_mode("one", 0o751);
    let after = place.record();
    let restored = place.restore(after, before).unwrap();
    assert_eq!((restored.written, restored.changed_modes), (0, 2));
    assert_eq!(inode(&place, "one"), inode(&place, "two"));
}

fn inode(place: &Place, path: &str) -> u64 {
    fs::metadata(place.at(path)).unwrap().ino()
}

#[test]
fn git_is_not_touched() {
    let place = Place::with(&["nested/.git/HEAD", "nested/file", ".git/index", "a"]);
    let before = place.record();
    for path in ["nested/.git/HEAD", "nested/file", ".git/index", "a", "made/.git/HEAD"] {
        place.write(path, "changed");
    }
    let after = place.record();
    let restored = place.restore(after, before).unwrap();
    check_left_alone(
        &restored,
        expect![[r#"
            made: NotEmpty
        "#]],
    );
    let text = |path| fs::read_to_string(place.at(path)).unwrap();
    assert_eq!(
        ["nested/.git/HEAD", "nested/file", ".git/index", "a", "made/.git/HEAD"].map(text),
        ["changed", "nested/file", "changed", "a", "changed"],
    );
}

#[test]
fn what_was_left_out_is_left_alone() {
    let mut place = Place::with(&["target/a", "excluded", "large", "a"]);
    place.write(".gitignore", "target/\n");
    place.options.excluded = vec!["excluded".into()];
    place.options.file_bytes_max = 11;
    place.options.ignored_files_max = 1;
    place.write("large", "larger than recorded");
    let before = place.record();
    place.write("target/b", "so that it is over the bound");
    place.write("large", "even larger than recorded");
    place.write("new-large", "larger than recorded");
    place.remove("excluded");
    place.write("a", "by the call");
    let after = place.record();
    let restored = place.restore(after, before).unwrap();
    let expected = expect![[r#"
        excluded: Gone(Excluded)
        large: NotRecorded(TooLarge)
        new-large: NotRecorded(TooLarge)
        target: Outgrown
    "#]];
    check_left_alone(&restored, expected);
    let text = |path| fs::read_to_string(place.at(path)).unwrap();
    assert_eq!(text("a"), "a");
    assert_eq!(text("target/a"), "target/a");
    assert_eq!(text("target/b"), "so that it is over the bound");
    assert_eq!(text("large"), "even larger than recorded");
    place.force(after, before).unwrap();
    assert!(!place.at("new-large").exists());
    assert_eq!(text("large"), "even larger than recorded");
}

#[test]
fn a_file_that_grew_too_large_is_a_conflict() {
    let mut place = Place::with(&["a"]);
    place.options.file_bytes_max = 4;
    let before = place.record();
    place.write("a", "too large");
    let after = place.record();
    check_conflicts(
        &place,
        [after, before],
        OverwritePolicy::Refuse,
        expect![[r#"
            a: it would be lost, because it was left out of the record as larger than files may be
        "#]],
    );
    place.force(after, before).unwrap();
    assert_eq!(place.record(), before);
}

#[test]
fn directories_that_went_away_since_are_made_again() {
    let place = Place::with(&["dir/sub/a", "dir/b"]);
    place.set_mode("dir", 0o710);
    place.set_mode("dir/sub", 0o701);
    let before = place.record();
    place.remove("dir/sub/a");
    let after = place.record();
    place.remove("dir");
    place.restore(after, before).unwrap();
    assert_eq!(fs::read_to_string(place.at("dir/sub/a")).unwrap(), "dir/sub/a");
    assert_eq!((place.mode("dir"), place.mode("dir/sub")), (0o710, 0o701));
    assert!(!place.at("dir/b").exists());
}

#[test]
fn nothing_changes_when_the_store_has_lost_a_content() {
    let place = Place::with(&["a", "b"]);
    let before = place.record();
    place.write("a", "by the call");
    place.write("b", "by the call");
    let after = place.record();
    let id = blake3_of(&place, before, "b");
    fs::remove_file(place.stored().join("objects").join(&id[..2]).join(&id[2..])).unwrap();
    let listed = place.listing();
    let err = place.restore(after, before).unwrap_err();
    assert_eq!(
        err.to_string(),
        format!(
            "object {id} is not in the snapshot store; record the workspace again to go on from here"
        )
    );
    assert_eq!(place.listing(), listed);
}

fn blake3_of(place: &Place, tree: TreeId, path: &str) -> String {
    match place.store.look_up(tree, path.as_ref()).unwrap() {
        Some(haft_snapshot::PathState::File(file)) => file.content.to_string(),
        other => panic!("no file: {other:?}"),
    }
}

#[test]
fn a_directory_that_was_closed_is_opened_again() {
    let place = Place::with(&["dir/a", "dir/sub/b"]);
    let before = place.record();
    place.set_mode("dir/sub", 0o555);
    place.set_mode("dir", 0o000);
    let after = place.record();
    if rustix::process::geteuid().is_root() {
        place.restore(after, before).unwrap();
    } else {
        // Its contents can be neither recorded nor compared.
        let answer = place.restore(after, before);
        assert!(matches!(answer, Err(RestoreError::Conflicts { .. })), "{answer:?}");
        assert_eq!(place.mode("dir"), 0o000);
        place.force(after, before).unwrap();
    }
    assert_eq!(place.record(), before);
}

#[test]
fn what_is_hidden_is_neither_recorded_nor_brought_back() {
    let mut place = Place::with(&["log/j", "log/j-wal", "a", "secret/key"]);
    let unhidden = place.record();
    let hidden = ["log/j", "log/j-wal", "log/j-shm", "secret"].map(|path| place.at(path));
    place.store = SnapshotStore::open(&place.stored()).unwrap().with_hidden(hidden);
    let before = place.record();
    for path in ["log/j", "log/j-wal", "log/j-shm", "a", "secret/key"] {
        place.write(path, "changed");
    }
    let after = place.record();
    let paths = |trees: [TreeId; 2]| {
        let changes = place.store.diff(trees[0], trees[1]).unwrap();
        lines(&changes, |change| change.path.display().to_string())
    };
    assert_eq!(paths([before, after]), "a\n");
    let some = ["log/j", "secret/key"].map(PathBuf::from);
    for changed in [
        ChangeScope::Only { paths: &some },
        ChangeScope::Beneath { previous: unhidden, paths: &some },
    ] {
        let tree = place.store.record(&place.root, &place.options, changed).unwrap().tree;
        assert_eq!(place.store.look_up(tree, "log/j".as_ref()).unwrap(), None);
        assert_eq!(place.store.look_up(tree, "secret/key".as_ref()).unwrap(), None);
    }

    // A record from before anything was hidden.
    assert_eq!(paths([unhidden, before]), "log/j\nlog/j-wal\nsecret\nsecret/key\n");
    for overwrite in [OverwritePolicy::Refuse, OverwritePolicy::Force] {
        let restored = place.store.restore(&place.root, [after, unhidden], overwrite).unwrap();
        check_left_alone(
            &restored,
            expect![[r#"
                log/j: Hidden
                log/j-wal: Hidden
                secret: Hidden
                secret/key: Hidden
            "#]],
        );
    }
    let text = |path| fs::read_to_string(place.at(path)).unwrap();
    assert_eq!(
        ["a", "log/j", "log/j-shm", "secret/key"].map(text),
        ["a", "changed", "changed", "changed"]
    );
}

#[test]
fn what_would_be_lost_for_good_is_found_before() {
    let mut place = Place::with(&["small", "large", "gone"]);
    let before = place.record();
    for path in ["small", "large", "new"] {
        place.write(path, "by the call");
    }
    place.remove("gone");
    let after = place.record();
    place.write("large", "much larger by the user");
    place.options.file_bytes_max = 12;
    let composed = place.store.compose(&[[before, after]]).unwrap();
    assert_eq!(composed.largest_bytes(), 11);
    let lost = place
        .store
        .backup_overwritten(&place.root, &composed, OverwritePolicy::Force, &place.options)
        .unwrap();
    assert_eq!(
        lines(&lost, |lost| format!("{}: {}", lost.path.display(), lost.entry.reason)),
        "large: larger than files may be\n"
    );
    place.options.file_bytes_max = 100;
    let lost = place
        .store
        .backup_overwritten(&place.root, &composed, OverwritePolicy::Force, &place.options)
        .unwrap();
    assert_eq!(lost, []);
}
