//! What calls changed of one root: to be shown, rehearsed and undone. Whoever undoes it is the workspace's owner: no rules
//! are asked here.

use std::path::PathBuf;

use haft_contract::CallId;
use haft_sandbox::Root;
use haft_snapshot::{
    Change, Composed, LeftOutPath, Options, Overwrite, RestoreError, Restored, Store, StoreError,
    Unified,
};

/// What one call, or several of a run, changed of one root.
#[derive(Debug)]
pub struct RootChanges {
    /// The calls, in the order in which they began.
    pub calls: Vec<CallId>,
    /// What is not known or not certain of them, with the call that it is about.
    pub remarks: Vec<(CallId, String)>,
    /// Whether the state after the last of them is taken to be what is there now, because nobody saw it.
    pub ends_now: bool,
    pub(super) root: Root,
    pub(super) store: Store,
    pub(super) composed: Composed,
}

impl RootChanges {
    /// Returns the root.
    pub fn root(&self) -> &std::path::Path {
        self.root.path()
    }

    /// Returns every path that was changed, a directory before what is in it.
    pub fn changes(&self) -> Vec<Change> {
        self.composed.changes()
    }

    /// Returns the absolute path of everything that undoing may touch.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.composed.paths().map(|path| self.root.path().join(path)).collect()
    }

    /// Returns how the text of a path changed.
    pub fn unified(&self, change: &Change) -> Result<Unified, StoreError> {
        self.store.unified(change)
    }

    /// Returns options by which everything that undoing touches is recorded, but what others made larger than any file was
    /// before: what was recorded once is recorded again, although it may be excluded or too large by now.
    #[must_use]
    pub fn widened(&self, options: &Options) -> Options {
        let paths = u64::try_from(self.composed.paths().count()).unwrap_or(u64::MAX);
        Options {
            excluded: Vec::new(),
            file_bytes_max: options.file_bytes_max.max(self.composed.largest_bytes()),
            files_max: options.files_max.max(paths),
            ignored_bytes_max: u64::MAX,
            ignored_files_max: u64::MAX,
            ..options.clone()
        }
    }

    /// Returns what undoing would overwrite or remove now and cannot be recorded before with these options: it would be lost
    /// for good.
    pub fn unrecorded(
        &self,
        overwrite: Overwrite,
        options: &Options,
    ) -> Result<Vec<LeftOutPath>, RestoreError> {
        self.store.unrecorded(&self.root, &self.composed, overwrite, options)
    }

    /// Returns what undoing would do now, or every path that is in its way.
    pub fn rehearse(&self, overwrite: Overwrite) -> Result<Restored, RestoreError> {
        self.store.rehearse(&self.root, &self.composed, overwrite)
    }

    /// Brings back what was there before, all of it or, where any path is in the way, nothing.
    pub fn undo(&self, overwrite: Overwrite) -> Result<Restored, RestoreError> {
        self.store.undo(&self.root, &self.composed, overwrite)
    }
}
