//! Putting something in the place of what is there, or removing that, in one step of the file system that loses nothing: what
//! was there is moved aside and looked at once more before it goes. An editor that saved a moment ago finds its file back
//! where it was. What comes into a place is not made here.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use haft_sandbox::Stamp;
use rustix::fs::{AtFlags, RenameFlags, linkat, renameat, renameat_with, unlinkat};
use rustix::io::{self, Errno};

use super::plan::Expected;
use super::steps::failed;
use crate::directory::{Directory, Look, name_of};
use crate::error::RestoreError;
use crate::id::ObjectId;

/// A name in a directory, and beside it the one under which things are on their way to it and from it.
pub(super) struct Spot<'a> {
    directory: &'a Directory,
    path: &'a Path,
    name: &'a OsStr,
    pub(super) temporary: String,
}

impl<'a> Spot<'a> {
    pub(super) fn of(directory: &'a Directory, path: &'a Path) -> Spot<'a> {
        Spot { directory, path, name: name_of(path), temporary: temporary_name(path) }
    }

    /// Makes sure that the path still is what was looked at.
    pub(super) fn require(&self, expected: Expected) -> Result<(), RestoreError> {
        let look = self.look(self.name)?;
        let is_expected = match (expected, look) {
            (Expected::Absent, look) => look.is_none(),
            (Expected::Unchanged(seen), Some(look)) => is_same(&seen, &look),
            (Expected::Unchanged(_), None) => false,
            (Expected::Anything, _) => true,
        };
        if is_expected { Ok(()) } else { Err(self.changed()) }
    }

    /// Puts the temporary in the place of what was expected there; one that does not come to its place is removed.
    pub(super) fn put(&self, expected: Expected) -> Result<(), RestoreError> {
        let new = self.look(OsStr::new(&self.temporary))?.ok_or_else(|| self.changed())?;
        // Most conflicts show here, before anybody could see anything flicker.
        let put = self.require(expected).and_then(|()| match expected {
            Expected::Absent => self.put_new(),
            Expected::Unchanged(seen) => self.exchange(&new, &seen),
            // It could not be looked at, and is to be lost.
            Expected::Anything => self.rename(&self.temporary, self.name).map_err(self.failed()),
        });
        if put.is_err() && self.is_aside(&new) {
            self.discard();
        }
        put
    }

    /// Puts a temporary directory where nothing was expected; one that does not come to its place is removed.
    pub(super) fn put_directory(&self) -> Result<(), RestoreError> {
        let put = match self.rename_to_nothing(&self.temporary, self.name) {
            // A plain rename of a directory replaces nothing but an empty one, in which nothing is lost.
            Err(errno) if is_unsupported(errno) => self.rename(&self.temporary, self.name),
            answer => answer,
        };
        put.map_err(|errno| {
            let _ = unlinkat(&self.directory.handle, &self.temporary, AtFlags::REMOVEDIR);
            if errno == Errno::EXIST { self.changed() } else { self.failed()(errno) }
        })
    }

    /// Removes what was expected, which is no directory, and tells whether it was there.
    pub(super) fn remove(&self, expected: Expected) -> Result<bool, RestoreError> {
        self.require(expected)?;
        let Expected::Unchanged(seen) = expected else {
            return match unlinkat(&self.directory.handle, self.name, AtFlags::empty()) {
                Ok(()) => Ok(true),
                Err(Errno::NOENT) => Ok(false),
                Err(errno) => Err(self.failed()(errno)),
            };
        };
        self.take_away(&seen).map(|()| true)
    }

    fn put_new(&self) -> Result<(), RestoreError> {
        let mut put = self.rename_to_nothing(&self.temporary, self.name);
        if put.is_err_and(is_unsupported) {
            // A second name does not replace anything either.
            let handle = &self.directory.handle;
            put = linkat(handle, &self.temporary, handle, self.name, AtFlags::empty());
            if put.is_ok() {
                self.discard();
            }
        }
        if put.is_err_and(|errno| errno == Errno::PERM || is_unsupported(errno)) {
            // This file system knows neither: what was looked at a moment ago has to do.
            put = self.rename(&self.temporary, self.name);
        }
        put.map_err(|errno| match errno {
            Errno::EXIST => self.changed(),
            errno => self.failed()(errno),
        })
    }

    /// Lets the new thing and what is in its place change places, and removes what was there if it is what was seen; else
    /// they change back.
    fn exchange(&self, new: &Look, seen: &Look) -> Result<(), RestoreError> {
        match self.swap() {
            Ok(()) => {}
            Err(errno) if is_unsupported(errno) => {
                return self.rename(&self.temporary, self.name).map_err(self.failed());
            }
            Err(Errno::NOENT) => return Err(self.changed()),
            Err(errno) => return Err(self.failed()(errno)),
        }
        if self.is_aside(seen) {
            self.discard();
            return Ok(());
        }
        self.swap().map_err(self.failed())?;
        if !self.is_aside(new) {
            // In the moment between somebody saved once more, and what they saved last is what they want.
            self.swap().map_err(self.failed())?;
            self.discard();
        }
        Err(self.changed())
    }

    /// Moves what is in the place aside, and removes it if it is what was seen; else it moves back.
    fn take_away(&self, seen: &Look) -> Result<(), RestoreError> {
        match self.rename(self.name, &self.temporary) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(self.changed()),
            Err(errno) => return Err(self.failed()(errno)),
        }
        if self.is_aside(seen) {
            return unlinkat(&self.directory.handle, &self.temporary, AtFlags::empty())
                .map_err(self.failed());
        }
        // Whatever came into the place meanwhile is newer still, and stays.
        match self.rename_to_nothing(&self.temporary, self.name) {
            Err(errno) if is_unsupported(errno) => {
                self.rename(&self.temporary, self.name).map_err(self.failed())?;
            }
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(self.failed()(errno)),
        }
        Err(self.changed())
    }

    fn is_aside(&self, seen: &Look) -> bool {
        matches!(self.look(OsStr::new(&self.temporary)), Ok(Some(look)) if is_same(seen, &look))
    }

    fn look(&self, name: &OsStr) -> Result<Option<Look>, RestoreError> {
        self.directory.look(name).map_err(self.failed())
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

    /// Removes the temporary. What stays is removed by the next restore.
    fn discard(&self) {
        let _ = unlinkat(&self.directory.handle, &self.temporary, AtFlags::empty());
    }

    fn changed(&self) -> RestoreError {
        RestoreError::Changed { path: self.path.to_path_buf() }
    }

    fn failed(&self) -> impl FnOnce(Errno) -> RestoreError {
        move |errno| failed(self.path, errno)
    }
}

/// Returns the name under which a path's new content stands beside it until it is in place: the same for every attempt, so
/// that what one leaves the next one finds, and one that [`haft_sandbox::is_temporary`] knows.
pub(super) fn temporary_name(path: &Path) -> String {
    let name = ObjectId::of(path.as_os_str().as_bytes()).to_string();
    format!(".haft-{}.tmp", name.split_at(8).0)
}

/// Tells whether this is the same thing with the same content. Its bits, and the time at which they changed, may be another's by
/// now: restoring one of several hard links changes them for all.
fn is_same(seen: &Look, now: &Look) -> bool {
    let of = |look: &Look| {
        let Stamp { device, inode, size_bytes, modified_ns, .. } = look.metadata.stamp;
        (look.metadata.kind, device, inode, size_bytes, modified_ns)
    };
    of(seen) == of(now)
}

/// Tells whether a kind of renaming is unknown to the kernel or the file system.
fn is_unsupported(errno: Errno) -> bool {
    matches!(errno, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

#[cfg(test)]
mod tests;
