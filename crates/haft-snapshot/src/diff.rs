//! What differs between two records: only directories whose objects differ are looked into. Files that were renamed are
//! deliberately not found: a removed path and an added one say the same, and restore the same way.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use haft_sandbox::FileKind;

use crate::error::StoreError;
use crate::id::TreeId;
use crate::state::{LeftOut, State};
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
    /// One record knows it, and the other left it out, or the directory that it is in: whether it differs is not known.
    Unknown,
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
            (Some(State::LeftOut(_)), Some(State::LeftOut(_))) => ChangeKind::Content,
            (Some(State::LeftOut(left_out)), Some(_))
            | (Some(_), Some(State::LeftOut(left_out)))
                if left_out.reason.is_wanted() || left_out.kind == FileKind::Directory =>
            {
                ChangeKind::Unknown
            }
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

    /// Lists everything in a directory that one record knows and the other left out, with what the former says of it and, as
    /// far as it goes, what the latter says.
    fn list_unseen(
        &self,
        path: &Path,
        tree: TreeId,
        left_out: LeftOut,
        unseen: &mut Vec<(PathBuf, State, State)>,
    ) -> Result<(), StoreError> {
        for Entry { name, node } in self.tree(tree)?.entries() {
            let (path, known) = (path.join(name), node.state());
            if !matches!(known, State::LeftOut(_)) {
                let unknown = LeftOut { kind: known.file_kind(), ..left_out };
                unseen.push((path.clone(), known, State::LeftOut(unknown)));
            }
            if let Some(tree) = node.tree() {
                self.list_unseen(&path, tree, left_out, unseen)?;
            }
        }
        Ok(())
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
            let unseen = unseen(before.as_ref(), after.as_ref());
            if before != after {
                changes.push(Change { path: path.clone(), before, after });
            }
            let mut beneath = Vec::new();
            match (unseen, trees) {
                (Some(left_out), [Some(tree), None]) => {
                    self.list_unseen(&path, tree, left_out, &mut beneath)?;
                    changes.extend(beneath.into_iter().map(|(path, known, unknown)| Change {
                        path,
                        before: Some(known),
                        after: Some(unknown),
                    }));
                }
                (Some(left_out), [None, Some(tree)]) => {
                    self.list_unseen(&path, tree, left_out, &mut beneath)?;
                    changes.extend(beneath.into_iter().map(|(path, known, unknown)| Change {
                        path,
                        before: Some(unknown),
                        after: Some(known),
                    }));
                }
                (Some(_) | None, trees) => self.diff_directories(&path, trees, changes)?,
            }
        }
        Ok(())
    }
}

/// Returns how one record left out a directory that the other one knows.
fn unseen(before: Option<&State>, after: Option<&State>) -> Option<LeftOut> {
    match (before, after) {
        (Some(State::Directory { .. }), Some(State::LeftOut(left_out)))
        | (Some(State::LeftOut(left_out)), Some(State::Directory { .. })) => {
            (left_out.kind == FileKind::Directory).then_some(*left_out)
        }
        (_, _) => None,
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
