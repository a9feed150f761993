//! What differs between two records: only directories whose objects differ are looked into. Files that were renamed are
//! deliberately not found: a removed path and an added one say the same, and restore the same way.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::id::TreeId;
use crate::state::State;
use crate::store::Store;
use crate::tree::{Entry, Node, Tree};

/// A path that looks different in two records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The canonical path.
    pub path: PathBuf,
    /// What it looked like in the first; none if it was not there.
    pub before: Option<State>,
    /// What it looks like in the second; none if it is not there.
    pub after: Option<State>,
}

/// In what a path differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It is something else: a file became a directory, or the like.
    Kind,
    /// Its bytes or its target differ, and its permission bits may as well.
    Content,
    /// Nothing but its permission bits, or the owner that they speak of, differ.
    Mode,
}

impl Change {
    /// Returns in what the path differs.
    #[must_use]
    pub fn kind(&self) -> ChangeKind {
        match (&self.before, &self.after) {
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Removed,
            (Some(before), Some(after)) if before.file_kind() != after.file_kind() => {
                ChangeKind::Kind
            }
            (Some(State::Directory { .. }), Some(State::Directory { .. })) => ChangeKind::Mode,
            (Some(State::File(before)), Some(State::File(after)))
                if before.content == after.content =>
            {
                ChangeKind::Mode
            }
            (Some(_), Some(_)) => ChangeKind::Content,
        }
    }
}

impl Store {
    /// Returns every path that looks different in `before` and `after`, a directory before what is in it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Lost`] or [`StoreError::Corrupt`] when the store does not have what is needed any more.
    pub fn diff(&self, before: TreeId, after: TreeId) -> Result<Vec<Change>, StoreError> {
        let mut changes = Vec::new();
        self.diff_directories(Path::new(""), [Some(before), Some(after)], &mut changes)?;
        Ok(changes)
    }

    /// Returns what a record says of a path.
    ///
    /// # Errors
    ///
    /// As [`Store::diff`].
    pub fn look_up(&self, tree: TreeId, path: &Path) -> Result<Option<State>, StoreError> {
        let (mut at, mut state) = (Some(tree), None);
        for name in path {
            let Some(tree) = at else { return Ok(None) };
            let tree = self.tree(tree)?;
            let node = tree.get(name);
            at = node.and_then(Node::tree);
            state = node.map(Node::state);
        }
        Ok(state)
    }

    fn diff_directories(
        &self,
        path: &Path,
        [before, after]: [Option<TreeId>; 2],
        changes: &mut Vec<Change>,
    ) -> Result<(), StoreError> {
        if before == after {
            return Ok(());
        }
        let read =
            |tree: Option<TreeId>| tree.map_or_else(|| Ok(Tree::default()), |id| self.tree(id));
        let (before, after) = (read(before)?, read(after)?);
        for (name, before, after) in Merged::of(&before, &after) {
            if before == after {
                continue;
            }
            let path = path.join(name);
            let states = [before.map(Node::state), after.map(Node::state)];
            let trees = [before.and_then(Node::tree), after.and_then(Node::tree)];
            let [before, after] = states;
            if before != after {
                changes.push(Change { path: path.clone(), before, after });
            }
            self.diff_directories(&path, trees, changes)?;
        }
        Ok(())
    }
}

/// Goes through two directories at once, name by name.
struct Merged<'a> {
    before: &'a [Entry],
    after: &'a [Entry],
}

impl<'a> Merged<'a> {
    fn of(before: &'a Tree, after: &'a Tree) -> Merged<'a> {
        Merged { before: before.entries(), after: after.entries() }
    }
}

impl<'a> Iterator for Merged<'a> {
    type Item = (&'a OsStr, Option<&'a Node>, Option<&'a Node>);

    fn next(&mut self) -> Option<Self::Item> {
        let name_of = |entries: &'a [Entry]| entries.first().map(|entry| entry.name.as_bytes());
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
fn take<'a>(entries: &mut &'a [Entry], name: &[u8]) -> Option<&'a Node> {
    let (first, rest) = entries.split_first()?;
    if first.name.as_bytes() != name {
        return None;
    }
    *entries = rest;
    Some(&first.node)
}
