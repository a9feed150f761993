//! The second half of a set of changes: under the root's lock, compare every target with what is expected, rename, and
//! undo all of it if one step fails. It deliberately writes no content; that is done by then.

use std::sync::PoisonError;

use rustix::fs::{
    AtFlags, RenameFlags, Stat, Timespec, Timestamps, UTIME_OMIT, fsync, linkat, renameat,
    renameat_with, statat, unlinkat, utimensat,
};
use rustix::io::{self, Errno};
use rustix::path::Arg;

use super::super::error::{ApplyError, RootError};
use super::super::file::{Metadata, Stamp};
use super::stage::{Action, Staged, Transaction};

/// How far a file's time may lie ahead for its successor to be put after it rather than at the present.
const AHEAD_NS_MAX: i128 = 1_000_000_000;

/// A step that was made, and with it how to undo it.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// The target was new.
    Created,
    /// Target and temporary changed places.
    Exchanged,
    /// The original moved to, or has a second name in, the spare name.
    Spared,
    /// The original moved to the temporary name.
    Removed,
}

impl Transaction<'_> {
    /// Puts every staged change into place, or none.
    pub(super) fn commit(mut self) -> Result<(), ApplyError> {
        let root = self.root.clone();
        // What the lock guards lies in the file system, so a panic elsewhere leaves nothing to distrust.
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

    fn make_steps(&self, steps: &mut Vec<Step>) -> Result<(), ApplyError> {
        // All are compared before the first is touched: a stale set should not make files flicker.
        let olds = self.staged.iter().map(Staged::look).collect::<Result<Vec<_>, _>>()?;
        for (staged, old) in self.staged.iter().zip(olds) {
            staged.make(old, self.root.inner.renames_specially, steps)?;
        }
        Ok(())
    }

    /// Makes the renames last through a loss of power.
    fn sync(&self) -> Result<(), ApplyError> {
        for directory in &self.directories {
            match fsync(&directory.handle) {
                // Some file systems keep no directories that could be synced.
                Ok(()) | Err(Errno::INVAL | Errno::NOTSUP) => {}
                Err(errno) => {
                    return Err(RootError::from_errno(&directory.path, errno).into());
                }
            }
        }
        Ok(())
    }

    /// Undoes steps, the last one first, and returns the error that tells of it.
    fn undo(&mut self, steps: &[Step], cause: ApplyError) -> ApplyError {
        let mut failure = None;
        for (staged, step) in self.staged.iter_mut().zip(steps).rev() {
            let Err(errno) = staged.undo(*step) else { continue };
            staged.keeps_original = true;
            let kept = match step {
                Step::Created => staged.path.clone(),
                Step::Exchanged | Step::Removed => staged.directory.path.join(&staged.temporary),
                Step::Spared => staged.directory.path.join(&staged.spare),
            };
            failure = Some((staged.path.clone(), kept, errno));
        }
        match failure {
            None => cause,
            Some((path, kept, errno)) => {
                // Directories that hold what could not be undone stay; removing them would fail anyway.
                let (cause, source) = (Box::new(cause), errno.into());
                ApplyError::RollbackFailed { path, kept, cause, source }
            }
        }
    }
}

impl Staged {
    /// Does this change to what was seen of the target. What must be undone after an error is in `steps`, at most one
    /// for each change.
    pub(super) fn make(
        &self,
        old: Option<Stat>,
        specially: bool,
        steps: &mut Vec<Step>,
    ) -> Result<(), ApplyError> {
        match (self.action, old) {
            (Action::Write, None) => self.create(specially, steps),
            (Action::Write, Some(old)) => self.replace(&old, specially, steps),
            // Looking has made sure that there is something to remove.
            (Action::Remove, None) => Err(self.failed(Errno::NOENT).into()),
            (Action::Remove, Some(old)) => {
                self.rename(&self.name, &self.temporary).map_err(|errno| self.failed(errno))?;
                steps.push(Step::Removed);
                self.confirm(&old, &self.temporary)
            }
        }
    }

    fn create(&self, specially: bool, steps: &mut Vec<Step>) -> Result<(), ApplyError> {
        let handle = &self.directory.handle;
        let mut made = Err(Errno::INVAL);
        if specially {
            let flags = RenameFlags::NOREPLACE;
            made = renameat_with(handle, &self.temporary, handle, &self.name, flags);
        }
        if made.is_err_and(is_unsupported) {
            // A hard link does not replace either; the temporary name goes with the others.
            made = linkat(handle, &self.temporary, handle, &self.name, AtFlags::empty());
        }
        if made.is_err_and(|errno| errno == Errno::PERM || is_unsupported(errno)) {
            // Neither exists on this file system: what was looked at a moment ago has to do.
            made = renameat(handle, &self.temporary, handle, &self.name);
        }
        match made {
            Ok(()) => {
                steps.push(Step::Created);
                Ok(())
            }
            Err(Errno::EXIST) => Err(self.changed()),
            Err(errno) => Err(self.failed(errno).into()),
        }
    }

    fn replace(
        &self,
        old: &Stat,
        specially: bool,
        steps: &mut Vec<Step>,
    ) -> Result<(), ApplyError> {
        let failed = |errno| self.failed(errno);
        self.follow_in_time(old).map_err(failed)?;
        let exchanged = if specially { self.exchange() } else { Err(Errno::INVAL) };
        match exchanged {
            Ok(()) => {
                steps.push(Step::Exchanged);
                self.confirm(old, &self.temporary)
            }
            Err(errno) if is_unsupported(errno) => {
                self.spare().map_err(failed)?;
                steps.push(Step::Spared);
                self.rename(&self.temporary, &self.name).map_err(failed)?;
                self.confirm(old, &self.spare)
            }
            Err(errno) => Err(failed(errno).into()),
        }
    }

    /// Gives the original a second name, or, where files have one name only, another one.
    fn spare(&self) -> io::Result<()> {
        let handle = &self.directory.handle;
        linkat(handle, &self.name, handle, &self.spare, AtFlags::empty())
            .or_else(|_| self.rename(&self.name, &self.spare))
    }

    /// Makes sure that what was moved aside is what was looked at: another process may have been faster, and its file
    /// must not be lost.
    fn confirm(&self, old: &Stat, kept: &str) -> Result<(), ApplyError> {
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

    fn undo(&self, step: Step) -> io::Result<()> {
        match step {
            Step::Created => unlinkat(&self.directory.handle, &self.name, AtFlags::empty()),
            Step::Exchanged => self.exchange(),
            // Where both names are the original's, this does nothing, which is right as well.
            Step::Spared => self.rename(&self.spare, &self.name),
            Step::Removed => self.rename(&self.temporary, &self.name),
        }
    }

    /// Gives the new content a later time than the old one has.
    ///
    /// The clock of a file system ticks every few milliseconds and numbers of removed files are used again, so a file
    /// replaced twice within a tick could look exactly as before, and a reader's stamp would hold for content that it
    /// never saw.
    fn follow_in_time(&self, old: &Stat) -> io::Result<()> {
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

    fn changed(&self) -> ApplyError {
        ApplyError::Changed { path: self.path.clone() }
    }
}

fn stamp(stat: &Stat) -> Stamp {
    Metadata::from(stat).stamp
}

/// Tells whether a kind of renaming is unknown to the kernel or the file system.
fn is_unsupported(errno: Errno) -> bool {
    matches!(errno, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

#[cfg(test)]
mod tests;
