//! Reads one directory by descriptors: opens it without following links, reads its names, and
//! distinguishes its states. It deliberately knows no pattern; the caller decides which names are
//! kept.

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, Stat, chmod, fstat, openat, statat};
use rustix::io::{Errno, Result};
use rustix::process::geteuid;

/// The kind of file that a name refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::protect) enum ScannedKind {
    Directory,
    File,
    Symlink,
    /// A pipe, a socket or a device.
    Other,
}

impl ScannedKind {
    fn of(file_type: FileType) -> ScannedKind {
        match file_type {
            FileType::Directory => ScannedKind::Directory,
            FileType::RegularFile => ScannedKind::File,
            FileType::Symlink => ScannedKind::Symlink,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => ScannedKind::Other,
        }
    }
}

/// The identity of a file, independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::protect) struct FileIdentity {
    pub(in crate::protect) device: u64,
    pub(in crate::protect) inode: u64,
}

/// A time as file systems store it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FileTime {
    pub(in crate::protect) seconds: i64,
    pub(in crate::protect) nanoseconds: i64,
}

/// The state of one file at one point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::protect) struct InodeState {
    pub(in crate::protect) identity: FileIdentity,
    pub(in crate::protect) kind: ScannedKind,
    pub(in crate::protect) modified: FileTime,
    pub(in crate::protect) changed: FileTime,
    pub(in crate::protect) size_bytes: u64,
    pub(in crate::protect) mode: u32,
    pub(in crate::protect) owner: u32,
    pub(in crate::protect) links: u64,
}

impl InodeState {
    fn of(stat: &Stat) -> InodeState {
        // The kernel counts nanoseconds unsigned on some architectures; they are below a billion on
        // all.
        let moment = |seconds, nanoseconds: u64| FileTime {
            seconds,
            nanoseconds: i64::try_from(nanoseconds).unwrap_or(i64::MAX),
        };
        InodeState {
            identity: FileIdentity { device: stat.st_dev, inode: stat.st_ino },
            kind: ScannedKind::of(FileType::from_raw_mode(stat.st_mode)),
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

    /// Returns the state of `path` below `directory`; for a link, the link's own state.
    pub(in crate::protect) fn at(directory: BorrowedFd<'_>, path: &CStr) -> Result<InodeState> {
        if path.is_empty() {
            return InodeState::of_open(directory);
        }
        statat(directory, path, AtFlags::SYMLINK_NOFOLLOW).map(|stat| InodeState::of(&stat))
    }

    /// Returns the state of an open file.
    pub(in crate::protect) fn of_open(file: BorrowedFd<'_>) -> Result<InodeState> {
        fstat(file).map(|stat| InodeState::of(&stat))
    }
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::protect) struct ListedName {
    pub(in crate::protect) name: CString,
    pub(in crate::protect) kind: ScannedKind,
    /// The file's number as the directory lists it. On some file systems it differs from the number
    /// that `stat` returns.
    pub(in crate::protect) inode: u64,
}

/// Opens the directory at `path` below `root` without following links, or returns `None` if there
/// is none.
///
/// Opens one component at a time instead of one call for all: it is rarely needed, and every kernel
/// supports it.
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

/// A directory that its owner had locked, unlocked for the owner until this value is dropped.
///
/// A command can lock a directory that it creates, to hide files from the scan.
#[derive(Debug)]
pub(in crate::protect) struct UnlockedDirectory {
    handle: OwnedFd,
    /// The mode to restore, if any.
    mode: Option<u32>,
}

impl UnlockedDirectory {
    /// Gives the owner of the directory at `path` below `root` the permissions in `needed`. Returns
    /// `None` if they are present, or if this process may not grant them. In that case the access
    /// that needs them reports the failure.
    pub(in crate::protect) fn new(
        root: BorrowedFd<'_>,
        path: &CStr,
        state: &InodeState,
        needed: u32,
    ) -> Option<UnlockedDirectory> {
        let user = geteuid();
        let is_ours = state.kind == ScannedKind::Directory && state.owner == user.as_raw();
        if user.is_root() || !is_ours || state.mode & needed == needed {
            return None;
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let path = if path.is_empty() { c"." } else { path };
        let handle = openat(root, path, flags, Mode::empty()).ok()?;
        if InodeState::of_open(handle.as_fd()).ok()?.identity != state.identity {
            return None;
        }
        set_mode(&handle, state.mode | needed).ok()?;
        Some(UnlockedDirectory { handle, mode: Some(state.mode) })
    }

    /// Keeps the directory unlocked.
    pub(in crate::protect) fn keep_unlocked(mut self) {
        self.mode = None;
    }
}

impl Drop for UnlockedDirectory {
    fn drop(&mut self) {
        if let Some(mode) = self.mode {
            // A directory that was removed meanwhile needs no mode.
            let _ = set_mode(&self.handle, mode);
        }
    }
}

/// Sets the mode of the file behind a handle; `fchmod` refuses such a handle.
fn set_mode(handle: &OwnedFd, mode: u32) -> Result<()> {
    chmod(format!("/proc/self/fd/{}", handle.as_raw_fd()), Mode::from_raw_mode(mode))
}

/// Bytes of entries that are read per system call.
pub(in crate::protect) const BUFFER_BYTES: usize = 32 * 1_024;

/// Reads the names of an open directory; `keep` decides which are kept.
pub(in crate::protect) fn read_names(
    directory: &OwnedFd,
    buffer: &mut [MaybeUninit<u8>],
    mut keep: impl FnMut(&CStr, ScannedKind) -> bool,
) -> Result<Vec<ListedName>> {
    let mut names = Vec::new();
    let mut raw = RawDir::new(directory, buffer);
    while let Some(entry) = raw.next() {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not store kinds in their directories.
            FileType::Unknown => match InodeState::at(directory.as_fd(), name) {
                Ok(state) => state.kind,
                // It was removed meanwhile.
                Err(Errno::NOENT) => continue,
                Err(errno) => return Err(errno),
            },
            listed => ScannedKind::of(listed),
        };
        if keep(name, kind) {
            names.push(ListedName { name: name.to_owned(), kind, inode: entry.ino() });
        }
    }
    Ok(names)
}
