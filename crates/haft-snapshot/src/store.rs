//! The store as a directory: its format, its locks, its objects by name, and the removal of
//! unneeded objects. The contents of workspaces and restoring are handled elsewhere.

use std::collections::HashSet;
use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use haft_sandbox::Root;
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::error::SnapshotStoreError;
use crate::hidden_paths::{HiddenPaths, RootHiddenPaths};
use crate::id::{ContentId, ObjectId, TreeId};
use crate::limits::TREE_BYTES_MAX;
use crate::objects::{ObjectStore, make_private_directory, open_private};
use crate::tree::{TreeNode, TreeObject};

const FORMAT: &str = "haft snapshots 1\n";

/// The file in a root's directory that contains the cache of file states.
pub(crate) const CACHE_NAME: &str = "cache";

/// Bytes of an unknown format file that are read for the error message.
const FORMAT_BYTES_MAX: u64 = 64;

/// A directory that stores snapshots of workspaces.
///
/// Any number of processes may use one store at the same time.
#[derive(Debug)]
pub struct SnapshotStore {
    directory: PathBuf,
    hidden: HiddenPaths,
    pub(crate) objects: ObjectStore,
}

/// Prevents every process from pruning the store until it is dropped.
#[derive(Debug)]
#[must_use = "pruning is possible again as soon as this is dropped"]
pub struct SharedStoreLock {
    _lock: File,
}

/// Exclusive access to the store, until it is pruned or this is dropped.
#[derive(Debug)]
#[must_use = "others can use the store as soon as this is dropped"]
pub struct ExclusiveStore {
    store: SnapshotStore,
    _lock: File,
}

/// The result of pruning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SnapshotPruneReport {
    /// The number of removed objects.
    pub removed: u64,
    /// Their total size in bytes.
    pub removed_bytes: u64,
    /// The number of remaining objects.
    pub kept: u64,
    /// Their total size in bytes.
    pub kept_bytes: u64,
    /// The number of directories that should have been kept but are missing or damaged in the
    /// store.
    pub lost: u64,
}

/// The size of a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreSize {
    /// The number of objects.
    pub objects: u64,
    /// Their total size in bytes.
    pub bytes: u64,
}

impl SnapshotStore {
    /// Opens the store in `directory`. Creates it if necessary, accessible only to its owner.
    ///
    /// # Errors
    ///
    /// [`SnapshotStoreError::Version`] if another version created it, [`SnapshotStoreError::Io`] if
    /// it cannot be used.
    pub fn open(directory: &Path) -> Result<SnapshotStore, SnapshotStoreError> {
        make_private_directory(directory)
            .and_then(|()| fs::set_permissions(directory, Permissions::from_mode(0o700)))
            .and_then(|()| make_private_directory(&directory.join("roots")))
            .map_err(SnapshotStoreError::io("make its directory"))?;
        let directory =
            directory.canonicalize().map_err(SnapshotStoreError::io("find its directory"))?;
        let objects = ObjectStore::open(&directory)?;
        let store = SnapshotStore { directory, hidden: HiddenPaths::default(), objects };
        let path = store.directory.join("format");
        let mut found = String::new();
        match File::open(&path) {
            Ok(file) => {
                file.take(FORMAT_BYTES_MAX)
                    .read_to_string(&mut found)
                    .map_err(SnapshotStoreError::io("read its format"))?;
            }
            // The file appears in one step: two processes may create the store at the same time.
            Err(err) if err.kind() == ErrorKind::NotFound => {
                let _hold = store.lock_shared()?;
                let (temporary, mut file) = store.objects.temporary()?;
                file.write_all(FORMAT.as_bytes())
                    .and_then(|()| file.sync_all())
                    .and_then(|()| fs::rename(temporary, path))
                    .map_err(SnapshotStoreError::io("write its format"))?;
                return Ok(store);
            }
            Err(err) => return Err(SnapshotStoreError::io("read its format")(err)),
        }
        if found == FORMAT {
            return Ok(store);
        }
        Err(SnapshotStoreError::Version {
            found: found.trim_end().to_owned(),
            expected: FORMAT.trim_end(),
        })
    }

    /// Hides these absolute paths and everything below them, wherever they are in a root. They are
    /// neither recorded nor compared nor restored, as if they did not exist. They need not exist.
    #[must_use]
    pub fn with_hidden(mut self, places: impl IntoIterator<Item = PathBuf>) -> SnapshotStore {
        self.hidden = HiddenPaths::new(places);
        self
    }

    /// Prevents every process from pruning this store while the returned lock lives.
    ///
    /// Take it before recording, and drop it once the new tree's name is where the list of trees to
    /// keep is read from. Waits for a prune in progress.
    ///
    /// # Errors
    ///
    /// [`SnapshotStoreError::Io`] if the lock cannot be taken.
    pub fn lock_shared(&self) -> Result<SharedStoreLock, SnapshotStoreError> {
        let lock = self.lock_file()?;
        rustix::io::retry_on_intr(|| rustix::fs::flock(&lock, FlockOperation::LockShared))
            .map_err(SnapshotStoreError::io("lock itself"))?;
        Ok(SharedStoreLock { _lock: lock })
    }

    /// Takes exclusive access to the store, to prune it: no record or restore is in progress
    /// meanwhile, and no [`SharedStoreLock`] is held. Look up the needed trees after this call,
    /// because until then more may be added.
    ///
    /// # Errors
    ///
    /// [`SnapshotStoreError::Busy`] if the store is in use.
    pub fn into_exclusive(self) -> Result<ExclusiveStore, SnapshotStoreError> {
        let lock = self.lock_file()?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(ExclusiveStore { store: self, _lock: lock }),
            Err(Errno::WOULDBLOCK) => Err(SnapshotStoreError::Busy),
            Err(errno) => Err(SnapshotStoreError::io("lock itself")(errno)),
        }
    }

    /// Makes all records survive a loss of power.
    ///
    /// # Errors
    ///
    /// [`SnapshotStoreError::Io`] if the system cannot do so.
    pub fn sync(&self) -> Result<(), SnapshotStoreError> {
        self.objects.sync()
    }

    /// Returns the size of the store.
    ///
    /// # Errors
    ///
    /// [`SnapshotStoreError::Io`] if it cannot be listed.
    pub fn size(&self) -> Result<StoreSize, SnapshotStoreError> {
        let mut size = StoreSize::default();
        let count = |_, bytes| {
            size.objects += 1;
            size.bytes += bytes;
        };
        self.objects.visit(count).map_err(SnapshotStoreError::io("list its objects"))?;
        Ok(size)
    }

    /// Returns the bytes of a recorded file.
    ///
    /// # Errors
    ///
    /// [`SnapshotStoreError::Lost`] or [`SnapshotStoreError::Corrupt`] if the store no longer has
    /// them.
    pub fn content(
        &self,
        content: ContentId,
        size_bytes: u64,
    ) -> Result<Vec<u8>, SnapshotStoreError> {
        self.get(content.0, size_bytes)
    }

    pub(crate) fn tree(&self, tree: TreeId) -> Result<TreeObject, SnapshotStoreError> {
        let bytes = self.get(tree.0, TREE_BYTES_MAX)?;
        TreeObject::decode(&bytes)
            .map_err(|reason| SnapshotStoreError::Malformed { id: tree.to_string(), reason })
    }

    /// Returns the store's directory for data about a root.
    pub(crate) fn root_directory(&self, root: &Root) -> Result<PathBuf, SnapshotStoreError> {
        let name = ObjectId::of(root.path().as_os_str().as_bytes()).to_string();
        let directory = self.directory.join("roots").join(name);
        make_private_directory(&directory)
            .map_err(SnapshotStoreError::io("make its directories"))?;
        Ok(directory)
    }

    /// Returns the hidden paths inside a root.
    pub(crate) fn hidden_within(&self, root: &Root) -> RootHiddenPaths {
        self.hidden.within(root.path())
    }

    /// Returns whether the store is inside the directory at `path`.
    pub(crate) fn is_inside(&self, path: &Path) -> bool {
        self.directory.starts_with(path)
    }

    fn get(&self, id: ObjectId, bytes_max: u64) -> Result<Vec<u8>, SnapshotStoreError> {
        let answer = self.objects.get(id, bytes_max);
        if let Err(SnapshotStoreError::Lost { .. } | SnapshotStoreError::Corrupt { .. }) = &answer {
            // The caches say that the object is stored, which would keep the next record from
            // storing it again.
            self.forget_caches();
        }
        answer
    }

    fn lock_file(&self) -> Result<File, SnapshotStoreError> {
        open_lock(&self.directory.join("lock"))
    }

    /// Removes the caches of file states, which only makes the next record slower.
    fn forget_caches(&self) {
        let Ok(roots) = fs::read_dir(self.directory.join("roots")) else { return };
        for root in roots.flatten() {
            let _ = fs::remove_file(root.path().join(CACHE_NAME));
        }
    }
}

impl ExclusiveStore {
    /// Removes every object that no tree in `keep` needs, and temporaries of dead processes.
    ///
    /// # Errors
    ///
    /// [`SnapshotStoreError`] if the store cannot be read or changed. Objects that were already
    /// removed were not needed.
    pub fn prune_unneeded(
        self,
        keep: impl IntoIterator<Item = TreeId>,
    ) -> Result<SnapshotPruneReport, SnapshotStoreError> {
        let mut pruned = SnapshotPruneReport::default();
        let mut needed = HashSet::new();
        let mut pending: Vec<TreeId> = keep.into_iter().collect();
        while let Some(tree) = pending.pop() {
            if !needed.insert(tree.0) {
                continue;
            }
            let read = match self.store.tree(tree) {
                Ok(read) => read,
                // Its contents can no longer be found. Pruning goes on with the other records.
                Err(SnapshotStoreError::Lost { .. } | SnapshotStoreError::Corrupt { .. }) => {
                    pruned.lost += 1;
                    continue;
                }
                Err(err) => return Err(err),
            };
            for entry in read.entries() {
                match &entry.node {
                    TreeNode::File(file) => {
                        needed.insert(file.content.0);
                    }
                    TreeNode::Directory { tree, .. } => pending.push(*tree),
                    TreeNode::Link { .. } | TreeNode::LeftOut(_) => {}
                }
            }
        }
        let mut unneeded = Vec::new();
        let listed = self.store.objects.visit(|id, bytes| {
            if needed.contains(&id) {
                pruned.kept += 1;
                pruned.kept_bytes += bytes;
            } else {
                unneeded.push((id, bytes));
            }
        });
        listed.map_err(SnapshotStoreError::io("remove objects"))?;
        let removals = unneeded.into_iter().try_for_each(|(id, bytes)| {
            fs::remove_file(self.store.objects.path(id))?;
            pruned.removed += 1;
            pruned.removed_bytes += bytes;
            Ok(())
        });
        let swept = removals.and_then(|()| self.store.objects.remove_temporaries());
        if pruned.removed > 0 {
            // The caches refer to objects that are no longer stored.
            self.store.forget_caches();
        }
        swept.map_err(SnapshotStoreError::io("remove objects"))?;
        Ok(pruned)
    }
}

/// Opens a lock file. It is never removed: a lock on a removed file excludes no other process.
pub(crate) fn open_lock(path: &Path) -> Result<File, SnapshotStoreError> {
    open_private(path).map_err(SnapshotStoreError::io("open its lock"))
}
