//! Finishes change sets that a crash interrupted. The caller has recorded the set's tag and, for
//! each file, a digest of its old and new content. The files are compared with these digests. The
//! temporaries, each of which contains an old or a new content, are renamed into place. A file that
//! matches neither digest is not touched.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use rustix::fs::{AtFlags, OFlags, fsync, renameat, unlinkat};

use super::super::Root;
use super::super::change::{ChangeSetState, ChangeTag, ChangeTarget};
use super::super::error::RootError;
use super::super::file::InodeKind;

/// The current content of a target.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TargetState {
    Before,
    After,
    /// Old and new content are the same.
    Both,
    Other,
}

/// A temporary file of the set.
struct TemporaryContent<D> {
    directory: PathBuf,
    name: OsString,
    digest: D,
}

/// A rename or removal that is still needed.
enum FinishStep<'a> {
    Place { directory: &'a Path, temporary: &'a OsStr, name: &'a OsStr },
    Remove { directory: &'a Path, name: &'a OsStr },
}

impl Root {
    /// Finishes a change set that was applied with `tag`: forward if all new contents exist,
    /// otherwise back if all old contents exist. The set's temporaries are removed once it is
    /// finished.
    ///
    /// Must not be called while the set may still be in progress.
    ///
    /// # Errors
    ///
    /// [`RootError`] if a file cannot be read or renamed; the call can safely be repeated.
    pub fn finish_changes<D: PartialEq>(
        &self,
        tag: ChangeTag,
        targets: &[ChangeTarget<D>],
        digest: impl Fn(&mut File) -> io::Result<D>,
    ) -> Result<ChangeSetState, RootError> {
        let _changing = self.inner.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = Vec::with_capacity(targets.len());
        for target in targets {
            let now = match self.open_file(&target.path) {
                Ok(mut opened) => {
                    let digest = digest(&mut opened.file);
                    Some(digest.map_err(|error| RootError::from_io(&target.path, error))?)
                }
                Err(RootError::NotFound { .. }) => None,
                Err(
                    RootError::NotRegular { .. }
                    | RootError::Exchanged { .. }
                    | RootError::NotADirectory { .. },
                ) => {
                    found.push(TargetState::Other);
                    continue;
                }
                Err(error) => return Err(error),
            };
            found.push(match (now == target.before, now == target.after) {
                (true, true) => TargetState::Both,
                (true, false) => TargetState::Before,
                (false, true) => TargetState::After,
                (false, false) => TargetState::Other,
            });
        }
        if found.contains(&TargetState::Other) {
            return Ok(ChangeSetState::Unclear);
        }
        let temporaries = self.temporaries(tag, targets, &digest)?;
        let all = |state| found.iter().all(|found| [state, TargetState::Both].contains(found));
        let finished = if all(TargetState::After) {
            ChangeSetState::Applied
        } else if all(TargetState::Before) {
            ChangeSetState::NotApplied
        } else if let Some(steps) = steps(targets, &found, &temporaries, TargetState::After) {
            self.make(&steps)?;
            ChangeSetState::Applied
        } else if let Some(steps) = steps(targets, &found, &temporaries, TargetState::Before) {
            self.make(&steps)?;
            ChangeSetState::NotApplied
        } else {
            return Ok(ChangeSetState::Unclear);
        };
        for directory in directories(targets) {
            for name in self.names_of(tag, directory)? {
                self.remove(directory, &name)?;
            }
            match self.directory(directory) {
                // Some file systems cannot sync directories.
                Ok(handle) => drop(fsync(handle)),
                Err(RootError::NotFound { .. } | RootError::NotADirectory { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(finished)
    }

    /// Returns the set's temporaries that contain a complete old or new content.
    fn temporaries<D>(
        &self,
        tag: ChangeTag,
        targets: &[ChangeTarget<D>],
        digest: &impl Fn(&mut File) -> io::Result<D>,
    ) -> Result<Vec<TemporaryContent<D>>, RootError> {
        let mut temporaries = Vec::new();
        for directory in directories(targets) {
            for name in self.names_of(tag, directory)? {
                let path = directory.join(&name);
                let mut opened = self.open_file(&path)?;
                let digest =
                    digest(&mut opened.file).map_err(|error| RootError::from_io(&path, error))?;
                let directory = directory.to_path_buf();
                temporaries.push(TemporaryContent { directory, name, digest });
            }
        }
        Ok(temporaries)
    }

    fn names_of(&self, tag: ChangeTag, directory: &Path) -> Result<Vec<OsString>, RootError> {
        let entries = match self.list(directory) {
            Ok(entries) => entries,
            // The set would have created it, but did not.
            Err(RootError::NotFound { .. } | RootError::NotADirectory { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        let of_set = entries
            .into_iter()
            .filter(|entry| entry.kind == InodeKind::Regular && tag.is_of(&entry.name));
        Ok(of_set.map(|entry| entry.name).collect())
    }

    fn make(&self, steps: &[FinishStep<'_>]) -> Result<(), RootError> {
        for step in steps {
            match step {
                FinishStep::Place { directory, temporary, name } => {
                    let handle = self.directory(directory)?;
                    renameat(&handle, *temporary, &handle, *name)
                        .map_err(RootError::at(&directory.join(name)))?;
                }
                FinishStep::Remove { directory, name } => self.remove(directory, name)?,
            }
        }
        Ok(())
    }

    fn remove(&self, directory: &Path, name: &OsStr) -> Result<(), RootError> {
        let handle = self.directory(directory)?;
        unlinkat(&handle, name, AtFlags::empty()).map_err(RootError::at(&directory.join(name)))
    }

    fn directory(&self, path: &Path) -> Result<std::os::fd::OwnedFd, RootError> {
        self.open_strictly(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK)
    }
}

/// Returns the steps that bring every target to `goal`, or `None` if a needed content is missing.
fn steps<'a, D: PartialEq>(
    targets: &'a [ChangeTarget<D>],
    found: &[TargetState],
    temporaries: &'a [TemporaryContent<D>],
    goal: TargetState,
) -> Option<Vec<FinishStep<'a>>> {
    let mut used = vec![false; temporaries.len()];
    let mut steps = Vec::new();
    for (target, found) in targets.iter().zip(found) {
        if [goal, TargetState::Both].contains(found) {
            continue;
        }
        let directory = parent_of(&target.path);
        let name = target.path.file_name()?;
        let needed = if goal == TargetState::After { &target.after } else { &target.before };
        let Some(needed) = needed else {
            steps.push(FinishStep::Remove { directory, name });
            continue;
        };
        let (temporary, used) = temporaries.iter().zip(&mut used).find(|(temporary, used)| {
            !**used && temporary.directory == directory && temporary.digest == *needed
        })?;
        *used = true;
        steps.push(FinishStep::Place { directory, temporary: &temporary.name, name });
    }
    Some(steps)
}

/// Returns the directories of the targets, without duplicates.
fn directories<D>(targets: &[ChangeTarget<D>]) -> Vec<&Path> {
    let mut directories: Vec<&Path> =
        targets.iter().map(|target| parent_of(&target.path)).collect();
    directories.sort_unstable();
    directories.dedup();
    directories
}

fn parent_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

#[cfg(test)]
mod tests;
