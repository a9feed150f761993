//! The store's guarantees, tested from outside: records, differences and restores. Results are
//! compared by a workspace's listing, with every byte and permission bit.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod compose;
mod diff;
mod random;
mod record;
mod restore;
mod store;
mod tracked;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use haft_sandbox::Root;
use haft_snapshot::{
    ChangeScope, OverwritePolicy, RecordOptions, RecordReport, RestoreError, RestoreReport,
    SnapshotPruneReport, SnapshotStore, TreeId,
};

/// A workspace and a store beside it, both removed with this value.
struct Place {
    directory: tempfile::TempDir,
    root: Root,
    store: SnapshotStore,
    options: RecordOptions,
}

impl Place {
    fn new() -> Place {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("work")).unwrap();
        let root = Root::open(&directory.path().join("work")).unwrap();
        let store = SnapshotStore::open(&directory.path().join("store")).unwrap();
        Place { directory, root, store, options: RecordOptions::default() }
    }

    /// Creates a workspace with these files, each containing its own path; a trailing slash makes a
    /// directory.
    fn with(paths: &[&str]) -> Place {
        let place = Place::new();
        for path in paths {
            match path.strip_suffix('/') {
                Some(directory) => fs::create_dir_all(place.at(directory)).unwrap(),
                None => place.write(path, path),
            }
        }
        place
    }

    fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.path().join(path)
    }

    fn stored(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    fn prune(&self, keep: impl IntoIterator<Item = TreeId>) -> SnapshotPruneReport {
        let store = SnapshotStore::open(&self.stored()).unwrap();
        store.into_exclusive().unwrap().prune_unneeded(keep).unwrap()
    }

    fn write(&self, path: impl AsRef<Path>, contents: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let is_new = !path.exists();
        fs::write(&path, contents).unwrap();
        if is_new {
            // Independent of the umask of this process.
            fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
        }
    }

    fn set_mode(&self, path: impl AsRef<Path>, mode: u32) {
        fs::set_permissions(self.at(path), Permissions::from_mode(mode)).unwrap();
    }

    fn mode(&self, path: impl AsRef<Path>) -> u32 {
        fs::symlink_metadata(self.at(path)).unwrap().permissions().mode() & 0o7777
    }

    fn link(&self, target: impl AsRef<Path>, path: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.at(path)).unwrap();
    }

    fn remove(&self, path: impl AsRef<Path>) {
        let path = self.at(path);
        if fs::symlink_metadata(&path).unwrap().is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }

    fn recorded(&self) -> RecordReport {
        self.store.record(&self.root, &self.options, ChangeScope::Anything).unwrap()
    }

    fn record(&self) -> TreeId {
        self.recorded().tree
    }

    fn record_beneath(&self, previous: TreeId, paths: &[&str]) -> RecordReport {
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        let changed = ChangeScope::Beneath { previous, paths: &paths };
        self.store.record(&self.root, &self.options, changed).unwrap()
    }

    fn restore(&self, from: TreeId, to: TreeId) -> Result<RestoreReport, RestoreError> {
        self.store.restore(&self.root, [from, to], OverwritePolicy::Refuse)
    }

    fn force(&self, from: TreeId, to: TreeId) -> Result<RestoreReport, RestoreError> {
        self.store.restore(&self.root, [from, to], OverwritePolicy::Force)
    }

    fn listing(&self) -> BTreeMap<PathBuf, String> {
        listing(self.root.path())
    }
}

/// Returns everything below a directory, with every byte and permission bit.
fn listing(top: &Path) -> BTreeMap<PathBuf, String> {
    let mut listed = BTreeMap::new();
    let mut pending = vec![top.to_path_buf()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let mode = metadata.permissions().mode() & 0o7777;
            let text = if metadata.is_dir() {
                pending.push(path.clone());
                format!("directory {mode:o}")
            } else if metadata.is_symlink() {
                format!("link to {:?}", fs::read_link(&path).unwrap())
            } else if metadata.is_file() {
                format!("file {mode:o} {:?}", OsStr::from_bytes(&fs::read(&path).unwrap()))
            } else {
                "special".to_owned()
            };
            listed.insert(path.strip_prefix(top).unwrap().to_path_buf(), text);
        }
    }
    listed
}

/// Formats paths and their descriptions, one per line.
fn lines<T>(items: &[T], line: impl Fn(&T) -> String) -> String {
    items.iter().map(|item| line(item) + "\n").collect()
}
