//! Several pairs of records, each of before and after something, as one change: what each path was before the first and is after
//! the last, and everything that it was between. Nothing is looked at but the store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::diff::Change;
use crate::error::StoreError;
use crate::id::TreeId;
use crate::state::State;
use crate::store::Store;

/// What happened to paths over several pairs of records.
#[derive(Debug, Clone, Default)]
pub struct Composed {
    /// What the workspace looked like before each pair.
    before: Vec<TreeId>,
    /// A directory comes before what is in it.
    revisions: BTreeMap<PathBuf, Revision>,
}

/// What happened to one path.
#[derive(Debug, Clone)]
pub(crate) struct Revision {
    /// What it was, at first, after each change, and where that is something else, before the next one.
    states: Vec<Option<State>>,
    is_broken: bool,
}

impl Store {
    /// Puts several changes together, each given by the records of before and after it, in the order in which they were made.
    ///
    /// The records of different changes need not know the same paths.
    ///
    /// # Errors
    ///
    /// As [`Store::diff`].
    pub fn compose(&self, pairs: &[[TreeId; 2]]) -> Result<Composed, StoreError> {
        let mut composed = Composed::default();
        for [before, after] in pairs {
            composed.before.push(*before);
            for change in self.diff(*before, *after)? {
                composed.add(change);
            }
        }
        Ok(composed)
    }
}

impl Composed {
    /// Returns every path that is something else after the last change than it was before the first, a directory before what
    /// is in it.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        let is_change = |(_, revision): &(&PathBuf, &Revision)| revision.first() != revision.last();
        let change = |(path, revision): (&PathBuf, &Revision)| Change {
            path: path.clone(),
            before: revision.first().cloned(),
            after: revision.last().cloned(),
        };
        self.revisions.iter().filter(is_change).map(change).collect()
    }

    /// Returns every path that any of the changes was about, also those that are as they were.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.revisions.keys().map(PathBuf::as_path)
    }

    /// Returns the size of the largest file that any of the paths was, in bytes, as far as its content was recorded.
    #[must_use]
    pub fn largest_bytes(&self) -> u64 {
        let states = self.revisions.values().flat_map(Revision::states).flatten();
        let sizes = states.filter_map(|state| match state {
            State::File(file) => Some(file.size_bytes),
            State::Link { .. } | State::Directory { .. } | State::LeftOut(_) => None,
        });
        sizes.max().unwrap_or_default()
    }

    pub(crate) fn revisions(&self) -> impl Iterator<Item = (&Path, &Revision)> {
        self.revisions.iter().map(|(path, revision)| (path.as_path(), revision))
    }

    /// Returns what a path was before everything, as far as any record says.
    pub(crate) fn look_up(&self, store: &Store, path: &Path) -> Result<Option<State>, StoreError> {
        if let Some(revision) = self.revisions.get(path) {
            return Ok(revision.first().cloned());
        }
        for tree in &self.before {
            if let Some(state) = store.look_up(*tree, path)? {
                return Ok(Some(state));
            }
        }
        Ok(None)
    }

    fn add(&mut self, change: Change) {
        let Change { path, before, after } = change;
        match self.revisions.get_mut(&path) {
            Some(revision) => revision.add(before, after),
            None => {
                let revision = Revision { states: vec![before, after], is_broken: false };
                self.revisions.insert(path, revision);
            }
        }
    }
}

impl Revision {
    /// Returns what the path was before everything.
    pub(crate) fn first(&self) -> Option<&State> {
        self.states.first().and_then(Option::as_ref)
    }

    /// Returns what it is after everything.
    pub(crate) fn last(&self) -> Option<&State> {
        self.states.last().and_then(Option::as_ref)
    }

    /// Returns everything that it was.
    pub(crate) fn states(&self) -> impl Iterator<Item = Option<&State>> {
        self.states.iter().map(Option::as_ref)
    }

    /// Tells whether something else changed the path between two of the changes.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    fn add(&mut self, before: Option<State>, after: Option<State>) {
        // Of changes that were made at the same time, one may have begun when the path was what it was before the other. What
        // a record left out it says nothing about.
        let is_left_out = matches!(before, Some(State::LeftOut(_)));
        if !is_left_out && !self.states.contains(&before) {
            self.is_broken = true;
            self.states.push(before);
        }
        self.states.push(after);
    }
}
