//! What a path looked like: the words in which records, differences and restores speak. Plain data; nothing here touches a
//! file.

use std::fmt;
use std::path::PathBuf;

use haft_sandbox::FileKind;

use crate::id::ContentId;

/// What a path looked like when it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// A file with its content.
    File(FileState),
    /// A symbolic link with its target, byte for byte.
    Link {
        /// Where it points to.
        target: PathBuf,
    },
    /// A directory. What is in it has paths and states of its own.
    Directory {
        /// The permission bits, all twelve.
        mode: u32,
    },
    /// Something that is there and whose content was not recorded.
    LeftOut(LeftOut),
}

impl State {
    /// Returns what kind of thing the path stood for.
    #[must_use]
    pub fn file_kind(&self) -> FileKind {
        match self {
            State::File(_) => FileKind::Regular,
            State::Link { .. } => FileKind::Symlink,
            State::Directory { .. } => FileKind::Directory,
            State::LeftOut(left_out) => left_out.kind,
        }
    }
}

/// A recorded file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileState {
    /// Its bytes.
    pub content: ContentId,
    /// How many they are.
    pub size_bytes: u64,
    /// The permission bits, all twelve.
    pub mode: u32,
    /// Whom it belongs to, if it has the set-user-id or set-group-id bit: without the owner they mean something else.
    pub owner: Option<Owner>,
}

/// Whom a file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// The user's number.
    pub user: u32,
    /// The group's number.
    pub group: u32,
}

/// Something whose content was not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut {
    /// What it is.
    pub kind: FileKind,
    /// Why it was left out.
    pub reason: Reason,
    /// The size of a file that was left out for what it is; else 0.
    pub size_bytes: u64,
    /// When such a file was modified last, since the epoch; else 0.
    pub modified_ns: i128,
}

/// Why something was left out of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The caller excluded it.
    Excluded,
    /// It is ignored by a `.gitignore`, and larger than ignored things may be.
    Ignored,
    /// It is a file larger than files may be.
    TooLarge,
    /// It may not be read.
    Unreadable,
    /// It went on changing while it was read.
    Changing,
    /// It lies deeper than directories are followed.
    TooDeep,
    /// It is a socket, a named pipe, a device or something unknown.
    Special,
}

impl Reason {
    /// Tells whether the caller or the user's ignore files wanted it left out, so that its changes are nobody's loss.
    pub(crate) fn is_wanted(self) -> bool {
        match self {
            Reason::Excluded | Reason::Ignored => true,
            Reason::TooLarge
            | Reason::Unreadable
            | Reason::Changing
            | Reason::TooDeep
            | Reason::Special => false,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Excluded => "excluded",
            Reason::Ignored => "ignored, and larger than ignored things may be",
            Reason::TooLarge => "larger than files may be",
            Reason::Unreadable => "not readable",
            Reason::Changing => "changing while it was read",
            Reason::TooDeep => "deeper than directories are followed",
            Reason::Special => "neither a file nor a directory nor a link",
        })
    }
}
