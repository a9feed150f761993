//! The first half of a change set: everything that can be done without touching a target. It opens
//! or creates parent directories, checks targets, and writes new contents beside them. If the
//! transaction is dropped without a commit, everything that it created is removed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{
    Access, AtFlags, Gid, Mode, OFlags, Stat, Uid, accessat, fchmod, fchown, fdatasync, fstat,
    mkdirat, openat, statat, unlinkat,
};
use rustix::io::Errno;

use super::super::Root;
use super::super::change::{ChangeTag, ExpectedFile, RootFileChange};
use super::super::error::{ChangeSetError, RootError};
use super::super::file::{InodeKind, PathMetadata};

/// Attempts to find a free temporary name, and to create a parent directory again that has
/// disappeared.
pub(crate) const ATTEMPTS_MAX: u32 = 16;

/// A change set in progress.
pub(super) struct FileTransaction<'a> {
    pub(super) root: &'a Root,
    pub(super) staged: Vec<StagedChange>,
    pub(super) directories: Vec<Rc<TargetDirectory>>,
    names: TemporaryNames,
    /// The directories that were created for this set, outermost first.
    made: Vec<PathBuf>,
    /// Whether the targets permanently have their new contents.
    pub(super) is_committed: bool,
}

/// Generates names of temporaries, each once.
struct TemporaryNames {
    tag: ChangeTag,
    given: u32,
}

impl TemporaryNames {
    fn next(&mut self) -> String {
        self.given += 1;
        self.tag.temporary(self.given - 1)
    }
}

/// A directory that contains a target.
pub(super) struct TargetDirectory {
    pub(super) path: PathBuf,
    pub(super) handle: OwnedFd,
}

/// One change, ready to be renamed into place.
pub(super) struct StagedChange {
    pub(super) path: PathBuf,
    pub(super) name: OsString,
    pub(super) directory: Rc<TargetDirectory>,
    pub(super) expected: ExpectedFile,
    pub(super) action: TargetAction,
    /// A name beside the target. It belongs to the new content until that is in place, then to the
    /// original.
    pub(super) temporary: String,
    /// A second name for the original, used where two names cannot be exchanged in one step.
    pub(super) spare: String,
    /// Set if an original could not be restored: its temporary name is then the only one left.
    pub(super) keeps_original: bool,
}

/// The action on the target.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TargetAction {
    Write,
    Remove,
}

impl<'a> FileTransaction<'a> {
    pub(super) fn new(root: &'a Root, tag: ChangeTag) -> FileTransaction<'a> {
        let (staged, directories, made) = (Vec::new(), Vec::new(), Vec::new());
        let names = TemporaryNames { tag, given: 0 };
        FileTransaction { root, staged, directories, names, made, is_committed: false }
    }

    /// Prepares one change, so that only renaming remains.
    pub(super) fn stage(&mut self, change: RootFileChange) -> Result<(), ChangeSetError> {
        super::super::handle::require_canonical(change.path())?;
        let staged = match change {
            RootFileChange::Write { path, contents, mode, expected } => {
                let mut attempts = 0;
                loop {
                    attempts += 1;
                    match self.try_stage_write(&path, &contents, mode, expected) {
                        // Another set that failed has removed a directory which it had created and
                        // this set had found.
                        Err(ChangeSetError::Path(RootError::NotFound { .. }))
                            if attempts < ATTEMPTS_MAX =>
                        {
                            // A directory that contains a temporary of this set cannot be removed.
                            self.directories.retain(|known| {
                                Rc::strong_count(known) > 1 || !path.starts_with(&known.path)
                            });
                        }
                        answer => break answer?,
                    }
                }
            }
            RootFileChange::Remove { path, expected } => {
                let parent = self.directory(parent_of(&path), MissingParent::Refuse);
                let directory = match (parent, expected) {
                    (Err(RootError::NotFound { .. }), ExpectedFile::Unchanged(_)) => {
                        return Err(ChangeSetError::Changed { path });
                    }
                    (parent, _) => parent?,
                };
                let target = (path, directory);
                let staged =
                    StagedChange::new(target, expected, TargetAction::Remove, &mut self.names)?;
                staged.check_target()?;
                staged
            }
        };
        self.staged.push(staged);
        Ok(())
    }

    fn try_stage_write(
        &mut self,
        path: &Path,
        contents: &[u8],
        mode: Option<u32>,
        expected: ExpectedFile,
    ) -> Result<StagedChange, ChangeSetError> {
        let directory = self.directory(parent_of(path), MissingParent::Make)?;
        let target = (path.to_path_buf(), directory);
        let mut staged = StagedChange::new(target, expected, TargetAction::Write, &mut self.names)?;
        let old = staged.check_target()?;
        staged.write_temporary(contents, mode, old.as_ref(), &mut self.names)?;
        Ok(staged)
    }

    /// Returns the handle of a directory, the same one for every change in it.
    fn directory(
        &mut self,
        path: &Path,
        missing: MissingParent,
    ) -> Result<Rc<TargetDirectory>, RootError> {
        if let Some(known) = self.directories.iter().find(|known| known.path == path) {
            return Ok(Rc::clone(known));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK;
        let handle = match self.root.open_strictly(path, flags) {
            Err(RootError::NotFound { .. })
                if missing == MissingParent::Make && path != Path::new("") =>
            {
                // The parent counts as changed from here on, so that the new entry in it is synced
                // as well.
                let parent = self.directory(parent_of(path), MissingParent::Make)?;
                let name = path.file_name().unwrap_or(OsStr::new("."));
                match mkdirat(&parent.handle, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
                    Ok(()) => self.made.push(path.to_path_buf()),
                    Err(Errno::EXIST) => {}
                    Err(errno) => return Err(RootError::from_errno(path, errno)),
                }
                self.root.open_strictly(path, flags)?
            }
            answer => answer?,
        };
        let directory = Rc::new(TargetDirectory { path: path.to_path_buf(), handle });
        self.directories.push(Rc::clone(&directory));
        Ok(directory)
    }
}

/// The action for a missing parent directory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingParent {
    Make,
    Refuse,
}

impl Drop for FileTransaction<'_> {
    /// Removes the temporaries and, if nothing was committed, the created directories. Errors
    /// cannot be reported; remaining files are recognised by [`crate::is_temporary`].
    fn drop(&mut self) {
        for staged in self.staged.iter().filter(|staged| !staged.keeps_original) {
            staged.remove_temporaries();
        }
        if self.is_committed {
            return;
        }
        for path in self.made.iter().rev() {
            let parent = parent_of(path);
            let known = self.directories.iter().find(|known| known.path == parent);
            if let (Some(directory), Some(name)) = (known, path.file_name()) {
                // If it is not empty, another process uses it by now.
                let _ = unlinkat(&directory.handle, name, AtFlags::REMOVEDIR);
            }
        }
    }
}

impl StagedChange {
    fn new(
        (path, directory): (PathBuf, Rc<TargetDirectory>),
        expected: ExpectedFile,
        action: TargetAction,
        names: &mut TemporaryNames,
    ) -> Result<StagedChange, RootError> {
        let (temporary, spare) = (names.next(), names.next());
        let Some(name) = path.file_name().map(OsStr::to_owned) else {
            return Err(RootError::NotRegular { path, kind: InodeKind::Directory });
        };
        Ok(StagedChange {
            path,
            name,
            directory,
            expected,
            action,
            temporary,
            spare,
            keeps_original: false,
        })
    }

    /// Checks the target, and refuses one that cannot be replaced or is not in the expected state.
    pub(super) fn check_target(&self) -> Result<Option<Stat>, ChangeSetError> {
        let changed = || ChangeSetError::Changed { path: self.path.clone() };
        let stat = match statat(&self.directory.handle, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) if matches!(self.expected, ExpectedFile::Unchanged(_)) => {
                return Err(changed());
            }
            Err(Errno::NOENT) if self.action == TargetAction::Write => return Ok(None),
            Err(errno) => return Err(self.failed(errno).into()),
        };
        let metadata = PathMetadata::from(&stat);
        match (metadata.kind, self.expected) {
            (InodeKind::Symlink, _) => Err(RootError::Exchanged { path: self.path.clone() }.into()),
            (InodeKind::Regular, ExpectedFile::Any) => Ok(Some(stat)),
            (InodeKind::Regular, ExpectedFile::Unchanged(stamp)) if stamp == metadata.stamp => {
                Ok(Some(stat))
            }
            (InodeKind::Regular, ExpectedFile::Unchanged(_) | ExpectedFile::Absent) => {
                Err(changed())
            }
            (kind, _) => Err(RootError::NotRegular { path: self.path.clone(), kind }.into()),
        }
    }

    fn write_temporary(
        &mut self,
        contents: &[u8],
        mode: Option<u32>,
        old: Option<&Stat>,
        names: &mut TemporaryNames,
    ) -> Result<(), RootError> {
        if old.is_some() {
            // A rename would bypass a file's own write protection.
            let access =
                accessat(&self.directory.handle, &self.name, Access::WRITE_OK, AtFlags::EACCESS);
            access.map_err(|errno| self.failed(errno))?;
        }
        let flags = OFlags::WRONLY
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        // The kernel applies the umask, or the directory's default access list, as for any new
        // file.
        let usual = Mode::from_raw_mode(0o666);
        for _ in 0..ATTEMPTS_MAX {
            match openat(&self.directory.handle, &self.temporary, flags, usual) {
                Err(Errno::EXIST) => self.temporary = names.next(),
                Err(errno) => return Err(self.failed(errno)),
                Ok(file) => {
                    return self
                        .fill(File::from(file), contents, mode, old)
                        .inspect_err(|_| self.remove_temporaries());
                }
            }
        }
        Err(self.failed(Errno::EXIST))
    }

    fn fill(
        &self,
        mut file: File,
        contents: &[u8],
        mode: Option<u32>,
        old: Option<&Stat>,
    ) -> Result<(), RootError> {
        let failed = |errno| self.failed(errno);
        if let Some(old) = old {
            // A user who could not read the original must not read the copy while it is being
            // written.
            fchmod(&file, Mode::RUSR | Mode::WUSR).map_err(failed)?;
            // The owner and group stay as far as this process may set them.
            let new = fstat(&file).map_err(failed)?;
            let (owner, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
            let is_kept = (new.st_uid, new.st_gid) == (old.st_uid, old.st_gid)
                || fchown(&file, Some(owner), Some(group)).is_ok();
            if !is_kept {
                // A group that this user belongs to may be set even where the owner may not.
                let _ = fchown(&file, None, Some(group));
            }
            let bits = mode.unwrap_or(if is_kept { old.st_mode } else { old.st_mode & 0o1777 });
            file.write_all(contents).map_err(|error| RootError::from_io(&self.path, error))?;
            fchmod(&file, Mode::from_raw_mode(bits & 0o7777)).map_err(failed)?;
        } else {
            file.write_all(contents).map_err(|error| RootError::from_io(&self.path, error))?;
            if let Some(bits) = mode {
                fchmod(&file, Mode::from_raw_mode(bits & 0o7777)).map_err(failed)?;
            }
        }
        fdatasync(&file).map_err(failed)
    }

    pub(super) fn failed(&self, errno: Errno) -> RootError {
        RootError::from_errno(&self.path, errno)
    }

    fn remove_temporaries(&self) {
        for name in [&self.temporary, &self.spare] {
            // Usually only one of the two exists.
            let _ = unlinkat(&self.directory.handle, name, AtFlags::empty());
        }
    }
}

/// Returns the parent directory of a canonical path; the root's own path is empty.
fn parent_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}
