//! Records of single paths, and several pairs of records that are undone together.

use std::fs;
use std::path::PathBuf;

use expect_test::{Expect, expect};
use haft_sandbox::Root;
use haft_snapshot::{
    ChangeScope, ComposedChanges, OverwritePolicy, PathState, RecordDurability, RecordOptions,
    RestoreError, SnapshotStore, TreeId,
};

use crate::{Place, lines};

impl Place {
    fn record_only(&self, paths: &[&str]) -> TreeId {
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        let changed = ChangeScope::Only { paths: &paths };
        self.store.record(&self.root, &self.options, changed).unwrap().tree
    }

    fn empty(&self) -> TreeId {
        self.record_only(&[])
    }

    fn undo(&self, composed: &ComposedChanges) -> Result<(), RestoreError> {
        self.store.undo(&self.root, composed, OverwritePolicy::Refuse).map(|_| ())
    }
}

fn check(place: &Place, tree: TreeId, expect: Expect) {
    let changes = place.store.diff(place.empty(), tree).unwrap();
    let text = lines(&changes, |change| {
        let kind = match &change.after {
            Some(PathState::File(file)) => format!("{} bytes", file.size_bytes),
            Some(PathState::Directory { .. }) => "directory".to_owned(),
            Some(PathState::Omitted(left_out)) => left_out.reason.to_string(),
            Some(PathState::Link { .. }) => "link".to_owned(),
            None => "nothing".to_owned(),
        };
        format!("{} {kind}", change.path.display())
    });
    expect.assert_eq(&text);
}

#[test]
fn only_the_named_paths_and_the_way_to_them_are_recorded() {
    let place = Place::with(&["a/b/file", "a/b/beside", "a/other", "top", "whole/x/y", "whole/z"]);
    let tree = place.record_only(&["a/b/file", "whole", "missing/file", ".git/config", "top/x"]);
    check(
        &place,
        tree,
        expect![[r#"
            a directory
            a/b directory
            a/b/file 8 bytes
            top 3 bytes
            whole directory
            whole/x directory
            whole/x/y 9 bytes
            whole/z 7 bytes
        "#]],
    );
    assert_eq!(place.record_only(&[""]), place.record());
}

#[test]
fn a_named_file_is_recorded_where_its_directory_would_be_left_out() {
    let mut place = Place::with(&["modules/one/file", "private/file"]);
    place.write(".gitignore", "modules\n");
    place.options = RecordOptions {
        excluded: vec!["private".to_owned()],
        ignored_files_max: 1,
        ..RecordOptions::default()
    };
    let tree = place.record_only(&["modules/one/file", "private/file"]);
    check(
        &place,
        tree,
        expect![[r#"
            modules directory
            modules/one directory
            modules/one/file 16 bytes
            private excluded
        "#]],
    );
}

#[test]
fn what_is_to_last_later_is_the_same_and_can_be_synced() {
    let place = Place::with(&["a", "b/c"]);
    let other = SnapshotStore::open(&place.directory.path().join("other")).unwrap();
    let options = RecordOptions { durability: RecordDurability::Later, ..RecordOptions::default() };
    let later = other.record(&place.root, &options, ChangeScope::Anything).unwrap().tree;
    other.sync().unwrap();
    assert_eq!(later, place.record());
}

#[test]
fn directories_that_a_change_made_go_unless_something_else_is_in_them() {
    for is_shared in [false, true] {
        let place = Place::with(&["kept"]);
        let before = place.record_only(&["new/deep/file"]);
        place.write("new/deep/file", "x");
        let after = place.record_only(&["new/deep/file"]);
        if is_shared {
            place.write("new/other", "y");
        }
        place.undo(&place.store.compose(&[[before, after]]).unwrap()).unwrap();
        let left: Vec<PathBuf> = place.listing().into_keys().collect();
        let expect: &[&str] = if is_shared { &["kept", "new", "new/other"] } else { &["kept"] };
        assert_eq!(left, expect.iter().map(PathBuf::from).collect::<Vec<_>>());
    }
}

/// Three changes of one file and of others beside it; the middle one is a full record.
fn three_changes(place: &Place) -> Vec<[TreeId; 2]> {
    let mut pairs = Vec::new();
    let only = ["dir/file"];
    let before = place.record_only(&only);
    place.write("dir/file", "one");
    pairs.push([before, place.record_only(&only)]);
    let before = place.record();
    place.write("dir/file", "two");
    place.remove("gone");
    place.write("more", "more");
    pairs.push([before, place.record()]);
    let before = place.record_only(&only);
    place.remove("dir/file");
    pairs.push([before, place.record_only(&only)]);
    pairs
}

#[test]
fn several_changes_are_undone_in_one_step() {
    let place = Place::with(&["dir/file", "gone", "beside"]);
    let before = place.listing();
    let pairs = three_changes(&place);
    let composed = place.store.compose(&pairs).unwrap();
    let changed = lines(&composed.changes(), |change| {
        format!("{} {:?}", change.path.display(), change.kind())
    });
    expect![[r#"
        dir/file Removed
        gone Removed
        more Added
    "#]]
    .assert_eq(&changed);
    let rehearsed =
        place.store.preview_undo(&place.root, &composed, OverwritePolicy::Refuse).unwrap();
    assert_ne!(place.listing(), before);
    let undone = place.store.undo(&place.root, &composed, OverwritePolicy::Refuse).unwrap();
    assert_eq!((rehearsed.written, rehearsed.removed), (undone.written, undone.removed));
    assert_eq!(place.listing(), before);
}

#[test]
fn some_of_the_changes_may_have_been_undone_before() {
    for undone in [0..1, 1..2, 2..3, 1..3] {
        let place = Place::with(&["dir/file", "gone", "beside"]);
        let before = place.listing();
        let pairs = three_changes(&place);
        // A change that a later one covers cannot be undone alone, which changes nothing.
        let _ = place.undo(&place.store.compose(&pairs[undone]).unwrap());
        place.undo(&place.store.compose(&pairs).unwrap()).unwrap();
        assert_eq!(place.listing(), before);
    }
}

#[test]
fn what_something_else_changed_between_is_in_the_way() {
    let place = Place::with(&["file"]);
    let mut pairs = Vec::new();
    for text in ["one", "two"] {
        place.write("file", format!("{text} by hand"));
        let before = place.record_only(&["file"]);
        place.write("file", text);
        pairs.push([before, place.record_only(&["file"])]);
    }
    let composed = place.store.compose(&pairs).unwrap();
    let Err(RestoreError::Conflicts { conflicts }) = place.undo(&composed) else { panic!() };
    let text = lines(&conflicts, ToString::to_string);
    expect![[r#"
        file: something else changed it between the changes that are to be undone
    "#]]
    .assert_eq(&text);
    place.store.undo(&place.root, &composed, OverwritePolicy::Force).unwrap();
    assert_eq!(fs::read_to_string(place.at("file")).unwrap(), "one by hand");
}

#[test]
fn a_store_is_anothers_again_when_its_pruning_is_given_up() {
    let place = Place::with(&["file"]);
    let open = || SnapshotStore::open(&place.stored()).unwrap();
    let pruning = open().into_exclusive().unwrap();
    assert!(open().into_exclusive().is_err());
    drop(pruning);
    let tree = place.record();
    let pruned = open().into_exclusive().unwrap().prune_unneeded([tree]).unwrap();
    assert_eq!((pruned.removed, pruned.lost), (0, 0));
    assert!(Root::open(place.root.path()).is_ok());
}
