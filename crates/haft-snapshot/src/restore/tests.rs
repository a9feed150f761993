//! Restores that stop after any number of steps, and the state that they leave.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::replacement::temporary_name;
use super::*;
use crate::id::ObjectId;
use crate::objects::RecordDurability;
use crate::record::{ChangeScope, RecordOptions};
use crate::state::{FileOwner, RecordedFile};
use crate::tree::{TreeNode, TreeObject};

/// More steps than any restore here takes.
const STEPS_MAX: usize = 100;

struct Place {
    directory: tempfile::TempDir,
    store: SnapshotStore,
    root: Root,
}

impl Place {
    fn new() -> Place {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("work")).unwrap();
        let store = SnapshotStore::open(&directory.path().join("store")).unwrap();
        let root = Root::open(&directory.path().join("work")).unwrap();
        Place { directory, store, root }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.directory.path().join("work").join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn set_mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.at(path), Permissions::from_mode(mode)).unwrap();
    }

    /// Restores as if the process were killed after some steps.
    fn restore_some(&self, [from, to]: [TreeId; 2], steps: usize) {
        let composed = self.store.compose(&[[to, from]]).unwrap();
        self.store.undo_some(&self.root, &composed, OverwritePolicy::Refuse, steps).unwrap();
    }

    fn record(&self) -> TreeId {
        self.store
            .record(&self.root, &RecordOptions::default(), ChangeScope::Anything)
            .unwrap()
            .tree
    }

    /// Returns the states of all existing paths.
    fn states(&self) -> BTreeMap<PathBuf, String> {
        let empty = self
            .store
            .objects
            .begin_writing(RecordDurability::AtOnce)
            .put_object(&TreeObject::default().encode())
            .unwrap();
        let changes = self.store.diff(TreeId(empty), self.record()).unwrap();
        changes.into_iter().map(|change| (change.path, format!("{:?}", change.after))).collect()
    }
}

/// Creates a workspace before and after a change of every kind of entry in every way, including
/// directories that their owner cannot work in.
fn changed() -> (Place, [TreeId; 2]) {
    let place = Place::new();
    for path in ["file", "to-directory", "to-file/x/y", "gone/x/y", "read-only/a", "closed/b"] {
        place.write(path, path);
    }
    std::os::unix::fs::symlink("file", place.at("link")).unwrap();
    place.set_mode("read-only", 0o555);
    place.set_mode("closed", 0o755);
    let before = place.record();
    place.write("file", "new");
    place.set_mode("file", 0o640);
    for path in ["to-file", "gone"] {
        fs::remove_dir_all(place.at(path)).unwrap();
    }
    fs::remove_file(place.at("to-directory")).unwrap();
    fs::remove_file(place.at("link")).unwrap();
    place.write("to-file", "is a file");
    place.write("to-directory/z", "is in a directory");
    place.write("new/and/empty/../file", "new");
    std::os::unix::fs::symlink("elsewhere", place.at("link")).unwrap();
    place.set_mode("read-only", 0o755);
    place.write("read-only/a", "new");
    place.write("closed/b", "new");
    place.set_mode("read-only", 0o555);
    place.set_mode("closed", 0o500);
    let after = place.record();
    (place, [before, after])
}

/// Opens the directories that tests close, so that the workspace can be removed.
fn open(place: &Place) {
    for path in ["read-only", "closed"] {
        place.set_mode(path, 0o755);
    }
}

#[test]
fn a_restore_cut_short_leaves_old_or_new_and_is_completed_by_another() {
    for steps in 0..STEPS_MAX {
        let (place, [before, after]) = changed();
        let new = place.states();
        let trees = [after, before];
        place.restore_some(trees, steps);
        let cut = place.states();
        place.store.restore(&place.root, trees, OverwritePolicy::Refuse).unwrap();
        let old = place.states();
        assert_eq!(place.record(), before, "after {steps} steps");
        for (path, state) in &cut {
            let is_whole = old.get(path) == Some(state) || new.get(path) == Some(state);
            // A directory may have working bits in addition to its own.
            let is_open = state.contains("Directory");
            assert!(is_whole || is_open, "after {steps} steps, {}: {state}", path.display());
        }
        open(&place);
        if cut == old {
            assert!(steps > 15, "only {steps} steps, fewer than changes");
            return;
        }
    }
    panic!("a restore took more than {STEPS_MAX} steps");
}

#[test]
fn what_a_killed_restore_left_beside_a_path_is_removed() {
    let place = Place::new();
    place.write("dir/file", "old");
    let before = place.record();
    place.write("dir/file", "new");
    let after = place.record();
    let left = place.at("dir").join(temporary_name(Path::new("dir/file")));
    fs::write(&left, "half").unwrap();
    place.store.restore(&place.root, [after, before], OverwritePolicy::Refuse).unwrap();
    assert!(!left.exists());
    fs::create_dir(&left).unwrap();
    place.store.restore(&place.root, [after, before], OverwritePolicy::Refuse).unwrap();
    assert!(!left.exists());
}

#[test]
fn temporaries_are_known_as_such() {
    for path in ["a", "a/b", "some/long/path"] {
        assert!(haft_sandbox::is_temporary(temporary_name(Path::new(path)).as_ref()));
    }
}

#[test]
fn one_process_restores_a_root_at_a_time() {
    let place = Place::new();
    let tree = place.record();
    let path = place.store.root_directory(&place.root).unwrap().join("restoring");
    let lock = open_lock(&path).unwrap();
    rustix::fs::flock(&lock, FlockOperation::LockExclusive).unwrap();
    let err = place.store.restore(&place.root, [tree, tree], OverwritePolicy::Refuse).unwrap_err();
    assert!(matches!(err, RestoreError::Store(SnapshotStoreError::Busy)), "{err}");
}

/// Records an imaginary workspace: one file that runs as its owner.
fn with_owner(place: &Place, owner: FileOwner) -> TreeId {
    let mut writing = place.store.objects.begin_writing(RecordDurability::AtOnce);
    let content = crate::id::ContentId(writing.put_object(b"program").unwrap());
    let file = RecordedFile { content, size_bytes: 7, mode: 0o4755, owner: Some(owner) };
    let mut tree = TreeObject::default();
    tree.set("program".as_ref(), TreeNode::File(file));
    TreeId(writing.put_object(&tree.encode()).unwrap())
}

#[test]
fn a_file_runs_as_nobody_else_than_it_did() {
    use std::os::unix::fs::MetadataExt as _;
    let place = Place::new();
    let before = place.record();
    let owner = FileOwner { user: 54_321, group: 54_321 };
    let tree = with_owner(&place, owner);
    let restored =
        place.store.restore(&place.root, [before, tree], OverwritePolicy::Refuse).unwrap();
    let metadata = fs::metadata(place.at("program")).unwrap();
    let is_owned = (metadata.uid(), metadata.gid()) == (owner.user, owner.group);
    // A privileged user can set the owner; otherwise the file becomes an ordinary file.
    assert_eq!(is_owned, rustix::process::geteuid().is_root());
    let (bits, weakened) =
        if is_owned { (0o4755, vec![]) } else { (0o755, vec![PathBuf::from("program")]) };
    assert_eq!(metadata.mode() & 0o7777, bits);
    assert_eq!(restored.weakened, weakened);
}

#[test]
fn bits_that_speak_of_another_owner_are_not_given_in_place() {
    let place = Place::new();
    place.write("program", "program");
    place.set_mode("program", 0o755);
    let before = place.record();
    let tree = with_owner(&place, FileOwner { user: 54_321, group: 54_321 });
    let restored =
        place.store.restore(&place.root, [before, tree], OverwritePolicy::Refuse).unwrap();
    assert_eq!(restored.weakened, [PathBuf::from("program")]);
    let mode = fs::metadata(place.at("program")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
    assert_eq!(ObjectId::of(&fs::read(place.at("program")).unwrap()), ObjectId::of(b"program"));
}
