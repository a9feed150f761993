//! Removes files that a command left under a protected name, and restores the previous ones. All
//! operations use descriptors of the directories concerned, so that a concurrent exchange cannot
//! redirect them. Nothing is decided here.

use std::ffi::{CStr, CString, OsStr};
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, fchmod, mkdirat, openat, readlinkat, renameat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::scan::{
    BUFFER_BYTES, InodeState, ListedName, ScannedKind, UnlockedDirectory, open_beneath, read_names,
};

/// Maximum depth of recursion when removing directories. Deeper directories are moved up and
/// removed later, because each level takes a descriptor and the command decides how deep its
/// directories are.
pub(crate) const DEPTH_MAX: usize = 32;

/// Maximum number of bytes copied to a quarantine on another file system. The rest is removed
/// without a copy.
pub(crate) const COPY_BYTES_MAX: u64 = 64 * 1_024 * 1_024;

/// Changes to protected paths that the quarantine of one command holds.
///
/// Limit (commands): further ones are reported and not kept.
pub(crate) const SLOTS_MAX: u32 = 100_000;

/// Attempts to find a free name beside the target.
const NAMES_MAX: u32 = 1_024;

/// The destination of removed files.
#[derive(Debug)]
pub(super) struct ChangeReverter<'a> {
    quarantine: Option<&'a Path>,
    slots: u32,
    names: u32,
}

/// The result of removing a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RemovalResult {
    Quarantined(PathBuf),
    Removed,
}

impl<'a> ChangeReverter<'a> {
    pub(super) fn new(quarantine: Option<&'a Path>) -> ChangeReverter<'a> {
        ChangeReverter { quarantine, slots: 0, names: 0 }
    }

    /// Removes `path` below `root`: to the quarantine if possible, otherwise permanently. Removing
    /// it matters more than keeping it.
    pub(super) fn remove_path(
        &mut self,
        root: BorrowedFd<'_>,
        path: &Path,
    ) -> io::Result<RemovalResult> {
        let (parent, name) = open_parent(root, path)?;
        let _writable = writable(&parent)?;
        if let Some(quarantine) = self.quarantine
            && let Ok(kept) = self.move_to_quarantine(quarantine, &parent, &name)
        {
            return Ok(RemovalResult::Quarantined(kept));
        }
        self.remove(&parent, &name)?;
        Ok(RemovalResult::Removed)
    }

    fn move_to_quarantine(
        &mut self,
        quarantine: &Path,
        parent: &OwnedFd,
        name: &CStr,
    ) -> io::Result<PathBuf> {
        DirBuilder::new().recursive(true).mode(0o700).create(quarantine)?;
        // Each file has its own directory, because names repeat.
        let slot_path = loop {
            if self.slots >= SLOTS_MAX {
                let message = format!("the quarantine has more than {SLOTS_MAX} slots");
                return Err(io::Error::other(message));
            }
            self.slots += 1;
            let slot = quarantine.join(self.slots.to_string());
            match DirBuilder::new().mode(0o700).create(&slot) {
                Ok(()) => break slot,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        };
        let slot = openat(CWD, &slot_path, DIRECTORY, Mode::empty())?;
        // Moving a directory changes its `..` entry, so the directory itself must be writable.
        unlock(parent, name)?;
        match renameat(parent, name, &slot, name) {
            Ok(()) => {}
            Err(Errno::XDEV) => {
                let mut bytes_left = COPY_BYTES_MAX;
                copy(parent.as_fd(), name, slot.as_fd(), &mut bytes_left, 0)?;
                self.remove(parent, name)?;
            }
            Err(errno) => return Err(errno.into()),
        }
        Ok(slot_path.join(OsStr::from_bytes(name.to_bytes())))
    }

    /// Writes a file in one step, and creates missing parent directories.
    pub(super) fn restore_file(
        &mut self,
        root: BorrowedFd<'_>,
        path: &Path,
        (content, mode): (&[u8], u32),
    ) -> io::Result<()> {
        let (parent, name) = self.make_parent(root, path)?;
        let _writable = writable(&parent)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (temporary, file) = self.with_free_name(|temporary| {
            openat(&parent, temporary, flags, Mode::RUSR | Mode::WUSR)
        })?;
        let mut file = File::from(file);
        let written =
            file.write_all(content).and_then(|()| Ok(fchmod(&file, Mode::from_raw_mode(mode))?));
        let renamed = written.and_then(|()| Ok(renameat(&parent, &temporary, &parent, &name)?));
        renamed.inspect_err(|_| {
            // The first error is the one to report.
            let _ = unlinkat(&parent, &temporary, AtFlags::empty());
        })
    }

    /// Creates a symbolic link in one step, and creates missing parent directories.
    pub(super) fn restore_link(
        &mut self,
        root: BorrowedFd<'_>,
        path: &Path,
        target: &CStr,
    ) -> io::Result<()> {
        let (parent, name) = self.make_parent(root, path)?;
        let _writable = writable(&parent)?;
        let (temporary, ()) =
            self.with_free_name(|temporary| symlinkat(target, &parent, temporary))?;
        Ok(renameat(&parent, &temporary, &parent, &name)?)
    }

    /// Opens the parent directory of `path`, and creates missing directories. Anything else in the
    /// place of a directory is removed.
    fn make_parent(&mut self, root: BorrowedFd<'_>, path: &Path) -> io::Result<(OwnedFd, CString)> {
        let name = last_name(path)?;
        let mut at = openat(root, c".", DIRECTORY, Mode::empty())?;
        let mut so_far = PathBuf::new();
        for component in path.parent().unwrap_or(Path::new("")).components() {
            so_far.push(component);
            let component = CString::new(component.as_os_str().as_bytes())?;
            at = match openat(&at, &component, DIRECTORY, Mode::empty()) {
                Err(Errno::NOENT) => make_directory(&at, &component)?,
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    self.remove_path(root, &so_far)?;
                    make_directory(&at, &component)?
                }
                answer => answer?,
            };
        }
        Ok((at, name))
    }

    /// Creates an entry under a free name. Other processes may restore files in the same directory
    /// at the same time.
    fn with_free_name<T>(
        &mut self,
        make: impl Fn(&CStr) -> rustix::io::Result<T>,
    ) -> rustix::io::Result<(CString, T)> {
        for _ in 0..NAMES_MAX {
            let name = self.temporary_name();
            match make(&name) {
                Ok(made) => return Ok((name, made)),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::EXIST)
    }

    fn temporary_name(&mut self) -> CString {
        self.names += 1;
        CString::new(format!(".haft-restoring-{}-{}", std::process::id(), self.names))
            .expect("digits and letters hold no NUL")
    }

    /// Removes an entry, however deep it is.
    fn remove(&mut self, parent: &OwnedFd, name: &CStr) -> io::Result<()> {
        let mut pending = vec![name.to_owned()];
        while let Some(name) = pending.pop() {
            self.remove_to_depth(parent, (parent, &name), 0, &mut pending)?;
        }
        Ok(())
    }

    fn remove_to_depth(
        &mut self,
        top: &OwnedFd,
        (parent, name): (&OwnedFd, &CStr),
        depth: usize,
        pending: &mut Vec<CString>,
    ) -> io::Result<()> {
        match unlinkat(parent, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(errno) => return Err(errno.into()),
        }
        if depth > DEPTH_MAX {
            let raised = self.temporary_name();
            renameat(parent, name, top, &raised)?;
            pending.push(raised);
            return Ok(());
        }
        unlock(parent, name)?;
        let directory = openat(parent, name, DIRECTORY, Mode::empty())?;
        for listed in names_in(&directory)? {
            self.remove_to_depth(top, (&directory, &listed.name), depth + 1, pending)?;
        }
        Ok(unlinkat(parent, name, AtFlags::REMOVEDIR)?)
    }
}

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// Opens the parent directory of `path` without following a link.
fn open_parent(root: BorrowedFd<'_>, path: &Path) -> io::Result<(OwnedFd, CString)> {
    let parent = path.parent().unwrap_or(Path::new(""));
    Ok((open_beneath(root, parent.as_os_str().as_bytes())?, last_name(path)?))
}

fn last_name(path: &Path) -> io::Result<CString> {
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    Ok(CString::new(name.as_bytes())?)
}

fn make_directory(at: &OwnedFd, name: &CStr) -> rustix::io::Result<OwnedFd> {
    mkdirat(at, name, Mode::RWXU | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH)?;
    openat(at, name, DIRECTORY, Mode::empty())
}

/// Unlocks a directory that is about to be moved or removed, if its owner has locked it.
fn unlock(parent: &OwnedFd, name: &CStr) -> rustix::io::Result<()> {
    let state = InodeState::at(parent.as_fd(), name)?;
    if let Some(unlocked) = UnlockedDirectory::new(parent.as_fd(), name, &state, 0o700) {
        unlocked.keep_unlocked();
    }
    Ok(())
}

/// Makes the names in a directory changeable until the returned value is dropped.
fn writable(directory: &OwnedFd) -> rustix::io::Result<Option<UnlockedDirectory>> {
    let state = InodeState::of_open(directory.as_fd())?;
    Ok(UnlockedDirectory::new(directory.as_fd(), c"", &state, 0o700))
}

fn names_in(directory: &OwnedFd) -> rustix::io::Result<Vec<ListedName>> {
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    read_names(directory, buffer.spare_capacity_mut(), |_, _| true)
}

/// Copies a file, a link or a directory with its contents. Pipes, sockets and devices have no
/// content to keep. `bytes_left` is the number of bytes that may still be copied.
fn copy(
    from: BorrowedFd<'_>,
    name: &CStr,
    to: BorrowedFd<'_>,
    bytes_left: &mut u64,
    depth: usize,
) -> io::Result<()> {
    if depth > DEPTH_MAX {
        return Err(io::Error::other(format!("directories are nested more than {DEPTH_MAX} deep")));
    }
    let state = InodeState::at(from, name)?;
    match state.kind {
        ScannedKind::Symlink => Ok(symlinkat(readlinkat(from, name, Vec::new())?, to, name)?),
        ScannedKind::File => {
            let source = open_file(from, name)?;
            let flags =
                OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let made = File::from(openat(to, name, flags, Mode::RUSR | Mode::WUSR)?);
            let copied = io::copy(&mut source.take(*bytes_left + 1), &mut &made)?;
            *bytes_left = bytes_left.checked_sub(copied).ok_or_else(|| {
                io::Error::other(format!("it holds more than {COPY_BYTES_MAX} bytes"))
            })?;
            Ok(())
        }
        ScannedKind::Directory => {
            let directory = openat(from, name, DIRECTORY, Mode::empty())?;
            mkdirat(to, name, Mode::RWXU)?;
            let made = openat(to, name, DIRECTORY, Mode::empty())?;
            for listed in names_in(&directory)? {
                copy(directory.as_fd(), &listed.name, made.as_fd(), bytes_left, depth + 1)?;
            }
            Ok(())
        }
        ScannedKind::Other => Ok(()),
    }
}

/// Opens a regular file without following a link and without blocking.
fn open_file(directory: BorrowedFd<'_>, name: &CStr) -> io::Result<File> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(directory, name, flags, Mode::empty())?;
    match InodeState::of_open(file.as_fd())?.kind {
        ScannedKind::File => Ok(File::from(file)),
        ScannedKind::Directory | ScannedKind::Symlink | ScannedKind::Other => {
            Err(io::Error::from(io::ErrorKind::InvalidInput))
        }
    }
}

/// Reads a regular file below `root` without following a link, if it has at most `bytes_max` bytes.
pub(super) fn read_small(
    root: BorrowedFd<'_>,
    path: &Path,
    bytes_max: u64,
) -> io::Result<Option<(Vec<u8>, InodeState)>> {
    let (parent, name) = open_parent(root, path)?;
    let file = open_file(parent.as_fd(), &name)?;
    let state = InodeState::of_open(file.as_fd())?;
    let mut content = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut content)?;
    let is_small = u64::try_from(content.len()).is_ok_and(|length| length <= bytes_max);
    Ok(is_small.then_some((content, state)))
}

#[cfg(test)]
mod tests;
