//! Replaces or removes an entry in one file system step without losing data: the previous entry is
//! moved aside and checked once more before it is removed. A file that an editor saved a moment ago
//! is put back. The replacement itself is created elsewhere.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use haft_sandbox::InodeStamp;
use rustix::fs::{AtFlags, RenameFlags, linkat, renameat, renameat_with, unlinkat};
use rustix::io::{self, Errno};

use super::plan::ExpectedEntry;
use crate::directory::{EntryMetadata, OpenDirectory, name_of};
use crate::error::RestoreError;
use crate::id::ObjectId;

/// A name in a directory, with the temporary name beside it that entries use on the way to and from
/// it.
pub(super) struct ReplacementTarget<'a> {
    directory: &'a OpenDirectory,
    path: &'a Path,
    name: &'a OsStr,
    pub(super) temporary: String,
}

impl<'a> ReplacementTarget<'a> {
    pub(super) fn of(directory: &'a OpenDirectory, path: &'a Path) -> ReplacementTarget<'a> {
        ReplacementTarget { directory, path, name: name_of(path), temporary: temporary_name(path) }
    }

    /// Verifies that the path is still in the expected state.
    pub(super) fn require(&self, expected: ExpectedEntry) -> Result<(), RestoreError> {
        let observed = self.observed(self.name)?;
        let is_expected = match (expected, observed) {
            (ExpectedEntry::Absent, observed) => observed.is_none(),
            (ExpectedEntry::Unchanged(seen), Some(observed)) => is_same(&seen, &observed),
            (ExpectedEntry::Unchanged(_), None) => false,
            (ExpectedEntry::Anything, _) => true,
        };
        if is_expected { Ok(()) } else { Err(self.changed()) }
    }

    /// Puts the temporary in the place of the expected entry. If that fails, the temporary is
    /// removed.
    pub(super) fn put(&self, expected: ExpectedEntry) -> Result<(), RestoreError> {
        let new = self.observed(OsStr::new(&self.temporary))?.ok_or_else(|| self.changed())?;
        // Most conflicts are found here, before any change is visible.
        let placed = self.require(expected).and_then(|()| self.place(&new, expected));
        if placed.is_err() && self.is_aside(&new) {
            self.discard();
        }
        placed
    }

    /// Puts a temporary directory where nothing was expected. If that fails, it is removed.
    pub(super) fn put_directory(&self) -> Result<(), RestoreError> {
        let placed = match self.rename_to_nothing(&self.temporary, self.name) {
            // A plain rename of a directory replaces only an empty directory, which loses nothing.
            Err(errno) if is_unsupported(errno) => self.rename(&self.temporary, self.name),
            answer => answer,
        };
        placed.map_err(|errno| {
            let _ = unlinkat(&self.directory.handle, &self.temporary, AtFlags::REMOVEDIR);
            if errno == Errno::EXIST { self.changed() } else { self.failed()(errno) }
        })
    }

    /// Removes the expected entry, which is not a directory, and returns whether it existed.
    pub(super) fn remove(&self, expected: ExpectedEntry) -> Result<bool, RestoreError> {
        self.require(expected)?;
        let ExpectedEntry::Unchanged(seen) = expected else {
            return match unlinkat(&self.directory.handle, self.name, AtFlags::empty()) {
                Ok(()) => Ok(true),
                Err(Errno::NOENT) => Ok(false),
                Err(errno) => Err(self.failed()(errno)),
            };
        };
        self.take_away(&seen).map(|()| true)
    }

    /// Puts the new entry in the place of the expected one.
    fn place(&self, new: &EntryMetadata, expected: ExpectedEntry) -> Result<(), RestoreError> {
        let seen = match expected {
            ExpectedEntry::Unchanged(seen) => seen,
            ExpectedEntry::Absent => {
                let mut placed = self.rename_to_nothing(&self.temporary, self.name);
                if placed.is_err_and(is_unsupported) {
                    // A hard link does not replace an existing entry either.
                    let handle = &self.directory.handle;
                    placed = linkat(handle, &self.temporary, handle, self.name, AtFlags::empty());
                    if placed.is_ok() {
                        self.discard();
                    }
                }
                if placed.is_err_and(|errno| errno == Errno::PERM || is_unsupported(errno)) {
                    // This file system supports neither. The check a moment ago must be enough.
                    placed = self.rename(&self.temporary, self.name);
                }
                return placed.map_err(|errno| match errno {
                    Errno::EXIST => self.changed(),
                    errno => self.failed()(errno),
                });
            }
            // It could not be inspected, and the caller accepts its loss.
            ExpectedEntry::Anything => {
                return self.rename(&self.temporary, self.name).map_err(self.failed());
            }
        };
        // The entries are exchanged. If the former one is not the expected one, they are exchanged
        // back.
        match self.swap() {
            Ok(()) => {}
            Err(errno) if is_unsupported(errno) => {
                return self.rename(&self.temporary, self.name).map_err(self.failed());
            }
            Err(Errno::NOENT) => return Err(self.changed()),
            Err(errno) => return Err(self.failed()(errno)),
        }
        if self.is_aside(&seen) {
            self.discard();
            return Ok(());
        }
        self.swap().map_err(self.failed())?;
        if !self.is_aside(new) {
            // Another save happened in between, and the last save must win.
            self.swap().map_err(self.failed())?;
            self.discard();
        }
        Err(self.changed())
    }

    /// Moves the existing entry aside. Removes it if it is the expected one; otherwise moves it
    /// back.
    fn take_away(&self, seen: &EntryMetadata) -> Result<(), RestoreError> {
        match self.rename(self.name, &self.temporary) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(self.changed()),
            Err(errno) => return Err(self.failed()(errno)),
        }
        if self.is_aside(seen) {
            return unlinkat(&self.directory.handle, &self.temporary, AtFlags::empty())
                .map_err(self.failed());
        }
        // An entry that appeared there meanwhile is newer, and stays.
        match self.rename_to_nothing(&self.temporary, self.name) {
            Err(errno) if is_unsupported(errno) => {
                self.rename(&self.temporary, self.name).map_err(self.failed())?;
            }
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(self.failed()(errno)),
        }
        Err(self.changed())
    }

    fn is_aside(&self, seen: &EntryMetadata) -> bool {
        matches!(self.observed(OsStr::new(&self.temporary)), Ok(Some(observed)) if is_same(seen, &observed))
    }

    fn observed(&self, name: &OsStr) -> Result<Option<EntryMetadata>, RestoreError> {
        self.directory.entry_metadata(name).map_err(self.failed())
    }

    fn swap(&self) -> io::Result<()> {
        let handle = &self.directory.handle;
        renameat_with(handle, &self.temporary, handle, self.name, RenameFlags::EXCHANGE)
    }

    fn rename(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        renameat(&self.directory.handle, from.as_ref(), &self.directory.handle, to.as_ref())
    }

    fn rename_to_nothing(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        let (from, to) = (from.as_ref(), to.as_ref());
        let handle = &self.directory.handle;
        renameat_with(handle, from, handle, to, RenameFlags::NOREPLACE)
    }

    /// Removes the temporary. If that fails, the next restore removes it.
    fn discard(&self) {
        let _ = unlinkat(&self.directory.handle, &self.temporary, AtFlags::empty());
    }

    fn changed(&self) -> RestoreError {
        RestoreError::Changed { path: self.path.to_path_buf() }
    }

    fn failed(&self) -> impl FnOnce(Errno) -> RestoreError {
        move |errno| RestoreError::io(self.path, errno)
    }
}

/// Returns the temporary name of a path's new content. It is the same for every attempt, so that
/// the next attempt finds the file of an interrupted one, and [`haft_sandbox::is_temporary`]
/// recognises it.
pub(super) fn temporary_name(path: &Path) -> String {
    let name = ObjectId::of(path.as_os_str().as_bytes()).to_string();
    format!(".haft-{}.tmp", name.split_at(8).0)
}

/// Returns whether this is the same entry with the same content. Its bits and change time may
/// differ by now: restoring one of several hard links changes them for all.
fn is_same(seen: &EntryMetadata, now: &EntryMetadata) -> bool {
    let of = |observed: &EntryMetadata| {
        let InodeStamp { device, inode, size_bytes, modified_ns, .. } = observed.metadata.stamp;
        (observed.metadata.kind, device, inode, size_bytes, modified_ns)
    };
    of(seen) == of(now)
}

/// Returns whether the kernel or the file system does not support a kind of rename.
fn is_unsupported(errno: Errno) -> bool {
    matches!(errno, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

#[cfg(test)]
mod tests;
