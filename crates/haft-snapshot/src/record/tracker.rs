//! Records one root again and again at the cost of what changed. Between two records, a watch follows
//! every directory of the first. A whole walk replaces it whenever something may have changed that
//! the watch cannot tell.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use haft_sandbox::{DirectoryWatch, InodeStamp, NameChange, Root, RootError, WatchedEvents};

use super::RecordReport;
use super::cache::{LazyCache, cache_stamp, is_stable, now_ns};
use super::gitignore_rules::SnapshotIgnoreRules;
use super::options::RecordOptions;
use super::update::{BaseTree, PathSelection, SelectionExtent, UpdatePosition};
use crate::directory::parent_of;
use crate::error::RecordError;
use crate::id::{ObjectId, TreeId};
use crate::limits::LINKED_FILES_MAX;
use crate::store::SnapshotStore;

/// Follows a root between the records of one process.
///
/// Use one tracker for one root, one store and the same options. Two kinds of changes are found late,
/// because the kernel does not report them: a file that another process maps into memory counts as
/// changed when that process closes it, and a file that gets a second name outside of the root counts
/// as changed when the root is walked as a whole.
#[derive(Debug, Default)]
pub struct RecordTracker {
    last: Option<TrackedRecord>,
}

/// The last record, and all that follows the changes since.
#[derive(Debug)]
struct TrackedRecord {
    tree: TreeId,
    watch: DirectoryWatch,
    /// The cache file after the last whole walk. If another process recorded the root or pruned the
    /// store since, it differs, and objects of `tree` may be gone.
    cache: Option<InodeStamp>,
    fingerprint: ObjectId,
    /// Files with several names. They can change without an event in their directory.
    linked: BTreeMap<PathBuf, LinkedFile>,
    /// The directories in which a `.git` was ever seen.
    repositories: BTreeSet<PathBuf>,
}

/// A file with several names.
#[derive(Debug)]
struct LinkedFile {
    stamp: InodeStamp,
    /// Whether every later change shows in its times.
    is_stable: bool,
}

impl SnapshotStore {
    /// Records the state of the whole workspace, as [`record`](Self::record) does. Walks only what
    /// changed since the tracker's last record, if it knows that.
    ///
    /// # Errors
    ///
    /// The same as for [`record`](Self::record).
    pub fn record_tracked(
        &self,
        root: &Root,
        options: &RecordOptions,
        tracker: &mut RecordTracker,
    ) -> Result<RecordReport, RecordError> {
        if self.is_inside(root.path()) {
            return Err(RecordError::Inside);
        }
        let _hold = self.lock_shared()?;
        // If this record fails, the next one walks everything.
        if let Some(mut last) = tracker.last.take()
            && let Some(report) = self.record_changes(root, options, &mut last)?
        {
            tracker.last = Some(last);
            return Ok(report);
        }
        let directory = self.root_directory(root)?;
        let begun_ns = now_ns(&directory)?;
        let mut watch = DirectoryWatch::new(WatchedEvents::Contents);
        let (report, linked) = self.walk_all(root, options, watch.as_mut())?;
        tracker.last = watch.filter(|_| linked.len() <= LINKED_FILES_MAX).map(|watch| {
            let linked = linked.into_iter().map(|(path, stamp)| {
                (path, LinkedFile { stamp, is_stable: is_stable(&stamp, begun_ns) })
            });
            TrackedRecord {
                tree: report.tree,
                watch,
                cache: cache_stamp(&directory),
                fingerprint: options.fingerprint(),
                linked: linked.collect(),
                repositories: report.repositories.clone(),
            }
        });
        Ok(report)
    }

    /// Records what changed since the last record. Returns `None` if that is not known, or everything.
    fn record_changes(
        &self,
        root: &Root,
        options: &RecordOptions,
        last: &mut TrackedRecord,
    ) -> Result<Option<RecordReport>, RecordError> {
        let directory = self.root_directory(root)?;
        if last.fingerprint != options.fingerprint() || last.cache != cache_stamp(&directory) {
            return Ok(None);
        }
        let begun_ns = now_ns(&directory)?;
        let Some(changes) = last.watch.take_changes() else { return Ok(None) };
        let mut selection = PathSelection::default();
        let paths = changes
            .trees
            .iter()
            .map(|path| (path, SelectionExtent::Beneath))
            .chain(changes.names.keys().map(|path| (path, SelectionExtent::Itself)));
        for (path, extent) in paths {
            // These names change how the whole directory is recorded.
            if path.file_name().is_some_and(|name| name == ".gitignore" || name == ".git") {
                let parent = parent_of(path);
                if parent.as_os_str().is_empty() {
                    return Ok(None);
                }
                selection.add_path(parent, SelectionExtent::Beneath)?;
            }
            // A file was written after its name had gone. It may have another name.
            if changes.names.get(path) == Some(&NameChange::Changed)
                && matches!(root.metadata(path), Err(RootError::NotFound { .. }))
            {
                return Ok(None);
            }
            selection.add_path(path, extent)?;
        }
        for (path, file) in &last.linked {
            let stamp = root.metadata(path).map(|metadata| metadata.stamp).ok();
            if !file.is_stable || stamp != Some(file.stamp) {
                selection.add_path(path, SelectionExtent::Itself)?;
            }
        }
        if selection.is_empty() {
            return Ok(Some(RecordReport {
                tree: last.tree,
                files: 0,
                read: 0,
                read_bytes: 0,
                written: 0,
                written_bytes: 0,
                omitted: Vec::new(),
                omitted_total: 0,
                repositories: last.repositories.clone(),
            }));
        }
        let cache = LazyCache::new(directory, last.fingerprint);
        let mut walk = self.walk(root, options, &cache)?;
        walk.watch = Some(&mut last.watch);
        let place = UpdatePosition { above: &SnapshotIgnoreRules::default(), depth: 0 };
        let base = BaseTree::Record(last.tree);
        let walked = walk.update_directory(Path::new(""), base, &selection, place)?;
        let linked = std::mem::take(&mut walk.linked);
        let mut report = walk.finish(walked)?;
        last.repositories.append(&mut report.repositories);
        report.repositories.clone_from(&last.repositories);
        for (path, stamp) in linked {
            // The other names of this file are not known. They changed with it.
            let Some(known) = last.linked.get_mut(&path) else { return Ok(None) };
            *known = LinkedFile { stamp, is_stable: is_stable(&stamp, begun_ns) };
        }
        last.tree = report.tree;
        Ok(Some(report))
    }
}
