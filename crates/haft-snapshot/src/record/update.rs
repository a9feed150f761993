//! Records some paths on top of an earlier record or of nothing. Only directories on the way to
//! them are read. Everything else is copied by name, or omitted without a trace. The cost depends
//! only on the paths and their contents; the cache is deliberately not used.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use haft_sandbox::InodeKind;

use super::gitignore_rules::{DirectoryMarkers, GitignoreKind, SnapshotIgnoreRules};
use super::walk::{
    DirectoryFrame, RecordWalk, RecordWalkEntry, WalkedDirectory, classify_list_error,
};
use crate::directory::OpenDirectory;
use crate::error::RecordError;
use crate::id::TreeId;
use crate::limits::DEPTH_MAX;
use crate::store::SnapshotStore;
use crate::tree::{TreeNode, TreeObject, is_git};

/// The extent of a path to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SelectionExtent {
    /// The path and everything below it.
    Beneath,
    /// The path alone.
    Itself,
}

/// The names below a directory that are recorded again.
#[derive(Debug, Default)]
pub(super) struct PathSelection {
    /// All names.
    pub(super) everything: bool,
    below: BTreeMap<OsString, PathSelection>,
}

impl PathSelection {
    /// Sorts canonical paths into a tree of names. Paths inside a `.git` directory are ignored.
    pub(super) fn from_paths(
        paths: &[PathBuf],
        extent: SelectionExtent,
    ) -> Result<PathSelection, RecordError> {
        let mut selection = PathSelection::default();
        for path in paths {
            selection.add_path(path, extent)?;
        }
        Ok(selection)
    }

    /// Adds a canonical path. Paths inside a `.git` directory are ignored.
    pub(super) fn add_path(
        &mut self,
        path: &Path,
        extent: SelectionExtent,
    ) -> Result<(), RecordError> {
        let names = names_of(path)?;
        if !names.iter().any(|name| is_git(name)) {
            let at =
                names.iter().fold(self, |at, name| at.below.entry((*name).to_owned()).or_default());
            at.everything |= extent == SelectionExtent::Beneath;
        }
        Ok(())
    }

    /// Returns whether no path was added.
    pub(super) fn is_empty(&self) -> bool {
        !self.everything && self.below.is_empty()
    }
}

fn names_of(path: &Path) -> Result<Vec<&OsStr>, RecordError> {
    let names = path.components().map(|component| match component {
        Component::Normal(name) => Ok(name),
        Component::CurDir | Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
            Err(RecordError::NotCanonical { path: path.to_path_buf() })
        }
    });
    names.collect()
}

/// The base on which a directory is recorded.
#[derive(Clone, Copy)]
pub(super) enum BaseTree {
    /// An earlier record of it; names that are not selected are copied from it.
    Record(TreeId),
    /// Nothing: names that are not selected are not recorded.
    Nothing,
}

impl BaseTree {
    /// Returns the base for a subdirectory; `None` if the earlier record has no such directory.
    fn base_of_child(self, tree: &TreeObject, name: &OsStr) -> Option<BaseTree> {
        match self {
            BaseTree::Record(_) => tree.get(name).and_then(TreeNode::tree).map(BaseTree::Record),
            BaseTree::Nothing => Some(BaseTree::Nothing),
        }
    }
}

/// An update of some paths.
pub(super) struct RecordUpdate<'w, 'a> {
    pub(super) store: &'a SnapshotStore,
    pub(super) walk: &'w mut RecordWalk<'a>,
}

impl<'a> RecordUpdate<'_, 'a> {
    /// Records the selected names of the directory at `path`.
    pub(super) fn directory(
        &mut self,
        path: &Path,
        base: BaseTree,
        selection: &PathSelection,
        place: UpdatePosition<'_>,
    ) -> Result<WalkedDirectory, RecordError> {
        let directory = match OpenDirectory::open(self.walk.root, path) {
            Ok(directory) => directory,
            Err(err) => return classify_list_error(err),
        };
        let rules = place.above.enter(path, contains(&directory));
        let mut frame = DirectoryFrame {
            path: path.to_path_buf(),
            rules,
            depth: place.depth,
            cached: None,
            remembered: Vec::new(),
        };
        let (mut tree, former) = match base {
            BaseTree::Record(former) => (self.store.tree(former)?, Some(former)),
            BaseTree::Nothing => (TreeObject::default(), None),
        };
        for (name, selection) in &selection.below {
            match self.walk.stat_name(&directory, path, name) {
                Ok(Some(seen)) => {
                    match self.node(
                        &mut frame,
                        base.base_of_child(&tree, name),
                        &seen,
                        selection,
                    )? {
                        Some(node) => tree.set(name, node),
                        None => tree.remove(name),
                    }
                }
                Ok(None) => tree.remove(name),
                Err(err) => return classify_list_error(err),
            }
        }
        let id = self.walk.put(&tree, former)?;
        Ok(WalkedDirectory::Tree(id))
    }

    /// Records one name: partially if only some paths below it are selected, otherwise completely.
    fn node(
        &mut self,
        frame: &mut DirectoryFrame<'a>,
        base: Option<BaseTree>,
        seen: &RecordWalkEntry,
        selection: &PathSelection,
    ) -> Result<Option<TreeNode>, RecordError> {
        let path = frame.path.join(&seen.name);
        let is_entered =
            |base: &BaseTree| !selection.everything && self.is_entered(frame, &path, seen, *base);
        let Some(base) = base.filter(is_entered) else {
            return self.walk.node(frame, seen);
        };
        let place = UpdatePosition { above: &frame.rules, depth: frame.depth + 1 };
        match self.directory(&path, base, selection, place)? {
            WalkedDirectory::Tree(tree) => {
                let mode = seen.observed.metadata.stamp.permissions();
                Ok(Some(TreeNode::Directory { mode, tree }))
            }
            WalkedDirectory::Gone => Ok(None),
            WalkedDirectory::Not(reason) => Ok(Some(self.walk.omit_entry(path, seen, reason))),
        }
    }

    /// Returns whether a directory is recorded name by name. An ignored one that is selected
    /// completely is not, because its total size decides.
    fn is_entered(
        &self,
        frame: &DirectoryFrame<'_>,
        path: &Path,
        seen: &RecordWalkEntry,
        base: BaseTree,
    ) -> bool {
        let kind = seen.observed.metadata.kind;
        let is_ignored = || frame.rules.ignore(self.walk.root, path, GitignoreKind::Directory);
        kind == InodeKind::Directory
            && frame.depth < DEPTH_MAX
            && !self.walk.is_excluded(path, kind)
            && (matches!(base, BaseTree::Nothing) || !is_ignored())
    }
}

/// The position of a directory.
#[derive(Clone, Copy)]
pub(super) struct UpdatePosition<'r> {
    /// The rules of its parent.
    pub(super) above: &'r SnapshotIgnoreRules,
    /// The number of its parents.
    pub(super) depth: usize,
}

fn contains(directory: &OpenDirectory) -> DirectoryMarkers {
    let has = |name: &str| matches!(directory.entry_metadata(OsStr::new(name)), Ok(Some(_)));
    DirectoryMarkers { repository: has(".git"), ignore_file: has(".gitignore") }
}
