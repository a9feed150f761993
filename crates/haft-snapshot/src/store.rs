//! The store as a directory: its format, its locks, its objects by name, and the removal of what nobody needs. What is in a
//! workspace, and how it is brought back, is not known here.

use std::collections::HashSet;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use haft_sandbox::Root;
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::error::StoreError;
use crate::hidden::{Hidden, HiddenWithin};
use crate::id::{ContentId, ObjectId, TreeId};
use crate::limits::TREE_BYTES_MAX;
use crate::objects::{Objects, make_private_directory, open_private};
use crate::tree::{Node, Tree};

const FORMAT: &str = "haft snapshots 1\n";

/// The name of the file in a root's directory that says what files looked like when they were last read.
pub(crate) const CACHE_NAME: &str = "cache";

/// How much of a format file is read to say what was found there.
const FORMAT_BYTES_MAX: u64 = 64;

/// A directory that holds what workspaces looked like.
///
/// Any number of processes may use one store at the same time.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    hidden: Hidden,
    pub(crate) objects: Objects,
}

/// Keeps every process from pruning the store, until it is dropped.
#[derive(Debug)]
#[must_use = "pruning is possible again as soon as this is dropped"]
pub struct Hold {
    _lock: File,
}

/// Keeps everybody else out of the store, until it is pruned or this is dropped.
#[derive(Debug)]
#[must_use = "others can use the store as soon as this is dropped"]
pub struct Pruning {
    store: Store,
    _lock: File,
}

/// What pruning did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// How many objects were removed.
    pub removed: u64,
    /// How many bytes they had.
    pub removed_bytes: u64,
    /// How many objects are left.
    pub kept: u64,
    /// How many bytes they have.
    pub kept_bytes: u64,
    /// How many directories that should have been kept are missing or damaged in the store.
    pub lost: u64,
}

/// How large a store is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// How many objects it holds.
    pub objects: u64,
    /// How many bytes they have.
    pub bytes: u64,
}

impl Store {
    /// Opens the store in `directory`, which is made if it is not there, for its owner alone.
    ///
    /// # Errors
    ///
    /// [`StoreError::Version`] when another version made it, [`StoreError::Io`] when it cannot be used.
    pub fn open(directory: &Path) -> Result<Store, StoreError> {
        make_private_directory(directory)
            .and_then(|()| fs::set_permissions(directory, Permissions::from_mode(0o700)))
            .and_then(|()| make_private_directory(&directory.join("roots")))
            .map_err(StoreError::io("make its directory"))?;
        let directory = directory.canonicalize().map_err(StoreError::io("find its directory"))?;
        let objects = Objects::open(&directory)?;
        let store = Store { directory, hidden: Hidden::default(), objects };
        store.agree_on_format()?;
        Ok(store)
    }

    /// Never looks at these absolute paths and what is beneath them, wherever they lie in a root: they are neither
    /// recorded nor compared nor brought back, as if they were not there. They need not exist.
    #[must_use]
    pub fn hiding(mut self, places: impl IntoIterator<Item = PathBuf>) -> Store {
        self.hidden = Hidden::new(places);
        self
    }

    /// Keeps every process from pruning this store while the answer lives.
    ///
    /// Whoever records takes one before, and drops it when the new tree's name is where the list of trees to keep is made
    /// from. Waits for a prune that is under way.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the lock cannot be taken.
    pub fn hold(&self) -> Result<Hold, StoreError> {
        let lock = self.lock_file()?;
        rustix::io::retry_on_intr(|| rustix::fs::flock(&lock, FlockOperation::LockShared))
            .map_err(StoreError::io("lock itself"))?;
        Ok(Hold { _lock: lock })
    }

    /// Takes the store for itself alone, to prune it: nothing is being recorded or restored meanwhile, and no [`Hold`] is
    /// held. Which trees are needed is to be looked up after this, because until then there may be more of them.
    ///
    /// # Errors
    ///
    /// [`StoreError::Busy`] when somebody holds the store.
    pub fn into_pruning(self) -> Result<Pruning, StoreError> {
        let lock = self.lock_alone()?;
        Ok(Pruning { store: self, _lock: lock })
    }

    /// Removes every object that none of `keep` needs, and what processes that died have left. `keep` is asked when the store
    /// is locked.
    ///
    /// # Errors
    ///
    /// As [`Store::into_pruning`]; nothing was removed then.
    pub fn prune(&self, keep: impl IntoIterator<Item = TreeId>) -> Result<Pruned, StoreError> {
        let _lock = self.lock_alone()?;
        self.prune_alone(keep)
    }

    /// Makes everything that was recorded last through a loss of power.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the system cannot do so.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.objects.sync()
    }

    /// Returns how large the store is.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when it cannot be listed.
    pub fn size(&self) -> Result<Size, StoreError> {
        let mut size = Size::default();
        let count = |_, bytes| {
            size.objects += 1;
            size.bytes += bytes;
        };
        self.objects.visit(count).map_err(StoreError::io("list its objects"))?;
        Ok(size)
    }

    /// Returns the bytes of a recorded file.
    ///
    /// # Errors
    ///
    /// [`StoreError::Lost`] or [`StoreError::Corrupt`] when the store does not have them any more.
    pub fn content(&self, content: ContentId, size_bytes: u64) -> Result<Vec<u8>, StoreError> {
        self.get(content.0, size_bytes)
    }

    pub(crate) fn tree(&self, tree: TreeId) -> Result<Tree, StoreError> {
        let bytes = self.get(tree.0, TREE_BYTES_MAX)?;
        Tree::decode(&bytes)
            .map_err(|reason| StoreError::Malformed { id: tree.to_string(), reason })
    }

    /// Returns the directory in which the store keeps what it knows of a root.
    pub(crate) fn root_directory(&self, root: &Root) -> Result<PathBuf, StoreError> {
        let name = ObjectId::of(root.path().as_os_str().as_bytes()).to_string();
        let directory = self.directory.join("roots").join(name);
        make_private_directory(&directory).map_err(StoreError::io("make its directories"))?;
        Ok(directory)
    }

    /// Returns what of a root is never looked at.
    pub(crate) fn hidden_within(&self, root: &Root) -> HiddenWithin {
        self.hidden.within(root.path())
    }

    /// Tells whether the store lies in the directory at `path`.
    pub(crate) fn is_inside(&self, path: &Path) -> bool {
        self.directory.starts_with(path)
    }

    fn get(&self, id: ObjectId, bytes_max: u64) -> Result<Vec<u8>, StoreError> {
        let answer = self.objects.get(id, bytes_max);
        if let Err(StoreError::Lost { .. } | StoreError::Corrupt { .. }) = &answer {
            // They say that the object is stored, which keeps the next record from storing it again.
            self.forget_caches();
        }
        answer
    }

    fn agree_on_format(&self) -> Result<(), StoreError> {
        let path = self.directory.join("format");
        let mut found = String::new();
        match File::open(&path) {
            Ok(file) => {
                file.take(FORMAT_BYTES_MAX)
                    .read_to_string(&mut found)
                    .map_err(StoreError::io("read its format"))?;
            }
            Err(err) if err.kind() == ErrorKind::NotFound => return self.write_format(&path),
            Err(err) => return Err(StoreError::io("read its format")(err)),
        }
        if found == FORMAT {
            return Ok(());
        }
        Err(StoreError::Version { found: found.trim_end().to_owned(), expected: FORMAT.trim_end() })
    }

    /// Says what this is, in one step: two processes may be the first.
    fn write_format(&self, path: &Path) -> Result<(), StoreError> {
        let _hold = self.hold()?;
        let (temporary, mut file) = self.objects.temporary()?;
        file.write_all(FORMAT.as_bytes())
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(temporary, path))
            .map_err(StoreError::io("write its format"))
    }

    fn lock_file(&self) -> Result<File, StoreError> {
        open_lock(&self.directory.join("lock"))
    }

    fn lock_alone(&self) -> Result<File, StoreError> {
        let lock = self.lock_file()?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(lock),
            Err(Errno::WOULDBLOCK) => Err(StoreError::Busy),
            Err(errno) => Err(StoreError::io("lock itself")(errno)),
        }
    }

    /// Prunes a store that nobody else is in.
    fn prune_alone(&self, keep: impl IntoIterator<Item = TreeId>) -> Result<Pruned, StoreError> {
        let mut pruned = Pruned::default();
        let needed = self.reach(keep, &mut pruned)?;
        let swept = self.sweep(&needed, &mut pruned);
        if pruned.removed > 0 {
            // What they say was stored is not any more.
            self.forget_caches();
        }
        swept.map_err(StoreError::io("remove objects"))?;
        Ok(pruned)
    }

    /// Forgets what files looked like when they were last read, which only makes the next record slower.
    fn forget_caches(&self) {
        let Ok(roots) = fs::read_dir(self.directory.join("roots")) else { return };
        for root in roots.flatten() {
            let _ = fs::remove_file(root.path().join(CACHE_NAME));
        }
    }

    /// Returns the objects that the trees consist of, as far as they can be read.
    fn reach(
        &self,
        keep: impl IntoIterator<Item = TreeId>,
        pruned: &mut Pruned,
    ) -> Result<HashSet<ObjectId>, StoreError> {
        let mut needed = HashSet::new();
        let mut pending: Vec<TreeId> = keep.into_iter().collect();
        while let Some(tree) = pending.pop() {
            if !needed.insert(tree.0) {
                continue;
            }
            let read = match self.tree(tree) {
                Ok(read) => read,
                // What it held cannot be found any more; that is no reason to keep everything else for good.
                Err(StoreError::Lost { .. } | StoreError::Corrupt { .. }) => {
                    pruned.lost += 1;
                    continue;
                }
                Err(err) => return Err(err),
            };
            for entry in read.entries() {
                match &entry.node {
                    Node::File(file) => {
                        needed.insert(file.content.0);
                    }
                    Node::Directory { tree, .. } => pending.push(*tree),
                    Node::Link { .. } | Node::LeftOut(_) => {}
                }
            }
        }
        Ok(needed)
    }

    fn sweep(&self, needed: &HashSet<ObjectId>, pruned: &mut Pruned) -> io::Result<()> {
        let mut unneeded = Vec::new();
        self.objects.visit(|id, bytes| {
            if needed.contains(&id) {
                pruned.kept += 1;
                pruned.kept_bytes += bytes;
            } else {
                unneeded.push((id, bytes));
            }
        })?;
        for (id, bytes) in unneeded {
            self.objects.remove(id)?;
            pruned.removed += 1;
            pruned.removed_bytes += bytes;
        }
        self.objects.remove_temporaries()
    }
}

impl Pruning {
    /// Removes every object that none of `keep` needs, and what processes that died have left.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the store cannot be read or changed; what was removed until then was not needed.
    pub fn finish(self, keep: impl IntoIterator<Item = TreeId>) -> Result<Pruned, StoreError> {
        self.store.prune_alone(keep)
    }
}

/// Opens a file that serves as a lock. It is never removed: a lock on a removed file excludes nobody.
pub(crate) fn open_lock(path: &Path) -> Result<File, StoreError> {
    open_private(path).map_err(StoreError::io("open its lock"))
}
