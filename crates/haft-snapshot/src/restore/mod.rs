//! Restores paths to a recorded state. Everything is inspected and planned before anything is
//! changed. Then each path is changed in one file system step. No permission rules are checked,
//! because the workspace's owner requests a restore.

mod plan;
mod present;
mod replacement;
mod steps;

use std::collections::BTreeSet;
use std::path::PathBuf;

use haft_sandbox::Root;
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use self::plan::RestorePlan;
use self::steps::RestoreExecutor;
use crate::compose::ComposedChanges;
use crate::error::{RestoreError, SnapshotStoreError};
use crate::id::TreeId;
use crate::record::{ChangeScope, OmittedPath, RecordOptions};
use crate::state::OmissionReason;
use crate::store::{SnapshotStore, open_lock};

/// The policy for paths that have changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverwritePolicy {
    /// Nothing is restored if there are any.
    Refuse,
    /// They are restored as well, and their current content is lost.
    Force,
}

/// The result of a restore.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestoreReport {
    /// The number of files and links that were written.
    pub written: u64,
    /// The number of directories that were created.
    pub created_directories: u64,
    /// The number of files, links and directories that were removed.
    pub removed: u64,
    /// The number of files and directories of which only the permission bits changed.
    pub changed_modes: u64,
    /// The number of paths that were already in the right state.
    pub unchanged: u64,
    /// Every path that was written, created, removed or got different permission bits, sorted.
    pub paths: BTreeSet<PathBuf>,
    /// Paths that were not changed.
    pub skipped: Vec<SkippedPath>,
    /// Files with set-user-id or set-group-id bits whose owner could not be set; these bits were
    /// dropped.
    pub weakened: Vec<PathBuf>,
}

/// A path that a restore did not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedPath {
    /// The canonical path.
    pub path: PathBuf,
    /// The reason.
    pub reason: SkipReason,
}

/// Why a restore did not change a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkipReason {
    /// A record omitted it, so it is left alone with everything in it.
    NotRecorded(OmissionReason),
    /// It no longer exists, and its previous content is unknown.
    Gone(OmissionReason),
    /// It is a directory that became too large to be recorded. Its previously recorded contents are
    /// restored; contents that were added later are unknown and stay.
    Outgrown,
    /// It is a directory that should be removed, but still contains a path that is not to be
    /// restored.
    NotEmpty,
    /// It is [hidden](SnapshotStore::with_hidden) now, but was not when it was recorded.
    Hidden,
}

impl SnapshotStore {
    /// Restores the paths that differ between `from` and `to` to their state in `to`, and no other
    /// path.
    ///
    /// To undo the changes between two records, restore from the later to the earlier one; to redo
    /// them, restore the other way round. Later changes of other paths are kept. A path that is
    /// already in its state in `to` is accepted, so repeating an interrupted restore completes it.
    ///
    /// # Errors
    ///
    /// [`RestoreError::Conflicts`] lists every conflicting path, and [`RestoreError::Store`] names
    /// a lost object; nothing was changed then. After any other error some paths are restored and
    /// the others are unchanged.
    pub fn restore(
        &self,
        root: &Root,
        [from, to]: [TreeId; 2],
        overwrite: OverwritePolicy,
    ) -> Result<RestoreReport, RestoreError> {
        self.undo(root, &self.compose(&[[to, from]])?, overwrite)
    }

    /// Restores the paths that changed over several pairs of records to their state before the
    /// first pair. Restores all of them or, if there is a conflict, none; other paths are not
    /// changed. Undoing one pair is the same as [restoring](SnapshotStore::restore) its first
    /// record.
    ///
    /// A path may be in any of the states that the pairs recorded, because some of the changes may
    /// have been undone before.
    ///
    /// # Errors
    ///
    /// The same as for [`SnapshotStore::restore`]. A path that something else changed between two
    /// pairs is a conflict as well.
    pub fn undo(
        &self,
        root: &Root,
        composed: &ComposedChanges,
        overwrite: OverwritePolicy,
    ) -> Result<RestoreReport, RestoreError> {
        self.undo_some(root, composed, overwrite, usize::MAX)
    }

    /// Returns the result that [`SnapshotStore::undo`] would have now, or its error. Nothing is
    /// changed.
    ///
    /// # Errors
    ///
    /// The same as for [`SnapshotStore::undo`].
    pub fn preview_undo(
        &self,
        root: &Root,
        composed: &ComposedChanges,
        overwrite: OverwritePolicy,
    ) -> Result<RestoreReport, RestoreError> {
        let _hold = self.lock_shared()?;
        let plan = RestorePlan::plan_restore(self, root, composed, overwrite)?;
        plan.verify(self)?;
        Ok(plan.into_preview())
    }

    /// Records the paths that [`SnapshotStore::undo`] would overwrite or remove now. Returns the
    /// paths that these options omit: their content would be lost permanently.
    ///
    /// # Errors
    ///
    /// The same as for [`SnapshotStore::undo`], and [`RestoreError::Record`] if recording failed.
    pub fn backup_overwritten(
        &self,
        root: &Root,
        composed: &ComposedChanges,
        overwrite: OverwritePolicy,
        options: &RecordOptions,
    ) -> Result<Vec<OmittedPath>, RestoreError> {
        let _hold = self.lock_shared()?;
        let paths = RestorePlan::plan_restore(self, root, composed, overwrite)?.overwritten_paths();
        let recorded = self.record(root, options, ChangeScope::Exactly { paths: &paths })?;
        Ok(recorded.omitted)
    }

    /// Like [`SnapshotStore::undo`], but stops after some steps, as a killed process does.
    fn undo_some(
        &self,
        root: &Root,
        composed: &ComposedChanges,
        overwrite: OverwritePolicy,
        steps_max: usize,
    ) -> Result<RestoreReport, RestoreError> {
        let _hold = self.lock_shared()?;
        let lock = open_lock(&self.root_directory(root)?.join("restoring"))?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(SnapshotStoreError::Busy.into()),
            Err(errno) => return Err(SnapshotStoreError::io("lock itself")(errno).into()),
        }
        let plan = RestorePlan::plan_restore(self, root, composed, overwrite)?;
        plan.verify(self)?;
        RestoreExecutor::run_plan(self, root, plan, steps_max)
    }
}

#[cfg(test)]
mod tests;
