//! Data about a file: its kind, its stamp, and the values that a root's operations return. Nothing
//! here touches a file.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::path::PathBuf;

/// Symbolic links in one path.
///
/// Limit (files): the path is refused.
pub const LINKS_MAX: u32 = 40;

/// The kind of file that a name refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InodeKind {
    /// An ordinary file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link. Only listings report it, because resolving follows links.
    Symlink,
    /// A named pipe. Opening it can block.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
    /// A kind that this crate does not know.
    Unknown,
}

impl fmt::Display for InodeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InodeKind::Regular => "a regular file",
            InodeKind::Directory => "a directory",
            InodeKind::Symlink => "a symbolic link",
            InodeKind::Fifo => "a named pipe",
            InodeKind::Socket => "a socket",
            InodeKind::CharDevice => "a character device",
            InodeKind::BlockDevice => "a block device",
            InodeKind::Unknown => "something unknown",
        })
    }
}

/// Distinguishes the states of a file without reading it.
///
/// Two equal stamps of one path mean that the content is the same, as far as the file system can
/// tell. A file that [`Root::apply`](crate::Root::apply) replaces always gets a later modification
/// time. Therefore this also holds for replacements in quick succession, within one tick of the
/// file system's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InodeStamp {
    /// The device of the file.
    pub device: u64,
    /// The file's number on its device.
    pub inode: u64,
    /// The size in bytes.
    pub size_bytes: u64,
    /// When the content last changed, in nanoseconds since the Unix epoch.
    pub modified_ns: i128,
    /// When content or attributes last changed, in nanoseconds since the Unix epoch.
    pub changed_ns: i128,
    /// The operating system's kind and permission bits.
    pub mode: u32,
}

impl InodeStamp {
    /// Returns only the permission bits, including set-user-id, set-group-id and the sticky bit.
    #[must_use]
    pub fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }

    /// Returns whether this is the same file with the same content, even if it was renamed or
    /// linked in between, which changes `changed_ns`.
    pub(super) fn is_same_content(&self, other: &InodeStamp) -> bool {
        InodeStamp { changed_ns: 0, ..*self } == InodeStamp { changed_ns: 0, ..*other }
    }
}

/// A path in which every symbolic link has been followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPath {
    /// The canonical path, relative to the root; empty for the root itself.
    pub path: PathBuf,
    /// The kind of file, or `None` if it or one of its parent directories does not exist.
    pub kind: Option<InodeKind>,
}

/// An open regular file, and the state in which it was opened.
#[derive(Debug)]
pub struct OpenedRootFile {
    /// The file, open for reading from its start.
    pub file: File,
    /// Its state when it was opened.
    pub stamp: InodeStamp,
    /// Whether the file has other names (hard links), so that another path may refer to it.
    pub has_other_names: bool,
}

/// The metadata of a path, read without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathMetadata {
    /// The kind of file.
    pub kind: InodeKind,
    /// Its state.
    pub stamp: InodeStamp,
    /// Whether it has other names, as every directory has.
    pub has_other_names: bool,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The name, without any directory.
    pub name: OsString,
    /// The kind of file that the name refers to; a symbolic link is not followed.
    pub kind: InodeKind,
}

impl From<rustix::fs::FileType> for InodeKind {
    fn from(kind: rustix::fs::FileType) -> Self {
        use rustix::fs::FileType;
        match kind {
            FileType::RegularFile => InodeKind::Regular,
            FileType::Directory => InodeKind::Directory,
            FileType::Symlink => InodeKind::Symlink,
            FileType::Fifo => InodeKind::Fifo,
            FileType::Socket => InodeKind::Socket,
            FileType::CharacterDevice => InodeKind::CharDevice,
            FileType::BlockDevice => InodeKind::BlockDevice,
            FileType::Unknown => InodeKind::Unknown,
        }
    }
}

impl From<&rustix::fs::Stat> for PathMetadata {
    fn from(stat: &rustix::fs::Stat) -> Self {
        let nanoseconds = |seconds: i128, rest: i128| seconds * 1_000_000_000 + rest;
        PathMetadata {
            kind: rustix::fs::FileType::from_raw_mode(stat.st_mode).into(),
            has_other_names: stat.st_nlink > 1,
            stamp: InodeStamp {
                device: stat.st_dev,
                inode: stat.st_ino,
                size_bytes: u64::try_from(stat.st_size).unwrap_or(0),
                modified_ns: nanoseconds(stat.st_mtime.into(), stat.st_mtime_nsec.into()),
                changed_ns: nanoseconds(stat.st_ctime.into(), stat.st_ctime_nsec.into()),
                mode: stat.st_mode,
            },
        }
    }
}
