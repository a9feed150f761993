//! The changes that calls made to one root, for showing, rehearsing and undoing them. The owner of the workspace undoes
//! changes, so no rules apply here.

use std::path::{Path, PathBuf};

use haft_contract::CallAddress;
use haft_journal::ChangedRepository;
use haft_sandbox::Root;
use haft_snapshot::{
    ComposedChanges, OmittedPath, OverwritePolicy, PathChange, RecordOptions, RestoreConflict,
    RestoreError, RestoreReport, SnapshotStore, SnapshotStoreError, UnifiedDiff,
};

use super::workspace::is_repository;

/// The changes that one call, or several calls of a run, made to one root.
#[derive(Debug)]
pub struct RootChanges {
    /// The calls, in the order in which they began.
    pub calls: Vec<CallAddress>,
    /// The unknown or uncertain parts of the changes, each with its call.
    pub remarks: Vec<(CallAddress, String)>,
    /// The git repositories whose own files the calls changed. They are not recorded, so undoing leaves them as they are.
    pub repositories: Vec<(CallAddress, ChangedRepository)>,
    /// Whether the current state stands for the state after the last change, because that state was not recorded.
    pub ends_now: bool,
    /// The root, opened where the changes were recorded.
    pub(super) root: Root,
    /// The store with the recorded contents.
    pub(super) store: SnapshotStore,
    /// The changes of all calls, combined.
    pub(super) composed: ComposedChanges,
}

impl RootChanges {
    /// Returns the root.
    pub fn root(&self) -> &std::path::Path {
        self.root.path()
    }

    /// Returns every path that was changed, a directory before what is in it.
    pub fn changes(&self) -> Vec<PathChange> {
        self.composed.changes()
    }

    /// Returns the absolute path of everything that undoing may touch.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.composed.paths().map(|path| self.root.path().join(path)).collect()
    }

    /// Returns how the text of a path changed.
    ///
    /// # Errors
    ///
    /// Says that the store cannot read one of the two texts.
    pub fn unified(&self, change: &PathChange) -> Result<UnifiedDiff, SnapshotStoreError> {
        self.store.unified_diff(change)
    }

    /// Returns options with which haft records each path that undoing touches. A path that was recorded once is recorded
    /// again, even if it is excluded now. The size limit grows to the largest recorded file. A file that became larger
    /// than that is not recorded.
    #[must_use]
    pub fn widen_options(&self, options: &RecordOptions) -> RecordOptions {
        let paths = u64::try_from(self.composed.paths().count()).unwrap_or(u64::MAX);
        RecordOptions {
            excluded: Vec::new(),
            file_bytes_max: options.file_bytes_max.max(self.composed.largest_bytes()),
            files_max: options.files_max.max(paths),
            ignored_bytes_max: u64::MAX,
            ignored_files_max: u64::MAX,
            ..options.clone()
        }
    }

    /// Returns the paths that undoing would overwrite or remove and that haft cannot record first with these options.
    /// Their current contents would be lost.
    ///
    /// # Errors
    ///
    /// Lists the paths where other changes are in the way, or says that the root or the store cannot be read.
    pub fn unrecordable_paths(
        &self,
        overwrite: OverwritePolicy,
        options: &RecordOptions,
    ) -> Result<Vec<OmittedPath>, RestoreError> {
        let record = |overwrite| {
            self.store.backup_overwritten(&self.root, &self.composed, overwrite, options)
        };
        self.despite_index(record, overwrite)
    }

    /// Returns the changes that undoing would make now. Changes no file.
    ///
    /// # Errors
    ///
    /// Lists the paths where other changes are in the way, or says that the root or the store cannot be read.
    pub fn rehearse(&self, overwrite: OverwritePolicy) -> Result<RestoreReport, RestoreError> {
        let preview = |overwrite| self.store.preview_undo(&self.root, &self.composed, overwrite);
        self.despite_index(preview, overwrite)
    }

    /// Restores the state before the changes.
    ///
    /// # Errors
    ///
    /// Lists the paths where other changes are in the way; no file is then changed. Fails as well if the root cannot
    /// be written or the store cannot be read.
    pub fn undo(&self, overwrite: OverwritePolicy) -> Result<RestoreReport, RestoreError> {
        let undo = |overwrite| self.store.undo(&self.root, &self.composed, overwrite);
        self.despite_index(undo, overwrite)
    }

    /// Restores the index of a repository also if it changed since. Git rewrites it even when a command only looks, and it holds
    /// nothing but what is staged.
    fn despite_index<T>(
        &self,
        restore: impl Fn(OverwritePolicy) -> Result<T, RestoreError>,
        overwrite: OverwritePolicy,
    ) -> Result<T, RestoreError> {
        let restored = restore(overwrite);
        let is_of_index = |conflict: &RestoreConflict| {
            is_repository(self.root.path()) && conflict.path == Path::new("index")
        };
        match restored {
            Err(RestoreError::Conflicts { conflicts }) if conflicts.iter().all(is_of_index) => {
                restore(OverwritePolicy::Force)
            }
            restored => restored,
        }
    }
}
