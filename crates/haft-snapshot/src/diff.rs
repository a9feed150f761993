//! The differences between two records. Only directories whose objects differ are read. Renamed
//! files are deliberately not detected: a removed path and an added path describe the same and are
//! restored in the same way.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use haft_sandbox::InodeKind;

use crate::error::SnapshotStoreError;
use crate::id::TreeId;
use crate::state::{OmittedEntry, PathState};
use crate::store::SnapshotStore;
use crate::tree::{TreeEntry, TreeNode, TreeObject};

/// A path whose state differs between two records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// The canonical path.
    pub path: PathBuf,
    /// The state in the first record; `None` if the path was not there.
    pub before: Option<PathState>,
    /// The state in the second record; `None` if the path is not there.
    pub after: Option<PathState>,
}

/// The kind of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PathChangeKind {
    /// It is new.
    Added,
    /// It was removed.
    Removed,
    /// Its kind differs: for example, a file became a directory.
    Kind,
    /// Its bytes or its target differ, and perhaps its permission bits too.
    Content,
    /// Only its permission bits, or the owner that they refer to, differ.
    Mode,
    /// One record contains it, but the other omitted it or its directory. Whether it differs is
    /// unknown.
    Unknown,
}

impl PathChange {
    /// Returns the kind of the difference.
    #[must_use]
    pub fn kind(&self) -> PathChangeKind {
        match (&self.before, &self.after) {
            (None, _) => PathChangeKind::Added,
            (_, None) => PathChangeKind::Removed,
            (Some(before), Some(after)) if before.file_kind() != after.file_kind() => {
                PathChangeKind::Kind
            }
            (Some(PathState::Directory { .. }), Some(PathState::Directory { .. })) => {
                PathChangeKind::Mode
            }
            (Some(PathState::Omitted(_)), Some(PathState::Omitted(_))) => PathChangeKind::Content,
            (Some(PathState::Omitted(left_out)), Some(_))
            | (Some(_), Some(PathState::Omitted(left_out)))
                if left_out.reason.is_intentional() || left_out.kind == InodeKind::Directory =>
            {
                PathChangeKind::Unknown
            }
            (Some(PathState::File(before)), Some(PathState::File(after)))
                if before.content == after.content =>
            {
                PathChangeKind::Mode
            }
            (Some(_), Some(_)) => PathChangeKind::Content,
        }
    }
}

impl SnapshotStore {
    /// Returns every path whose state differs between `before` and `after`, a directory before its
    /// contents.
    ///
    /// # Errors
    ///
    /// [`SnapshotStoreError::Lost`] or [`SnapshotStoreError::Corrupt`] if the store no longer has a
    /// needed object.
    pub fn diff(
        &self,
        before: TreeId,
        after: TreeId,
    ) -> Result<Vec<PathChange>, SnapshotStoreError> {
        let mut changes = Vec::new();
        self.diff_directories(Path::new(""), [Some(before), Some(after)], &mut changes)?;
        Ok(changes)
    }

    /// Returns a path's state in a record.
    ///
    /// # Errors
    ///
    /// The same as for [`SnapshotStore::diff`].
    pub fn look_up(
        &self,
        tree: TreeId,
        path: &Path,
    ) -> Result<Option<PathState>, SnapshotStoreError> {
        let (mut at, mut state) = (Some(tree), None);
        for name in path {
            let Some(tree) = at else { return Ok(None) };
            let tree = self.tree(tree)?;
            let node = tree.get(name);
            at = node.and_then(TreeNode::tree);
            state = node.map(TreeNode::state);
        }
        Ok(state)
    }

    /// Adds the contents of a directory that one record contains and the other omitted: as known
    /// before, and unknown after.
    fn list_unknown(
        &self,
        path: &Path,
        tree: TreeId,
        omitted: OmittedEntry,
        changes: &mut Vec<PathChange>,
    ) -> Result<(), SnapshotStoreError> {
        for TreeEntry { name, node } in self.tree(tree)?.entries() {
            let (path, known) = (path.join(name), node.state());
            if !matches!(known, PathState::Omitted(_)) {
                let unknown = OmittedEntry { kind: known.file_kind(), ..omitted };
                changes.push(PathChange {
                    path: path.clone(),
                    before: Some(known),
                    after: Some(PathState::Omitted(unknown)),
                });
            }
            if let Some(tree) = node.tree() {
                self.list_unknown(&path, tree, omitted, changes)?;
            }
        }
        Ok(())
    }

    fn diff_directories(
        &self,
        path: &Path,
        [before, after]: [Option<TreeId>; 2],
        changes: &mut Vec<PathChange>,
    ) -> Result<(), SnapshotStoreError> {
        if before == after {
            return Ok(());
        }
        let read = |tree: Option<TreeId>| {
            tree.map_or_else(|| Ok(TreeObject::default()), |id| self.tree(id))
        };
        let (before, after) = (read(before)?, read(after)?);
        let entries = MergedEntries { before: before.entries(), after: after.entries() };
        for (name, before, after) in entries {
            if before == after {
                continue;
            }
            let path = path.join(name);
            let trees = [before.and_then(TreeNode::tree), after.and_then(TreeNode::tree)];
            let (before, after) = (before.map(TreeNode::state), after.map(TreeNode::state));
            // One record may have omitted a directory that the other one contains.
            let omitted = match (&before, &after) {
                (Some(PathState::Directory { .. }), Some(PathState::Omitted(omitted)))
                | (Some(PathState::Omitted(omitted)), Some(PathState::Directory { .. })) => {
                    (omitted.kind == InodeKind::Directory).then_some(*omitted)
                }
                (_, _) => None,
            };
            if before != after {
                changes.push(PathChange { path: path.clone(), before, after });
            }
            match (omitted, trees) {
                (Some(omitted), [Some(tree), None]) => {
                    self.list_unknown(&path, tree, omitted, changes)?;
                }
                (Some(omitted), [None, Some(tree)]) => {
                    let listed = changes.len();
                    self.list_unknown(&path, tree, omitted, changes)?;
                    for change in changes.iter_mut().skip(listed) {
                        std::mem::swap(&mut change.before, &mut change.after);
                    }
                }
                (Some(_) | None, trees) => self.diff_directories(&path, trees, changes)?,
            }
        }
        Ok(())
    }
}

/// Iterates over two directories together, name by name.
struct MergedEntries<'a> {
    before: &'a [TreeEntry],
    after: &'a [TreeEntry],
}

impl<'a> Iterator for MergedEntries<'a> {
    type Item = (&'a OsStr, Option<&'a TreeNode>, Option<&'a TreeNode>);

    fn next(&mut self) -> Option<Self::Item> {
        let name_of = |entries: &'a [TreeEntry]| entries.first().map(|entry| entry.name.as_bytes());
        let name = match (name_of(self.before), name_of(self.after)) {
            (Some(before), Some(after)) => before.min(after),
            (one, other) => one.or(other)?,
        };
        let before = take(&mut self.before, name);
        let after = take(&mut self.after, name);
        Some((OsStr::from_bytes(name), before, after))
    }
}

/// Takes the first entry, if it has this name.
fn take<'a>(entries: &mut &'a [TreeEntry], name: &[u8]) -> Option<&'a TreeNode> {
    let (first, rest) = entries.split_first()?;
    if first.name.as_bytes() != name {
        return None;
    }
    *entries = rest;
    Some(&first.node)
}
