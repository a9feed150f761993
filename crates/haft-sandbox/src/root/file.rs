//! What is known about a file: its kind, its stamp, and the values that the operations of a root answer with. Plain
//! data; nothing here touches a file.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::path::PathBuf;

/// How many symbolic links one path may lead through, as in the kernel.
pub const LINKS_MAX: u32 = 40;

/// The kind of thing that a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// An ordinary file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link, which only a listing reports: resolving follows it.
    Symlink,
    /// A named pipe, which can block whoever opens it.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
    /// Something that this crate does not know.
    Unknown,
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileKind::Regular => "a regular file",
            FileKind::Directory => "a directory",
            FileKind::Symlink => "a symbolic link",
            FileKind::Fifo => "a named pipe",
            FileKind::Socket => "a socket",
            FileKind::CharDevice => "a character device",
            FileKind::BlockDevice => "a block device",
            FileKind::Unknown => "something unknown",
        })
    }
}

/// Tells one state of a file from another without reading it.
///
/// Two equal stamps of one path mean that the content is the same, as far as the file system can tell. Files that
/// [`Root::apply`](crate::Root::apply) replaces always get a later modification time than they had, so that this
/// also holds for replacements that follow one another faster than the file system's clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The device that the file is on.
    pub device: u64,
    /// The file's number on its device.
    pub inode: u64,
    /// The size.
    pub size_bytes: u64,
    /// When the content changed last, since the epoch.
    pub modified_ns: i128,
    /// When content or attributes changed last, since the epoch.
    pub changed_ns: i128,
    /// Kind and permission bits as the operating system keeps them.
    pub mode: u32,
}

impl Stamp {
    /// Returns the permission bits alone, with set-user-id, set-group-id and the sticky bit.
    #[must_use]
    pub fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }

    /// Tells whether this is the same file with the same content, even if it was renamed or linked in between, which
    /// moves the time of change.
    #[cfg(target_os = "linux")]
    pub(super) fn is_same_content(&self, other: &Stamp) -> bool {
        Stamp { changed_ns: 0, ..*self } == Stamp { changed_ns: 0, ..*other }
    }
}

/// A path whose every symbolic link has been followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The canonical path, relative to the root; empty for the root itself.
    pub path: PathBuf,
    /// What is there, or nothing if it, or a directory on the way to it, does not exist.
    pub kind: Option<FileKind>,
}

/// An open regular file together with the state that it was opened in.
#[derive(Debug)]
pub struct OpenFile {
    /// The file, open for reading from its start.
    pub file: File,
    /// Its state when it was opened.
    pub stamp: Stamp,
    /// Whether the file has further names; then it may be meant by another one.
    pub has_other_names: bool,
}

/// What is known of a path without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    /// What it is.
    pub kind: FileKind,
    /// Its state.
    pub stamp: Stamp,
    /// Whether it has further names, as every directory has.
    pub has_other_names: bool,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The name, without any directory.
    pub name: OsString,
    /// What the name stands for; a symbolic link is not followed.
    pub kind: FileKind,
}

#[cfg(target_os = "linux")]
impl From<rustix::fs::FileType> for FileKind {
    fn from(kind: rustix::fs::FileType) -> Self {
        use rustix::fs::FileType;
        match kind {
            FileType::RegularFile => FileKind::Regular,
            FileType::Directory => FileKind::Directory,
            FileType::Symlink => FileKind::Symlink,
            FileType::Fifo => FileKind::Fifo,
            FileType::Socket => FileKind::Socket,
            FileType::CharacterDevice => FileKind::CharDevice,
            FileType::BlockDevice => FileKind::BlockDevice,
            FileType::Unknown => FileKind::Unknown,
        }
    }
}

#[cfg(target_os = "linux")]
impl From<&rustix::fs::Stat> for Metadata {
    fn from(stat: &rustix::fs::Stat) -> Self {
        let nanoseconds = |seconds: i128, rest: i128| seconds * 1_000_000_000 + rest;
        Metadata {
            kind: rustix::fs::FileType::from_raw_mode(stat.st_mode).into(),
            has_other_names: stat.st_nlink > 1,
            stamp: Stamp {
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
