//! The second half of a change set: under the root's lock, compares every target with the expected
//! state, renames, and undoes everything if one step fails. No content is written here; staging has
//! done that.

use std::sync::PoisonError;

use rustix::fs::{
    AtFlags, RenameFlags, Stat, Timespec, Timestamps, UTIME_OMIT, fsync, linkat, renameat,
    renameat_with, statat, unlinkat, utimensat,
};
use rustix::io::{self, Errno};
use rustix::path::Arg;

use super::super::error::{ChangeSetError, RootError};
use super::super::file::{InodeStamp, PathMetadata};
use super::stage::{FileTransaction, StagedChange, TargetAction};

/// Maximum time that a file's modification time may lie in the future and still be continued, in
/// nanoseconds. Beyond it, the new file gets the current time.
const AHEAD_NS_MAX: i128 = 1_000_000_000;

/// A completed step, which determines how to undo it.
#[derive(Clone, Copy)]
pub(super) enum CommitStep {
    /// The target was new.
    Created,
    /// Target and temporary were exchanged.
    Exchanged,
    /// The original was moved or linked to the spare name.
    Spared,
    /// The original was moved to the temporary name.
    Removed,
}

impl FileTransaction<'_> {
    /// Commits every staged change, or none.
    pub(super) fn commit(mut self) -> Result<(), ChangeSetError> {
        let root = self.root.clone();
        // The lock guards files on disk, so a panic under it leaves no invalid state in memory.
        let _changing = root.inner.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut steps = Vec::with_capacity(self.staged.len());
        let outcome = self.make_steps(&mut steps).and_then(|()| self.sync());
        match outcome {
            Ok(()) => {
                self.is_committed = true;
                Ok(())
            }
            Err(cause) => Err(self.undo(&steps, cause)),
        }
    }

    fn make_steps(&self, steps: &mut Vec<CommitStep>) -> Result<(), ChangeSetError> {
        // All targets are compared before the first is touched, so that an outdated change set
        // modifies no file.
        let olds =
            self.staged.iter().map(StagedChange::check_target).collect::<Result<Vec<_>, _>>()?;
        for (staged, old) in self.staged.iter().zip(olds) {
            staged.make(old, self.root.inner.renames_specially, steps)?;
        }
        Ok(())
    }

    /// Makes the renames survive a loss of power.
    fn sync(&self) -> Result<(), ChangeSetError> {
        for directory in &self.directories {
            match fsync(&directory.handle) {
                // Some file systems cannot sync directories.
                Ok(()) | Err(Errno::INVAL | Errno::NOTSUP) => {}
                Err(errno) => {
                    return Err(RootError::from_errno(&directory.path, errno).into());
                }
            }
        }
        Ok(())
    }

    /// Undoes steps, last one first, and returns the error to report.
    fn undo(&mut self, steps: &[CommitStep], cause: ChangeSetError) -> ChangeSetError {
        let mut failure = None;
        for (staged, step) in self.staged.iter_mut().zip(steps).rev() {
            let Err(errno) = staged.undo(*step) else { continue };
            staged.keeps_original = true;
            let kept = match step {
                CommitStep::Created => staged.path.clone(),
                CommitStep::Exchanged | CommitStep::Removed => {
                    staged.directory.path.join(&staged.temporary)
                }
                CommitStep::Spared => staged.directory.path.join(&staged.spare),
            };
            failure = Some((staged.path.clone(), kept, errno));
        }
        match failure {
            None => cause,
            Some((path, kept, errno)) => {
                // Directories that contain files which could not be undone stay; removing them
                // would fail anyway.
                let (cause, source) = (Box::new(cause), errno.into());
                ChangeSetError::RollbackFailed { path, kept, cause, source }
            }
        }
    }
}

impl StagedChange {
    /// Applies this change to the target as it was seen. Steps that must be undone after an error
    /// are in `steps`, at most one per change.
    pub(super) fn make(
        &self,
        old: Option<Stat>,
        specially: bool,
        steps: &mut Vec<CommitStep>,
    ) -> Result<(), ChangeSetError> {
        let handle = &self.directory.handle;
        let failed = |errno| self.failed(errno);
        match (self.action, old) {
            (TargetAction::Write, None) => {
                let mut made = Err(Errno::INVAL);
                if specially {
                    let flags = RenameFlags::NOREPLACE;
                    made = renameat_with(handle, &self.temporary, handle, &self.name, flags);
                }
                if made.is_err_and(is_unsupported) {
                    // A hard link does not replace an existing file either. The temporary name is
                    // removed with the others.
                    made = linkat(handle, &self.temporary, handle, &self.name, AtFlags::empty());
                }
                if made.is_err_and(|errno| errno == Errno::PERM || is_unsupported(errno)) {
                    // This file system supports neither. The check a moment ago must be enough.
                    made = renameat(handle, &self.temporary, handle, &self.name);
                }
                match made {
                    Ok(()) => {
                        steps.push(CommitStep::Created);
                        Ok(())
                    }
                    Err(Errno::EXIST) => Err(self.changed()),
                    Err(errno) => Err(failed(errno).into()),
                }
            }
            (TargetAction::Write, Some(old)) => {
                self.advance_mtime(&old).map_err(failed)?;
                let exchanged = if specially { self.exchange() } else { Err(Errno::INVAL) };
                match exchanged {
                    Ok(()) => {
                        steps.push(CommitStep::Exchanged);
                        self.check_original(&old, &self.temporary)
                    }
                    Err(errno) if is_unsupported(errno) => {
                        // The original gets a second name, or moves where files can have only
                        // one name.
                        linkat(handle, &self.name, handle, &self.spare, AtFlags::empty())
                            .or_else(|_| self.rename(&self.name, &self.spare))
                            .map_err(failed)?;
                        steps.push(CommitStep::Spared);
                        self.rename(&self.temporary, &self.name).map_err(failed)?;
                        self.check_original(&old, &self.spare)
                    }
                    Err(errno) => Err(failed(errno).into()),
                }
            }
            // The earlier check has found a file to remove.
            (TargetAction::Remove, None) => Err(failed(Errno::NOENT).into()),
            (TargetAction::Remove, Some(old)) => {
                self.rename(&self.name, &self.temporary).map_err(failed)?;
                steps.push(CommitStep::Removed);
                self.check_original(&old, &self.temporary)
            }
        }
    }

    /// Verifies that the moved file is the one that was checked: another process may have replaced
    /// it, and its file must not be lost.
    fn check_original(&self, old: &Stat, kept: &str) -> Result<(), ChangeSetError> {
        match statat(&self.directory.handle, kept, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if stamp(&stat).is_same_content(&stamp(old)) => Ok(()),
            _ => Err(self.changed()),
        }
    }

    fn exchange(&self) -> io::Result<()> {
        let handle = &self.directory.handle;
        renameat_with(handle, &self.temporary, handle, &self.name, RenameFlags::EXCHANGE)
    }

    fn rename(&self, from: impl Arg, to: impl Arg) -> io::Result<()> {
        renameat(&self.directory.handle, from, &self.directory.handle, to)
    }

    fn undo(&self, step: CommitStep) -> io::Result<()> {
        match step {
            CommitStep::Created => unlinkat(&self.directory.handle, &self.name, AtFlags::empty()),
            CommitStep::Exchanged => self.exchange(),
            // If both names belong to the original, this does nothing, which is correct too.
            CommitStep::Spared => self.rename(&self.spare, &self.name),
            CommitStep::Removed => self.rename(&self.temporary, &self.name),
        }
    }

    /// Gives the new content a later time than the old one.
    ///
    /// A file system's clock ticks every few milliseconds, and numbers of removed files are reused.
    /// Without this, a file replaced twice within a tick could look unchanged, and a reader's stamp
    /// would be valid for content that it never read.
    fn advance_mtime(&self, old: &Stat) -> io::Result<()> {
        let handle = &self.directory.handle;
        let new = statat(handle, &self.temporary, AtFlags::SYMLINK_NOFOLLOW)?;
        let (old_ns, new_ns) = (stamp(old).modified_ns, stamp(&new).modified_ns);
        if new_ns > old_ns || old_ns - new_ns > AHEAD_NS_MAX {
            return Ok(());
        }
        let second = 1_000_000_000;
        let next_ns = old_ns + 1;
        let (Ok(tv_sec), Ok(tv_nsec)) =
            (next_ns.div_euclid(second).try_into(), next_ns.rem_euclid(second).try_into())
        else {
            return Ok(());
        };
        let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        let times = Timestamps { last_access, last_modification: Timespec { tv_sec, tv_nsec } };
        utimensat(handle, &self.temporary, &times, AtFlags::SYMLINK_NOFOLLOW)
    }

    fn changed(&self) -> ChangeSetError {
        ChangeSetError::Changed { path: self.path.clone() }
    }
}

fn stamp(stat: &Stat) -> InodeStamp {
    PathMetadata::from(stat).stamp
}

/// Returns whether the kernel or the file system does not support a kind of rename.
fn is_unsupported(errno: Errno) -> bool {
    matches!(errno, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

#[cfg(test)]
mod tests;
