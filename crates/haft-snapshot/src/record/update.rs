//! Records some paths on top of an earlier record or of nothing. Only directories on the way to
//! them are read. Everything else is copied by name, or omitted without a trace. The cost depends
//! only on the paths and their contents; the cache is deliberately not used.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path};

use haft_sandbox::InodeKind;

use super::gitignore_rules::{DirectoryMarkers, GitignoreKind, SnapshotIgnoreRules};
use super::walk::{DirectoryFrame, RecordWalk, WalkedDirectory, classify_list_error};
use crate::directory::OpenDirectory;
use crate::error::RecordError;
use crate::id::TreeId;
use crate::limits::DEPTH_MAX;
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
    /// Adds a canonical path. Paths inside a `.git` directory are ignored.
    pub(super) fn add_path(
        &mut self,
        path: &Path,
        extent: SelectionExtent,
    ) -> Result<(), RecordError> {
        let mut names = Vec::new();
        for component in path.components() {
            let Component::Normal(name) = component else {
                return Err(RecordError::NotCanonical { path: path.to_path_buf() });
            };
            names.push(name);
        }
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

/// The base on which a directory is recorded.
#[derive(Clone, Copy)]
pub(super) enum BaseTree {
    /// An earlier record of it; names that are not selected are copied from it.
    Record(TreeId),
    /// Nothing: names that are not selected are not recorded.
    Nothing,
}

impl<'a> RecordWalk<'a> {
    /// Records the selected names of the directory at `path`.
    pub(super) fn update_directory(
        &mut self,
        path: &Path,
        base: BaseTree,
        selection: &PathSelection,
        place: UpdatePosition<'_>,
    ) -> Result<WalkedDirectory, RecordError> {
        let directory = match OpenDirectory::open(self.root, path) {
            Ok(directory) => directory,
            Err(err) => return classify_list_error(err),
        };
        let has = |name: &str| matches!(directory.entry_metadata(OsStr::new(name)), Ok(Some(_)));
        let markers = DirectoryMarkers { repository: has(".git"), ignore_file: has(".gitignore") };
        let mut frame = DirectoryFrame {
            path: path.to_path_buf(),
            rules: place.above.enter(path, markers),
            depth: place.depth,
            cached: None,
            remembered: Vec::new(),
        };
        let (mut tree, former) = match base {
            BaseTree::Record(former) => (self.store.tree(former)?, Some(former)),
            BaseTree::Nothing => (TreeObject::default(), None),
        };
        for (name, selection) in &selection.below {
            let seen = match self.stat_name(&directory, path, name) {
                Ok(seen) => seen,
                Err(err) => return classify_list_error(err),
            };
            let Some(seen) = seen else {
                tree.remove(name);
                continue;
            };
            // If the earlier record has no such directory, there is no base for it.
            let base = match base {
                BaseTree::Record(_) => {
                    tree.get(name).and_then(TreeNode::tree).map(BaseTree::Record)
                }
                BaseTree::Nothing => Some(BaseTree::Nothing),
            };
            let path = path.join(name);
            let kind = seen.observed.metadata.kind;
            let is_entered = |base: &BaseTree| {
                !selection.everything
                    && kind == InodeKind::Directory
                    && frame.depth < DEPTH_MAX
                    && !self.is_excluded(&path, kind)
                    // The total size of an ignored directory decides whether it is recorded.
                    && (matches!(base, BaseTree::Nothing)
                        || !frame.rules.ignore(self.root, &path, GitignoreKind::Directory))
            };
            let node = match base.filter(is_entered) {
                Some(base) => {
                    let place = UpdatePosition { above: &frame.rules, depth: frame.depth + 1 };
                    let walked = self.update_directory(&path, base, selection, place)?;
                    self.directory_node(walked, path, &seen)
                }
                // All of it is recorded.
                None => self.node(&mut frame, &seen)?,
            };
            match node {
                Some(node) => tree.set(name, node),
                None => tree.remove(name),
            }
        }
        let id = self.put(&tree, former)?;
        Ok(WalkedDirectory::Tree(id))
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
