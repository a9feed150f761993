//! Bringing paths back to what was recorded. Everything is looked at and decided before anything is changed; then each path is
//! changed in one step of the file system. Nobody's rules are asked here: who restores is the workspace's owner.

mod place;
mod plan;
mod present;
mod steps;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use haft_sandbox::Root;
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use self::plan::Plan;
use self::steps::Restoring;
use crate::compose::Composed;
use crate::error::{RestoreError, StoreError};
use crate::id::TreeId;
use crate::quoted::quoted;
use crate::record::{Changed, LeftOutPath, Options};
use crate::state::Reason;
use crate::store::{Store, open_lock};

/// What becomes of paths that changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// Nothing is restored if there are any.
    Refuse,
    /// They are restored as well, and what they became is lost.
    Force,
}

/// What restoring did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// How many files and links were written.
    pub written: u64,
    /// How many directories were made.
    pub made: u64,
    /// How many files, links and directories were removed.
    pub removed: u64,
    /// How many files and directories got other permission bits alone.
    pub modes: u64,
    /// How many paths were already as they should be.
    pub already: u64,
    /// Every path that was written, made, removed or got other bits, in the order of their names.
    pub paths: BTreeSet<PathBuf>,
    /// What was left as it is.
    pub left_alone: Vec<LeftAlone>,
    /// Files that run as somebody by their bits and could not be given to that owner; they have lost these bits.
    pub weakened: Vec<PathBuf>,
}

/// A path that a restore left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftAlone {
    /// The canonical path.
    pub path: PathBuf,
    /// Why.
    pub reason: LeftAloneReason,
}

/// Why a restore left a path as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LeftAloneReason {
    /// It was left out of a record, and stays as it is with everything in it.
    NotRecorded(Reason),
    /// It was there, what it was is not known, and it is gone.
    Gone(Reason),
    /// It is a directory that became too large to be recorded: what was recorded of it before is brought back, and what came
    /// into it is not known and stays.
    Outgrown,
    /// It is a directory that should go, and something that is not to be restored is still in it.
    NotEmpty,
    /// It is [hidden](Store::hiding) now, and was not when it was recorded.
    Hidden,
}

/// A path that keeps everything from being restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The canonical path.
    pub path: PathBuf,
    /// Why.
    pub reason: ConflictReason,
}

/// Why a path keeps everything from being restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConflictReason {
    /// It is neither what it was nor what it should be: something else changed it since.
    ChangedSince,
    /// Between two of the changes that are to be undone, something else changed it, which would be undone as well.
    ChangedBetween,
    /// It cannot be told what it is.
    Unreadable,
    /// What it is was left out of the record, and would be lost.
    NotRecorded(Reason),
    /// Nothing that was recorded, it lies where something must be written. Not even [`Overwrite::Force`] removes it.
    InTheWay,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", quoted(&self.path))?;
        match self.reason {
            ConflictReason::ChangedSince => f.write_str("it changed since"),
            ConflictReason::ChangedBetween => {
                f.write_str("something else changed it between the changes that are to be undone")
            }
            ConflictReason::Unreadable => {
                f.write_str("it cannot be read to see whether it changed")
            }
            ConflictReason::NotRecorded(reason) => {
                write!(f, "it would be lost, because it was left out of the record as {reason}")
            }
            ConflictReason::InTheWay => {
                f.write_str("it lies where something must be written; move it away")
            }
        }
    }
}

impl Store {
    /// Brings the paths that differ between `from` and `to` to their state in `to`, and no other path.
    ///
    /// Undoing what happened between two records is restoring from the later to the earlier one; undoing that is restoring
    /// the other way round. Changes of other paths that were made since are kept. A path that is already in its state in
    /// `to` is fine, so that a restore which was interrupted is completed by asking for it again.
    ///
    /// # Errors
    ///
    /// [`RestoreError::Conflicts`] lists every path that is in the way, [`RestoreError::Store`] says what the store lost;
    /// nothing was changed then. After any other error some paths are restored and the others as before.
    pub fn restore(
        &self,
        root: &Root,
        [from, to]: [TreeId; 2],
        overwrite: Overwrite,
    ) -> Result<Restored, RestoreError> {
        self.undo(root, &self.compose(&[[to, from]])?, overwrite)
    }

    /// Brings the paths that changed over several pairs of records to their state before the first of them, all or, where
    /// any is in the way, none, and no other path. Undoing one pair is [restoring](Store::restore) what was before it.
    ///
    /// A path that is in any of the states in which the pairs left it is fine: of several changes some may have been undone
    /// before.
    ///
    /// # Errors
    ///
    /// As [`Store::restore`]. A path that something else changed between two pairs is in the way as well.
    pub fn undo(
        &self,
        root: &Root,
        composed: &Composed,
        overwrite: Overwrite,
    ) -> Result<Restored, RestoreError> {
        self.undo_some(root, composed, overwrite, usize::MAX)
    }

    /// Returns what [`Store::undo`] would do if it were called now, or why it would not. Nothing is changed.
    ///
    /// # Errors
    ///
    /// As [`Store::undo`].
    pub fn rehearse(
        &self,
        root: &Root,
        composed: &Composed,
        overwrite: Overwrite,
    ) -> Result<Restored, RestoreError> {
        let _hold = self.hold()?;
        let plan = Plan::make(self, root, composed, overwrite)?;
        plan.verify(self)?;
        Ok(plan.rehearsed())
    }

    /// Records what [`Store::undo`] would overwrite or remove if it were called now, and returns what of it these options
    /// leave out: that would be lost for good.
    ///
    /// # Errors
    ///
    /// As [`Store::undo`], and [`RestoreError::Record`] when it could not be recorded.
    pub fn unrecorded(
        &self,
        root: &Root,
        composed: &Composed,
        overwrite: Overwrite,
        options: &Options,
    ) -> Result<Vec<LeftOutPath>, RestoreError> {
        let _hold = self.hold()?;
        let paths = Plan::make(self, root, composed, overwrite)?.overwritten();
        let recorded = self.record(root, options, Changed::Exactly { paths: &paths })?;
        Ok(recorded.left_out)
    }

    /// As [`Store::undo`], but ends after some steps, as a process that is killed does.
    fn undo_some(
        &self,
        root: &Root,
        composed: &Composed,
        overwrite: Overwrite,
        steps_max: usize,
    ) -> Result<Restored, RestoreError> {
        let _hold = self.hold()?;
        let lock = open_lock(&self.root_directory(root)?.join("restoring"))?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(StoreError::Busy.into()),
            Err(errno) => return Err(StoreError::io("lock itself")(errno).into()),
        }
        let plan = Plan::make(self, root, composed, overwrite)?;
        plan.verify(self)?;
        Restoring::new(self, root).run(plan, steps_max)
    }
}

#[cfg(test)]
mod tests;
