//! Composes several pairs of records (before and after a change) into one change: for each path the
//! state before the first pair, after the last pair, and all states in between. Reads only the
//! store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::diff::PathChange;
use crate::error::SnapshotStoreError;
use crate::id::TreeId;
use crate::state::PathState;
use crate::store::SnapshotStore;

/// The changes of paths over several pairs of records.
#[derive(Debug, Clone, Default)]
pub struct ComposedChanges {
    /// The records before each pair.
    before: Vec<TreeId>,
    /// A directory comes before its contents.
    histories: BTreeMap<PathBuf, PathHistory>,
}

/// The changes of one path.
#[derive(Debug, Clone)]
pub(crate) struct PathHistory {
    /// The path's states: the first one, the one after each change and, if different, the one
    /// before the next change.
    states: Vec<Option<PathState>>,
    /// Whether something else changed the path between two of the changes.
    pub(crate) has_foreign_change: bool,
}

impl SnapshotStore {
    /// Composes several changes in their order, each given by the records before and after it.
    ///
    /// The records of different changes need not cover the same paths.
    ///
    /// # Errors
    ///
    /// The same as for [`SnapshotStore::diff`].
    pub fn compose(&self, pairs: &[[TreeId; 2]]) -> Result<ComposedChanges, SnapshotStoreError> {
        let mut composed = ComposedChanges::default();
        for [before, after] in pairs {
            composed.before.push(*before);
            for PathChange { path, before, after } in self.diff(*before, *after)? {
                let Some(history) = composed.histories.get_mut(&path) else {
                    let states = vec![before, after];
                    let history = PathHistory { states, has_foreign_change: false };
                    composed.histories.insert(path, history);
                    continue;
                };
                // Of two concurrent changes, one may have begun in the other's earlier state. An
                // omitted state is unknown.
                let is_omitted = matches!(before, Some(PathState::Omitted(_)));
                if !is_omitted && !history.states.contains(&before) {
                    history.has_foreign_change = true;
                    history.states.push(before);
                }
                history.states.push(after);
            }
        }
        Ok(composed)
    }
}

impl ComposedChanges {
    /// Returns every path whose last state differs from its first one, a directory before its
    /// contents.
    #[must_use]
    pub fn changes(&self) -> Vec<PathChange> {
        let is_change = |(_, revision): &(&PathBuf, &PathHistory)| {
            revision.first_state() != revision.last_state()
        };
        let change = |(path, revision): (&PathBuf, &PathHistory)| PathChange {
            path: path.clone(),
            before: revision.first_state().cloned(),
            after: revision.last_state().cloned(),
        };
        self.histories.iter().filter(is_change).map(change).collect()
    }

    /// Returns every path in any of the changes, including paths that are back in their first
    /// state.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.histories.keys().map(PathBuf::as_path)
    }

    /// Returns the size in bytes of the largest recorded file in any state of the paths.
    #[must_use]
    pub fn largest_bytes(&self) -> u64 {
        let states = self.histories.values().flat_map(PathHistory::states).flatten();
        let sizes = states.filter_map(|state| match state {
            PathState::File(file) => Some(file.size_bytes),
            PathState::Link { .. } | PathState::Directory { .. } | PathState::Omitted(_) => None,
        });
        sizes.max().unwrap_or_default()
    }

    pub(crate) fn histories(&self) -> impl Iterator<Item = (&Path, &PathHistory)> {
        self.histories.iter().map(|(path, revision)| (path.as_path(), revision))
    }

    /// Returns a path's state before all changes, as far as a record has it.
    pub(crate) fn state_before(
        &self,
        store: &SnapshotStore,
        path: &Path,
    ) -> Result<Option<PathState>, SnapshotStoreError> {
        if let Some(revision) = self.histories.get(path) {
            return Ok(revision.first_state().cloned());
        }
        for tree in &self.before {
            if let Some(state) = store.look_up(*tree, path)? {
                return Ok(Some(state));
            }
        }
        Ok(None)
    }
}

impl PathHistory {
    /// Returns the path's state before all changes.
    pub(crate) fn first_state(&self) -> Option<&PathState> {
        self.states.first().and_then(Option::as_ref)
    }

    /// Returns the path's state after all changes.
    pub(crate) fn last_state(&self) -> Option<&PathState> {
        self.states.last().and_then(Option::as_ref)
    }

    /// Returns all states of the path.
    pub(crate) fn states(&self) -> impl Iterator<Item = Option<&PathState>> {
        self.states.iter().map(Option::as_ref)
    }
}
