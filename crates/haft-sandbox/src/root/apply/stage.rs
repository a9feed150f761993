//! The first half of a set of changes: everything that can be done without touching a target. Parent directories are
//! opened or made, targets looked at, contents written beside them. Whatever was made here goes again when the
//! transaction is dropped without having been committed.

use std::cell::Cell;
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
use rustix::io::{self, Errno};

use super::super::Root;
use super::super::change::{Change, ChangeTag, Expected};
use super::super::error::{ApplyError, RootError};
use super::super::file::{FileKind, Metadata};

/// How often a free temporary name is looked for, and how often a parent directory that vanished is made again.
pub(crate) const ATTEMPTS_MAX: u32 = 16;

/// A set of changes on its way.
pub(super) struct Transaction<'a> {
    pub(super) root: &'a Root,
    pub(super) staged: Vec<Staged>,
    pub(super) directories: Vec<Rc<Directory>>,
    names: Rc<Names>,
    /// The directories that were made for this set, outermost first.
    made: Vec<PathBuf>,
    /// Whether the targets have their new contents for good.
    pub(super) is_committed: bool,
}

/// Gives out the names of temporaries, each once.
pub(super) struct Names {
    tag: ChangeTag,
    given: Cell<u32>,
}

impl Names {
    fn next(&self) -> String {
        let number = self.given.get();
        self.given.set(number + 1);
        self.tag.temporary(number)
    }
}

/// A directory that holds a target.
pub(super) struct Directory {
    pub(super) path: PathBuf,
    pub(super) handle: OwnedFd,
}

/// One change, ready to be renamed into place.
pub(super) struct Staged {
    pub(super) path: PathBuf,
    pub(super) name: OsString,
    pub(super) directory: Rc<Directory>,
    pub(super) expected: Expected,
    pub(super) action: Action,
    names: Rc<Names>,
    /// A name beside the target: of the new content until it is in place, then of the original.
    pub(super) temporary: String,
    /// A second name for the original, used where two names cannot be exchanged in one step.
    pub(super) spare: String,
    /// Set when an original could not be put back: its temporary name then is all that is left of it.
    pub(super) keeps_original: bool,
}

/// What becomes of the target.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Write,
    Remove,
}

impl<'a> Transaction<'a> {
    pub(super) fn new(root: &'a Root, tag: ChangeTag) -> Transaction<'a> {
        let (staged, directories, made) = (Vec::new(), Vec::new(), Vec::new());
        let names = Rc::new(Names { tag, given: Cell::new(0) });
        Transaction { root, staged, directories, names, made, is_committed: false }
    }

    /// Prepares one change, so that only renaming is left to do.
    pub(super) fn stage(&mut self, change: Change) -> Result<(), ApplyError> {
        super::super::handle::require_canonical(change.path())?;
        let staged = match change {
            Change::Write { path, contents, mode, expected } => {
                self.stage_write(path, &contents, mode, expected)?
            }
            Change::Remove { path, expected } => self.stage_remove(path, expected)?,
        };
        self.staged.push(staged);
        Ok(())
    }

    fn stage_write(
        &mut self,
        path: PathBuf,
        contents: &[u8],
        mode: Option<u32>,
        expected: Expected,
    ) -> Result<Staged, ApplyError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.try_stage_write(&path, contents, mode, expected) {
                // Another set that failed removed a directory which it had made and this one had found.
                Err(ApplyError::Path(RootError::NotFound { .. })) if attempts < ATTEMPTS_MAX => {
                    self.forget_unused(&path);
                }
                answer => return answer,
            }
        }
    }

    fn try_stage_write(
        &mut self,
        path: &Path,
        contents: &[u8],
        mode: Option<u32>,
        expected: Expected,
    ) -> Result<Staged, ApplyError> {
        let directory = self.directory(parent_of(path), Missing::Make)?;
        let target = (path.to_path_buf(), directory);
        let mut staged = Staged::new(target, expected, Action::Write, &self.names)?;
        let old = staged.look()?;
        staged.write_temporary(contents, mode, old.as_ref())?;
        Ok(staged)
    }

    fn stage_remove(&mut self, path: PathBuf, expected: Expected) -> Result<Staged, ApplyError> {
        let directory = match (self.directory(parent_of(&path), Missing::Refuse), expected) {
            (Err(RootError::NotFound { .. }), Expected::Unchanged(_)) => {
                return Err(ApplyError::Changed { path });
            }
            (directory, _) => directory?,
        };
        let staged = Staged::new((path, directory), expected, Action::Remove, &self.names)?;
        staged.look()?;
        Ok(staged)
    }

    /// Forgets the directories above `path` that hold no temporary of this set; one that does cannot be removed.
    fn forget_unused(&mut self, path: &Path) {
        self.directories
            .retain(|known| Rc::strong_count(known) > 1 || !path.starts_with(&known.path));
    }

    /// Returns the handle of a directory, the same one for every change in it.
    fn directory(&mut self, path: &Path, missing: Missing) -> Result<Rc<Directory>, RootError> {
        if let Some(known) = self.directories.iter().find(|known| known.path == path) {
            return Ok(Rc::clone(known));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK;
        let handle = match self.root.open_strictly(path, flags) {
            Err(RootError::NotFound { .. })
                if missing == Missing::Make && path != Path::new("") =>
            {
                self.make_directory(path)?;
                self.root.open_strictly(path, flags)?
            }
            answer => answer?,
        };
        let directory = Rc::new(Directory { path: path.to_path_buf(), handle });
        self.directories.push(Rc::clone(&directory));
        Ok(directory)
    }

    /// Makes one directory, and those above it that are missing.
    fn make_directory(&mut self, path: &Path) -> Result<(), RootError> {
        // The parent counts as touched from here on, so that the new entry in it reaches the disk as well.
        let parent = self.directory(parent_of(path), Missing::Make)?;
        let name = path.file_name().unwrap_or(OsStr::new("."));
        match mkdirat(&parent.handle, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
            Ok(()) => self.made.push(path.to_path_buf()),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(RootError::from_errno(path, errno)),
        }
        Ok(())
    }
}

/// What to do about a parent directory that does not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Refuse,
}

impl Drop for Transaction<'_> {
    /// Removes the temporaries and, if nothing was committed, the directories that were made. Errors have no one to go
    /// to; what stays is recognised by [`crate::is_temporary`].
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
                // Not empty means that someone else uses it by now.
                let _ = unlinkat(&directory.handle, name, AtFlags::REMOVEDIR);
            }
        }
    }
}

impl Staged {
    fn new(
        (path, directory): (PathBuf, Rc<Directory>),
        expected: Expected,
        action: Action,
        names: &Rc<Names>,
    ) -> Result<Staged, RootError> {
        let (temporary, spare) = (names.next(), names.next());
        let Some(name) = path.file_name().map(OsStr::to_owned) else {
            return Err(RootError::NotRegular { path, kind: FileKind::Directory });
        };
        let (names, keeps_original) = (Rc::clone(names), false);
        Ok(Staged {
            path,
            name,
            directory,
            expected,
            action,
            names,
            temporary,
            spare,
            keeps_original,
        })
    }

    /// Looks at the target and refuses what cannot be replaced or is not as expected.
    pub(super) fn look(&self) -> Result<Option<Stat>, ApplyError> {
        let changed = || ApplyError::Changed { path: self.path.clone() };
        let stat = match statat(&self.directory.handle, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) if matches!(self.expected, Expected::Unchanged(_)) => {
                return Err(changed());
            }
            Err(Errno::NOENT) if self.action == Action::Write => return Ok(None),
            Err(errno) => return Err(self.failed(errno).into()),
        };
        let metadata = Metadata::from(&stat);
        match (metadata.kind, self.expected) {
            (FileKind::Symlink, _) => Err(RootError::Exchanged { path: self.path.clone() }.into()),
            (FileKind::Regular, Expected::Any) => Ok(Some(stat)),
            (FileKind::Regular, Expected::Unchanged(stamp)) if stamp == metadata.stamp => {
                Ok(Some(stat))
            }
            (FileKind::Regular, Expected::Unchanged(_) | Expected::Absent) => Err(changed()),
            (kind, _) => Err(RootError::NotRegular { path: self.path.clone(), kind }.into()),
        }
    }

    fn write_temporary(
        &mut self,
        contents: &[u8],
        mode: Option<u32>,
        old: Option<&Stat>,
    ) -> Result<(), RootError> {
        if old.is_some() {
            // Renaming would get around a file's own protection against being written.
            let access =
                accessat(&self.directory.handle, &self.name, Access::WRITE_OK, AtFlags::EACCESS);
            access.map_err(|errno| self.failed(errno))?;
        }
        let file = self.create_temporary().map_err(|errno| self.failed(errno))?;
        let written = self.fill(file, contents, mode, old);
        if written.is_err() {
            self.remove_temporaries();
        }
        written
    }

    fn create_temporary(&mut self) -> io::Result<File> {
        let flags = OFlags::WRONLY
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        // The kernel takes the umask, or the directory's default access list, off these bits, as for any new file.
        let usual = Mode::from_raw_mode(0o666);
        for _ in 0..ATTEMPTS_MAX {
            match openat(&self.directory.handle, &self.temporary, flags, usual) {
                Err(Errno::EXIST) => self.temporary = self.names.next(),
                answer => return answer.map(File::from),
            }
        }
        Err(Errno::EXIST)
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
            // Nobody who could not read the original shall read the copy while it is being written.
            fchmod(&file, Mode::RUSR | Mode::WUSR).map_err(failed)?;
            let is_kept = keep_owner(&file, old).map_err(failed)?;
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

/// Returns the directory that a canonical path lies in; the root's own path is empty.
fn parent_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Gives a new file the owner and group of the one that it replaces, as far as this process may; tells whether both
/// are the same now.
fn keep_owner(file: &File, old: &Stat) -> io::Result<bool> {
    let new = fstat(file)?;
    if (new.st_uid, new.st_gid) == (old.st_uid, old.st_gid) {
        return Ok(true);
    }
    let (owner, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
    if fchown(file, Some(owner), Some(group)).is_ok() {
        return Ok(true);
    }
    // A group that this user belongs to may be set even where the owner may not.
    let _ = fchown(file, None, Some(group));
    Ok(false)
}
