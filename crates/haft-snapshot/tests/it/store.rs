//! The store used by several processes, and after losses of power.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use expect_test::expect;
use haft_snapshot::{ChangeScope, SnapshotStore, SnapshotStoreError, TreeId};

use crate::Place;

fn objects(place: &Place) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for first in fs::read_dir(place.stored().join("objects")).unwrap() {
        for rest in fs::read_dir(first.unwrap().path()).unwrap() {
            found.push(rest.unwrap().path());
        }
    }
    found.sort();
    found
}

fn object(place: &Place, tree: TreeId, path: &str) -> PathBuf {
    let id = match place.store.look_up(tree, path.as_ref()).unwrap() {
        Some(haft_snapshot::PathState::File(file)) => file.content.to_string(),
        other => panic!("no file: {other:?}"),
    };
    place.stored().join("objects").join(&id[..2]).join(&id[2..])
}

#[test]
fn everything_is_for_its_owner_alone() {
    let place = Place::with(&["a", "b/c"]);
    fs::set_permissions(place.stored(), fs::Permissions::from_mode(0o755)).unwrap();
    let store = SnapshotStore::open(&place.stored()).unwrap();
    store.record(&place.root, &place.options, ChangeScope::Anything).unwrap();
    let mut pending = vec![place.stored()];
    while let Some(path) = pending.pop() {
        let metadata = fs::metadata(&path).unwrap();
        let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(metadata.permissions().mode() & 0o7777, expected, "{}", path.display());
        if metadata.is_dir() {
            pending.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
}

#[test]
fn damaged_objects_are_told_and_replaced_by_the_next_record() {
    let damages: [fn(&Path); 3] = [
        |path| fs::write(path, "").unwrap(),
        |path| fs::write(path, "b").unwrap(),
        |path| fs::remove_file(path).unwrap(),
    ];
    for damage in damages {
        let place = Place::with(&["a"]);
        let tree = place.record();
        place.write("a", "by the call");
        let after = place.record();
        place.write("a", "a");
        // This one comes from the cache, so its damage is not noticed.
        place.record();
        damage(&object(&place, tree, "a"));
        place.write("a", "by the call");
        let err = place.restore(after, tree).unwrap_err();
        assert!(
            matches!(
                err,
                haft_snapshot::RestoreError::Store(
                    SnapshotStoreError::Lost { .. } | SnapshotStoreError::Corrupt { .. }
                )
            ),
            "{err}"
        );
        place.write("a", "a");
        assert_eq!(place.record(), tree);
        place.write("a", "by the call");
        place.restore(after, tree).unwrap();
        assert_eq!(fs::read_to_string(place.at("a")).unwrap(), "a");
    }
}

#[test]
fn a_damaged_directory_is_told() {
    let place = Place::with(&["a/b"]);
    let [before, after] = [place.record(), {
        place.write("a/b", "new");
        place.record()
    }];
    let id = before.to_string();
    fs::write(place.stored().join("objects").join(&id[..2]).join(&id[2..]), "nothing").unwrap();
    let err = place.store.diff(before, after).unwrap_err();
    assert!(matches!(err, SnapshotStoreError::Corrupt { .. }), "{err}");
}

#[test]
fn a_content_is_no_directory() {
    let place = Place::with(&["a"]);
    let tree = place.record();
    let Some(haft_snapshot::PathState::File(file)) =
        place.store.look_up(tree, Path::new("a")).unwrap()
    else {
        panic!("no file")
    };
    let no_tree: TreeId = file.content.to_string().parse().unwrap();
    let err = place.store.diff(tree, no_tree).unwrap_err();
    assert!(matches!(err, SnapshotStoreError::Malformed { .. }), "{err}");
}

#[test]
fn a_damaged_cache_counts_as_none() {
    let place = Place::with(&["a", "b/c"]);
    let tree = place.record();
    let roots: Vec<_> = fs::read_dir(place.stored().join("roots")).unwrap().collect();
    let cache = roots[0].as_ref().unwrap().path().join("cache");
    let bytes = fs::read(&cache).unwrap();
    for length in [0, 1, 40, bytes.len() - 1] {
        fs::write(&cache, &bytes[..length]).unwrap();
        assert_eq!(place.record(), tree, "cut to {length}");
    }
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    fs::write(&cache, flipped).unwrap();
    assert_eq!(place.record(), tree);
}

#[test]
fn pruning_keeps_what_is_needed() {
    let place = Place::with(&["a", "b/c", "same/d"]);
    let first = place.record();
    place.write("b/c", "second");
    let second = place.record();
    place.write("a", "third");
    let third = place.record();
    let before = place.store.size().unwrap();
    fs::write(place.stored().join("tmp/4-2"), "left by one that died").unwrap();
    let pruned = place.prune([second]);
    // The first contents of b/c, both directories that contained it, the third content of a, and
    // the root that contained it.
    assert_eq!((pruned.removed, pruned.lost), (5, 0));
    let after = place.store.size().unwrap();
    assert_eq!(after.objects, before.objects - 5);
    assert_eq!((pruned.kept, pruned.kept_bytes), (after.objects, after.bytes));
    assert_eq!(pruned.removed_bytes, before.bytes - after.bytes);
    assert_eq!(fs::read_dir(place.stored().join("tmp")).unwrap().count(), 0);
    for gone in [first, third] {
        assert!(matches!(place.store.diff(second, gone), Err(SnapshotStoreError::Lost { .. })));
    }
    // Removed objects are stored again, although the files are unchanged.
    assert_eq!(place.record(), third);
    place.restore(third, second).unwrap();
    assert_eq!(place.record(), second);
}

#[test]
fn nothing_is_pruned_while_somebody_holds_the_store() {
    let place = Place::with(&["a"]);
    let hold = place.store.lock_shared().unwrap();
    place.record();
    let other = SnapshotStore::open(&place.stored()).unwrap();
    assert!(matches!(other.into_exclusive(), Err(SnapshotStoreError::Busy)));
    drop(hold);
    assert_eq!(place.prune([]).removed, 2);
}

#[test]
fn a_tree_that_is_lost_does_not_keep_others_from_being_pruned() {
    let place = Place::with(&["a"]);
    let tree = place.record();
    let lost: TreeId = "00".repeat(32).parse().unwrap();
    let pruned = place.prune([lost, tree]);
    assert_eq!((pruned.removed, pruned.kept, pruned.lost), (0, 2, 1));
}

#[test]
fn two_that_record_at_once_record_the_same() {
    let place = Place::new();
    for number in 0..200 {
        place.write(format!("{}/{number}", number % 7), format!("{number}"));
    }
    // Like two processes: each has its own store in the same directory.
    let record = || {
        let store = SnapshotStore::open(&place.stored()).unwrap();
        store.record(&place.root, &place.options, ChangeScope::Anything).unwrap().tree
    };
    let trees: Vec<TreeId> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(record)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(trees.iter().all(|tree| *tree == trees[0]), "{trees:?}");
    let listed = place.listing();
    let names: Vec<PathBuf> =
        listed.keys().filter(|path| path.iter().count() == 1).cloned().collect();
    for name in names {
        place.remove(name);
    }
    let empty = place.record();
    place.restore(empty, trees[0]).unwrap();
    assert_eq!(place.listing(), listed);
}

#[test]
fn another_format_is_refused() {
    let place = Place::with(&["a"]);
    fs::write(place.stored().join("format"), "haft snapshots 2\n").unwrap();
    let err = SnapshotStore::open(&place.stored()).unwrap_err();
    expect![[r#"
        the snapshot store has format `haft snapshots 2`, expected `haft snapshots 1`; use the version of haft that made it, or another directory"#]]
    .assert_eq(&err.to_string());
}

#[test]
fn names_of_trees_are_read_back() {
    let place = Place::with(&["a"]);
    let tree = place.record();
    assert_eq!(tree.to_string().parse(), Ok(tree));
    for text in ["", "abc", &"g".repeat(64), &"A".repeat(64), &"0".repeat(65)] {
        assert!(text.parse::<TreeId>().is_err(), "{text}");
    }
    assert!(!objects(&place).is_empty());
}
