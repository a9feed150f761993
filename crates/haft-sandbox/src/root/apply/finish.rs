//! Ending what a crash left half done. Who made a set of changes recorded its tag and, for each file, a digest of what
//! it was and of what it was to become; here the files are compared with that, and the temporaries, of which each
//! holds a new or an old content, are renamed to where they belong. What fits neither digest is left alone.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use rustix::fs::{AtFlags, OFlags, fsync, renameat, unlinkat};

use super::super::Root;
use super::super::change::{ChangeTag, Finished, Target};
use super::super::error::RootError;
use super::super::file::FileKind;

/// What a target is now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Before,
    After,
    /// The change would change nothing.
    Both,
    Other,
}

/// A temporary of the set.
struct Temporary<D> {
    directory: PathBuf,
    name: OsString,
    digest: D,
}

/// A rename, or a removal, that is still to be made.
enum Step<'a> {
    Place { directory: &'a Path, temporary: &'a OsStr, name: &'a OsStr },
    Remove { directory: &'a Path, name: &'a OsStr },
}

impl Root {
    /// Brings a set of changes that was made with `tag` to an end: forward if its new contents are all there, else
    /// back, if its old ones are. The temporaries of the set are removed once it is at an end.
    ///
    /// Must not be called while the set may still be under way.
    ///
    /// # Errors
    ///
    /// [`RootError`] when a file cannot be looked at or renamed; calling it again is safe.
    pub fn finish<D: PartialEq>(
        &self,
        tag: ChangeTag,
        targets: &[Target<D>],
        digest: impl Fn(&mut File) -> io::Result<D>,
    ) -> Result<Finished, RootError> {
        let _changing = self.inner.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let found = targets
            .iter()
            .map(|target| self.found(target, &digest))
            .collect::<Result<Vec<_>, _>>()?;
        if found.contains(&Found::Other) {
            return Ok(Finished::Unclear);
        }
        let temporaries = self.temporaries(tag, targets, &digest)?;
        let all = |state| found.iter().all(|found| [state, Found::Both].contains(found));
        let finished = if all(Found::After) {
            Finished::Applied
        } else if all(Found::Before) {
            Finished::NotApplied
        } else if let Some(steps) = steps(targets, &found, &temporaries, Found::After) {
            self.make(&steps)?;
            Finished::Applied
        } else if let Some(steps) = steps(targets, &found, &temporaries, Found::Before) {
            self.make(&steps)?;
            Finished::NotApplied
        } else {
            return Ok(Finished::Unclear);
        };
        self.remove_temporaries(tag, targets)?;
        Ok(finished)
    }

    fn found<D: PartialEq>(
        &self,
        target: &Target<D>,
        digest: &impl Fn(&mut File) -> io::Result<D>,
    ) -> Result<Found, RootError> {
        let now = match self.open_file(&target.path) {
            Ok(mut opened) => Some(self.digest_of(&target.path, &mut opened.file, digest)?),
            Err(RootError::NotFound { .. }) => None,
            Err(
                RootError::NotRegular { .. }
                | RootError::Exchanged { .. }
                | RootError::NotADirectory { .. },
            ) => return Ok(Found::Other),
            Err(error) => return Err(error),
        };
        Ok(match (now == target.before, now == target.after) {
            (true, true) => Found::Both,
            (true, false) => Found::Before,
            (false, true) => Found::After,
            (false, false) => Found::Other,
        })
    }

    fn digest_of<D>(
        &self,
        path: &Path,
        file: &mut File,
        digest: &impl Fn(&mut File) -> io::Result<D>,
    ) -> Result<D, RootError> {
        digest(file).map_err(|error| RootError::from_io(path, error))
    }

    /// Returns the temporaries of the set that hold a whole content, whichever it is.
    fn temporaries<D>(
        &self,
        tag: ChangeTag,
        targets: &[Target<D>],
        digest: &impl Fn(&mut File) -> io::Result<D>,
    ) -> Result<Vec<Temporary<D>>, RootError> {
        let mut temporaries = Vec::new();
        for directory in directories(targets) {
            for name in self.names_of(tag, directory)? {
                let path = directory.join(&name);
                let mut opened = self.open_file(&path)?;
                let digest = self.digest_of(&path, &mut opened.file, digest)?;
                temporaries.push(Temporary { directory: directory.to_path_buf(), name, digest });
            }
        }
        Ok(temporaries)
    }

    fn names_of(&self, tag: ChangeTag, directory: &Path) -> Result<Vec<OsString>, RootError> {
        let entries = match self.list(directory) {
            Ok(entries) => entries,
            // It was to be made by the set, and was not.
            Err(RootError::NotFound { .. } | RootError::NotADirectory { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        let of_set = entries
            .into_iter()
            .filter(|entry| entry.kind == FileKind::Regular && tag.is_of(&entry.name));
        Ok(of_set.map(|entry| entry.name).collect())
    }

    fn make(&self, steps: &[Step<'_>]) -> Result<(), RootError> {
        for step in steps {
            match step {
                Step::Place { directory, temporary, name } => {
                    let handle = self.directory(directory)?;
                    renameat(&handle, *temporary, &handle, *name)
                        .map_err(|errno| RootError::from_errno(&directory.join(name), errno))?;
                }
                Step::Remove { directory, name } => self.remove(directory, name)?,
            }
        }
        Ok(())
    }

    fn remove_temporaries<D>(
        &self,
        tag: ChangeTag,
        targets: &[Target<D>],
    ) -> Result<(), RootError> {
        for directory in directories(targets) {
            for name in self.names_of(tag, directory)? {
                self.remove(directory, &name)?;
            }
            match self.directory(directory) {
                // Some file systems keep no directories that could be synced.
                Ok(handle) => drop(fsync(handle)),
                Err(RootError::NotFound { .. } | RootError::NotADirectory { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn remove(&self, directory: &Path, name: &OsStr) -> Result<(), RootError> {
        let handle = self.directory(directory)?;
        unlinkat(&handle, name, AtFlags::empty())
            .map_err(|errno| RootError::from_errno(&directory.join(name), errno))
    }

    fn directory(&self, path: &Path) -> Result<std::os::fd::OwnedFd, RootError> {
        self.open_strictly(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK)
    }
}

/// Returns what brings every target to `goal`, `None` if a content that it takes is not there.
fn steps<'a, D: PartialEq>(
    targets: &'a [Target<D>],
    found: &[Found],
    temporaries: &'a [Temporary<D>],
    goal: Found,
) -> Option<Vec<Step<'a>>> {
    let mut used = vec![false; temporaries.len()];
    let mut steps = Vec::new();
    for (target, found) in targets.iter().zip(found) {
        if [goal, Found::Both].contains(found) {
            continue;
        }
        let directory = parent_of(&target.path);
        let name = target.path.file_name()?;
        let wanted = if goal == Found::After { &target.after } else { &target.before };
        let Some(wanted) = wanted else {
            steps.push(Step::Remove { directory, name });
            continue;
        };
        let (temporary, used) = temporaries.iter().zip(&mut used).find(|(temporary, used)| {
            !**used && temporary.directory == directory && temporary.digest == *wanted
        })?;
        *used = true;
        steps.push(Step::Place { directory, temporary: &temporary.name, name });
    }
    Some(steps)
}

/// Returns the directories of the targets, each once.
fn directories<D>(targets: &[Target<D>]) -> Vec<&Path> {
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
