//! Taking away what a command left under a protected name, and putting back what was there. Everything goes by
//! descriptors of the directories concerned, so that nothing that is exchanged meanwhile leads elsewhere. It deliberately
//! decides nothing.

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

use super::survey::{BUFFER_BYTES, Kind, Listed, State, Unlocked, open_beneath, read_names};

/// How deep directories are gone into at once. What is deeper is moved up and gone into later, because each level takes
/// a descriptor, and whoever made the directories decides how deep they are.
pub(crate) const DEPTH_MAX: usize = 32;

/// How much is copied when the quarantine is on another file system. What is more is removed and not kept.
pub(crate) const COPY_BYTES_MAX: u64 = 64 * 1_024 * 1_024;

/// How many slots the quarantine has for one command.
pub(crate) const SLOTS_MAX: u32 = 100_000;

/// How many names are tried for something that is made beside its place.
const NAMES_MAX: u32 = 1_024;

/// Where what is taken away goes.
#[derive(Debug)]
pub(super) struct Undoer<'a> {
    quarantine: Option<&'a Path>,
    slots: u32,
    names: u32,
}

/// What became of something that was taken away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Taken {
    Quarantined(PathBuf),
    Removed,
}

impl<'a> Undoer<'a> {
    pub(super) fn new(quarantine: Option<&'a Path>) -> Undoer<'a> {
        Undoer { quarantine, slots: 0, names: 0 }
    }

    /// Takes away what is at `path` beneath `root`: into the quarantine if that is possible, for good otherwise. That it
    /// is gone matters more than that it is kept.
    pub(super) fn take_away(&mut self, root: BorrowedFd<'_>, path: &Path) -> io::Result<Taken> {
        let (parent, name) = open_parent(root, path)?;
        let _writable = writable(&parent)?;
        if let Some(quarantine) = self.quarantine
            && let Ok(kept) = self.move_away(quarantine, &parent, &name)
        {
            return Ok(Taken::Quarantined(kept));
        }
        self.remove(&parent, &name)?;
        Ok(Taken::Removed)
    }

    fn move_away(
        &mut self,
        quarantine: &Path,
        parent: &OwnedFd,
        name: &CStr,
    ) -> io::Result<PathBuf> {
        let slot_path = self.make_slot(quarantine)?;
        let slot = openat(CWD, &slot_path, DIRECTORY, Mode::empty())?;
        let state = State::at(parent.as_fd(), name)?;
        // A directory that changes its parent has to be writable itself.
        if let Some(unlocked) = Unlocked::new(parent.as_fd(), name, &state, 0o700) {
            unlocked.stay_open();
        }
        match renameat(parent, name, &slot, name) {
            Ok(()) => {}
            Err(Errno::XDEV) => {
                let mut bytes_left = COPY_BYTES_MAX;
                copy(
                    parent.as_fd(),
                    name,
                    slot.as_fd(),
                    &mut Budget { bytes_left: &mut bytes_left, depth: 0 },
                )?;
                self.remove(parent, name)?;
            }
            Err(errno) => return Err(errno.into()),
        }
        Ok(slot_path.join(OsStr::from_bytes(name.to_bytes())))
    }

    /// Makes a directory of its own for each thing, because names repeat.
    fn make_slot(&mut self, quarantine: &Path) -> io::Result<PathBuf> {
        DirBuilder::new().recursive(true).mode(0o700).create(quarantine)?;
        while self.slots < SLOTS_MAX {
            self.slots += 1;
            let slot = quarantine.join(self.slots.to_string());
            match DirBuilder::new().mode(0o700).create(&slot) {
                Ok(()) => return Ok(slot),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other(format!("the quarantine has more than {SLOTS_MAX} slots")))
    }

    /// Writes a file in one step, with the directories that lead to it.
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
            // The first error is the one to tell.
            let _ = unlinkat(&parent, &temporary, AtFlags::empty());
        })
    }

    /// Makes a symbolic link in one step, with the directories that lead to it.
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

    /// Opens the directory that `path` is in, and makes what of it is missing. What has taken the place of a directory is
    /// taken away.
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
                    self.take_away(root, &so_far)?;
                    make_directory(&at, &component)?
                }
                answer => answer?,
            };
        }
        Ok((at, name))
    }

    /// Makes something under a name that is free. Others may restore in the same directory at the same time.
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

    /// Removes whatever is at a name, however deep it is.
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
        let directory = open_unlocked(parent, name)?;
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

/// Opens the directory that `path` is in, through no link.
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

/// Opens a directory that is about to go, also if its owner has shut it.
fn open_unlocked(parent: &OwnedFd, name: &CStr) -> rustix::io::Result<OwnedFd> {
    let state = State::at(parent.as_fd(), name)?;
    if let Some(unlocked) = Unlocked::new(parent.as_fd(), name, &state, 0o700) {
        unlocked.stay_open();
    }
    openat(parent, name, DIRECTORY, Mode::empty())
}

/// Makes it possible to change the names in a directory until the answer is dropped.
fn writable(directory: &OwnedFd) -> rustix::io::Result<Option<Unlocked>> {
    let state = State::of_open(directory.as_fd())?;
    Ok(Unlocked::new(directory.as_fd(), c"", &state, 0o700))
}

fn names_in(directory: &OwnedFd) -> rustix::io::Result<Vec<Listed>> {
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    read_names(directory, buffer.spare_capacity_mut(), |_, _| true)
}

/// How much more may be copied.
struct Budget<'a> {
    bytes_left: &'a mut u64,
    depth: usize,
}

/// Copies a file, a link or a directory with what is in it. Pipes, sockets and devices have no content to keep.
fn copy(
    from: BorrowedFd<'_>,
    name: &CStr,
    to: BorrowedFd<'_>,
    budget: &mut Budget<'_>,
) -> io::Result<()> {
    if budget.depth > DEPTH_MAX {
        return Err(io::Error::other(format!("directories are nested more than {DEPTH_MAX} deep")));
    }
    let state = State::at(from, name)?;
    match state.kind {
        Kind::Symlink => Ok(symlinkat(readlinkat(from, name, Vec::new())?, to, name)?),
        Kind::File => copy_file(from, name, to, budget),
        Kind::Directory => {
            let directory = openat(from, name, DIRECTORY, Mode::empty())?;
            mkdirat(to, name, Mode::RWXU)?;
            let made = openat(to, name, DIRECTORY, Mode::empty())?;
            let depth = budget.depth + 1;
            for listed in names_in(&directory)? {
                let mut budget = Budget { bytes_left: &mut *budget.bytes_left, depth };
                copy(directory.as_fd(), &listed.name, made.as_fd(), &mut budget)?;
            }
            Ok(())
        }
        Kind::Other => Ok(()),
    }
}

fn copy_file(
    from: BorrowedFd<'_>,
    name: &CStr,
    to: BorrowedFd<'_>,
    budget: &mut Budget<'_>,
) -> io::Result<()> {
    let source = open_file(from, name)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made = File::from(openat(to, name, flags, Mode::RUSR | Mode::WUSR)?);
    let copied = io::copy(&mut source.take(*budget.bytes_left + 1), &mut &made)?;
    *budget.bytes_left = budget
        .bytes_left
        .checked_sub(copied)
        .ok_or_else(|| io::Error::other(format!("it holds more than {COPY_BYTES_MAX} bytes")))?;
    Ok(())
}

/// Opens a regular file through no link and without waiting for anyone.
fn open_file(directory: BorrowedFd<'_>, name: &CStr) -> io::Result<File> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(directory, name, flags, Mode::empty())?;
    match State::of_open(file.as_fd())?.kind {
        Kind::File => Ok(File::from(file)),
        Kind::Directory | Kind::Symlink | Kind::Other => {
            Err(io::Error::from(io::ErrorKind::InvalidInput))
        }
    }
}

/// Reads a regular file beneath `root` through no link, if it holds no more than `bytes_max`.
pub(super) fn read_small(
    root: BorrowedFd<'_>,
    path: &Path,
    bytes_max: u64,
) -> io::Result<Option<(Vec<u8>, State)>> {
    let (parent, name) = open_parent(root, path)?;
    let file = open_file(parent.as_fd(), &name)?;
    let state = State::of_open(file.as_fd())?;
    let mut content = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut content)?;
    let is_small = u64::try_from(content.len()).is_ok_and(|length| length <= bytes_max);
    Ok(is_small.then_some((content, state)))
}

#[cfg(test)]
mod tests;
