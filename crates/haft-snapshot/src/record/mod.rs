//! Records the state of a workspace: as a whole, with a cache that avoids reading unchanged files,
//! or some paths on top of an earlier record. File contents are stored unchanged. Restoring is in
//! another module.

mod cache;
mod file_read;
mod gitignore_rules;
mod options;
mod oversized;
mod tracker;
mod update;
mod walk;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use haft_sandbox::{DirectoryWatch, InodeStamp, Root, RootError};

pub use self::options::RecordOptions;
pub use self::tracker::RecordTracker;

use self::cache::{LazyCache, RecordCacheWriter};
use self::gitignore_rules::SnapshotIgnoreRules;
use self::update::{BaseTree, PathSelection, SelectionExtent, UpdatePosition};
use self::walk::{RecordWalk, WalkedDirectory};
use crate::error::RecordError;
use crate::id::TreeId;
use crate::state::OmittedEntry;
use crate::store::SnapshotStore;

/// The paths that may have changed since the last record.
#[derive(Debug, Clone, Copy)]
pub enum ChangeScope<'a> {
    /// Any path.
    Anything,
    /// Only these canonical paths and paths below them.
    Beneath {
        /// The record that supplies everything else.
        previous: TreeId,
        /// The paths to record again. They need not exist.
        paths: &'a [PathBuf],
    },
    /// Only these canonical paths and paths below them are of interest. Of everything else, only
    /// the directories that lead to them are recorded. Two such records of the same paths show the
    /// changes in between, at a cost that does not depend on other paths.
    Only {
        /// The paths to record. They need not exist.
        paths: &'a [PathBuf],
    },
    /// The same as [`ChangeScope::Only`] without the paths below: of a directory, only its
    /// existence and permission bits are recorded.
    Exactly {
        /// The paths to record. They need not exist.
        paths: &'a [PathBuf],
    },
}

/// The result of recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordReport {
    /// The state of the workspace.
    pub tree: TreeId,
    /// The number of files, directories and links that were inspected.
    pub files: u64,
    /// The number of files that were read.
    pub read: u64,
    /// Their total size in bytes.
    pub read_bytes: u64,
    /// The number of objects that were new to the store.
    pub written: u64,
    /// Their total size in bytes.
    pub written_bytes: u64,
    /// The omitted paths, up to the maximum that is listed.
    pub omitted: Vec<OmittedPath>,
    /// The total number of omitted paths.
    pub omitted_total: u64,
    /// The directories with a `.git`, which is not recorded. A record of some paths lists only those
    /// among them.
    pub repositories: BTreeSet<PathBuf>,
}

/// A path that was omitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmittedPath {
    /// The canonical path.
    pub path: PathBuf,
    /// Its kind, and why it was omitted.
    pub entry: OmittedEntry,
}

impl SnapshotStore {
    /// Records the state of the workspace.
    ///
    /// The record survives a loss of power when this returns, unless `options` defer that. See the
    /// [crate] for details of what is recorded.
    ///
    /// # Errors
    ///
    /// [`RecordError`] if the store or the root cannot be used, or if the workspace exceeds the
    /// limits in `options`. Unreadable or constantly changing files are not an error: they are
    /// omitted and listed.
    pub fn record(
        &self,
        root: &Root,
        options: &RecordOptions,
        changed: ChangeScope<'_>,
    ) -> Result<RecordReport, RecordError> {
        if self.is_inside(root.path()) {
            return Err(RecordError::Inside);
        }
        let _hold = self.lock_shared()?;
        let (base, paths, extent) = match changed {
            ChangeScope::Anything => return Ok(self.walk_all(root, options, None)?.0),
            ChangeScope::Beneath { previous, paths } => {
                (BaseTree::Record(previous), paths, SelectionExtent::Beneath)
            }
            ChangeScope::Only { paths } => (BaseTree::Nothing, paths, SelectionExtent::Beneath),
            ChangeScope::Exactly { paths } => (BaseTree::Nothing, paths, SelectionExtent::Itself),
        };
        let mut selection = PathSelection::default();
        for path in paths {
            selection.add_path(path, extent)?;
        }
        if selection.everything {
            return Ok(self.walk_all(root, options, None)?.0);
        }
        let cache = LazyCache::default();
        let mut walk = self.walk(root, options, &cache)?;
        let place = UpdatePosition { above: &SnapshotIgnoreRules::default(), depth: 0 };
        let walked = walk.update_directory(Path::new(""), base, &selection, place)?;
        walk.finish(walked)
    }

    /// Records everything, and returns the files with several names. `watch` follows every directory
    /// that was listed.
    fn walk_all(
        &self,
        root: &Root,
        options: &RecordOptions,
        watch: Option<&mut DirectoryWatch>,
    ) -> Result<(RecordReport, Vec<(PathBuf, InodeStamp)>), RecordError> {
        let directory = self.root_directory(root)?;
        let fingerprint = options.fingerprint();
        let cache = LazyCache::new(directory.clone(), fingerprint);
        let fresh = RecordCacheWriter::begin_cache(&self.objects, &directory, fingerprint)?;
        let mut walk = self.walk(root, options, &cache)?;
        walk.fresh = Some(fresh);
        walk.watch = watch;
        let walked = walk.directory(Path::new(""), &SnapshotIgnoreRules::default(), 0)?;
        let linked = std::mem::take(&mut walk.linked);
        Ok((walk.finish(walked)?, linked))
    }

    fn walk<'a>(
        &'a self,
        root: &'a Root,
        options: &'a RecordOptions,
        cache: &'a LazyCache,
    ) -> Result<RecordWalk<'a>, RecordError> {
        Ok(RecordWalk {
            store: self,
            root,
            options,
            excluded: gitignore_rules::excluded(&options.excluded)?,
            hidden: self.hidden_within(root),
            writing: self.objects.begin_writing(options.durability),
            cache,
            watch: None,
            linked: Vec::new(),
            repositories: BTreeSet::new(),
            fresh: None,
            counts: RecordCounts::default(),
        })
    }
}

/// The counts of a record in progress.
#[derive(Debug, Default)]
struct RecordCounts {
    files: u64,
    read: u64,
    read_bytes: u64,
    left_out: Vec<OmittedPath>,
    left_out_total: u64,
}

impl RecordWalk<'_> {
    /// Makes the record durable; the cache is written after the objects that it refers to.
    fn finish(self, walked: WalkedDirectory) -> Result<RecordReport, RecordError> {
        let WalkedDirectory::Tree(tree) = walked else {
            let path = PathBuf::new();
            return Err(match self.root.list(&path) {
                Err(err) => err.into(),
                Ok(_) => RootError::Exchanged { path }.into(),
            });
        };
        self.writing.finish()?;
        if let Some(fresh) = self.fresh {
            fresh.finish(self.cache)?;
        }
        let RecordCounts { files, read, read_bytes, left_out, left_out_total } = self.counts;
        Ok(RecordReport {
            tree,
            files,
            read,
            read_bytes,
            written: self.writing.written,
            written_bytes: self.writing.written_bytes,
            omitted: left_out,
            omitted_total: left_out_total,
            repositories: self.repositories,
        })
    }
}
