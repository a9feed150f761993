//! Looking at one directory by descriptors: opening it through no link, reading its names, telling one state of it from
//! another. It deliberately knows no pattern; what of a directory is kept is decided by whoever reads it.

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, Stat, chmod, fstat, openat, statat};
use rustix::io::{Errno, Result};
use rustix::process::geteuid;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::protect) enum Kind {
    Directory,
    File,
    Symlink,
    /// A pipe, a socket or a device.
    Other,
}

impl Kind {
    fn of(file_type: FileType) -> Kind {
        match file_type {
            FileType::Directory => Kind::Directory,
            FileType::RegularFile => Kind::File,
            FileType::Symlink => Kind::Symlink,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Kind::Other,
        }
    }
}

/// Which file it is, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::protect) struct Identity {
    pub(in crate::protect) device: u64,
    pub(in crate::protect) inode: u64,
}

/// A moment as file systems write it down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Moment {
    pub(in crate::protect) seconds: i64,
    pub(in crate::protect) nanoseconds: i64,
}

/// One state of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::protect) struct State {
    pub(in crate::protect) identity: Identity,
    pub(in crate::protect) kind: Kind,
    pub(in crate::protect) modified: Moment,
    pub(in crate::protect) changed: Moment,
    pub(in crate::protect) size_bytes: u64,
    pub(in crate::protect) mode: u32,
    pub(in crate::protect) owner: u32,
    pub(in crate::protect) links: u64,
}

impl State {
    fn of(stat: &Stat) -> State {
        // The kernel counts nanoseconds unsigned on some architectures; they are below a milliard on all.
        let moment = |seconds, nanoseconds: u64| Moment {
            seconds,
            nanoseconds: i64::try_from(nanoseconds).unwrap_or(i64::MAX),
        };
        State {
            identity: Identity { device: stat.st_dev, inode: stat.st_ino },
            kind: Kind::of(FileType::from_raw_mode(stat.st_mode)),
            modified: moment(stat.st_mtime, stat.st_mtime_nsec),
            changed: moment(stat.st_ctime, stat.st_ctime_nsec),
            size_bytes: u64::try_from(stat.st_size).unwrap_or(0),
            mode: stat.st_mode & 0o7777,
            owner: stat.st_uid,
            #[expect(
                clippy::useless_conversion,
                reason = "the width differs between architectures"
            )]
            links: stat.st_nlink.into(),
        }
    }

    /// Returns the state of what `path` names beneath `directory`; of a link, its own.
    pub(in crate::protect) fn at(directory: BorrowedFd<'_>, path: &CStr) -> Result<State> {
        if path.is_empty() {
            return State::of_open(directory);
        }
        statat(directory, path, AtFlags::SYMLINK_NOFOLLOW).map(|stat| State::of(&stat))
    }

    /// Returns the state of what is open.
    pub(in crate::protect) fn of_open(file: BorrowedFd<'_>) -> Result<State> {
        fstat(file).map(|stat| State::of(&stat))
    }
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::protect) struct Listed {
    pub(in crate::protect) name: CString,
    pub(in crate::protect) kind: Kind,
    /// The file's number where it is listed; on some file systems not the one that it has when it is looked at.
    pub(in crate::protect) inode: u64,
}

/// Opens the directory at `path` beneath `root` through no link, or nothing if there is none.
///
/// Component by component rather than in one call: it is rare enough, and every kernel can do it.
pub(in crate::protect) fn open_beneath(root: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd> {
    let mut names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).peekable();
    let mut directory = None;
    while let Some(name) = names.next() {
        let at = directory.as_ref().map_or(root, OwnedFd::as_fd);
        if names.peek().is_none() {
            return openat(at, name, READ, Mode::empty());
        }
        directory = Some(openat(at, name, ENTER, Mode::empty())?);
    }
    openat(root, c".", READ, Mode::empty())
}

const READ: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);
const ENTER: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A directory that its owner had shut, open to the owner until this is dropped.
///
/// Whoever makes a directory can shut it, and would hide in it what is looked for.
#[derive(Debug)]
pub(in crate::protect) struct Unlocked {
    handle: OwnedFd,
    /// The mode to go back to, if any.
    mode: Option<u32>,
}

impl Unlocked {
    /// Gives the owner of the directory at `path` beneath `root` the permissions in `needed`. Nothing if they are there,
    /// or if this process may not give them: then whatever needs them fails and says so.
    pub(in crate::protect) fn new(
        root: BorrowedFd<'_>,
        path: &CStr,
        state: &State,
        needed: u32,
    ) -> Option<Unlocked> {
        let user = geteuid();
        let is_ours = state.kind == Kind::Directory && state.owner == user.as_raw();
        if user.is_root() || !is_ours || state.mode & needed == needed {
            return None;
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let path = if path.is_empty() { c"." } else { path };
        let handle = openat(root, path, flags, Mode::empty()).ok()?;
        if State::of_open(handle.as_fd()).ok()?.identity != state.identity {
            return None;
        }
        set_mode(&handle, state.mode | needed).ok()?;
        Some(Unlocked { handle, mode: Some(state.mode) })
    }

    /// Leaves the directory as it is now.
    pub(in crate::protect) fn stay_open(mut self) {
        self.mode = None;
    }
}

impl Drop for Unlocked {
    fn drop(&mut self) {
        if let Some(mode) = self.mode {
            // What was removed meanwhile needs no mode.
            let _ = set_mode(&self.handle, mode);
        }
    }
}

/// Sets the mode of what a handle stands for, which `fchmod` refuses to do by such a handle.
fn set_mode(handle: &OwnedFd, mode: u32) -> Result<()> {
    chmod(format!("/proc/self/fd/{}", handle.as_raw_fd()), Mode::from_raw_mode(mode))
}

/// How many bytes of entries are fetched per system call.
pub(in crate::protect) const BUFFER_BYTES: usize = 32 * 1_024;

/// Reads the names of an open directory; `keep` decides which are kept.
pub(in crate::protect) fn read_names(
    directory: &OwnedFd,
    buffer: &mut [MaybeUninit<u8>],
    mut keep: impl FnMut(&CStr, Kind) -> bool,
) -> Result<Vec<Listed>> {
    let mut names = Vec::new();
    let mut raw = RawDir::new(directory, buffer);
    while let Some(entry) = raw.next() {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let Some(kind) = kind_of(directory, name, entry.file_type())? else { continue };
        if keep(name, kind) {
            names.push(Listed { name: name.to_owned(), kind, inode: entry.ino() });
        }
    }
    Ok(names)
}

/// Returns what a name stands for, or nothing if it went away meanwhile.
fn kind_of(directory: &OwnedFd, name: &CStr, listed: FileType) -> Result<Option<Kind>> {
    if listed != FileType::Unknown {
        return Ok(Some(Kind::of(listed)));
    }
    // Some file systems do not keep kinds in their directories.
    match State::at(directory.as_fd(), name) {
        Ok(state) => Ok(Some(state.kind)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}
