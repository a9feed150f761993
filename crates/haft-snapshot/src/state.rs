//! The state of a path: the vocabulary of records, differences and restores. Plain data; nothing
//! here touches a file.

use std::fmt;
use std::path::PathBuf;

use haft_sandbox::InodeKind;

use crate::id::ContentId;

/// The state of a path when it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathState {
    /// A file with its content.
    File(RecordedFile),
    /// A symbolic link with its target, byte for byte.
    Link {
        /// The target.
        target: PathBuf,
    },
    /// A directory. Its contents have their own paths and states.
    Directory {
        /// The permission bits, all twelve.
        mode: u32,
    },
    /// An existing entry whose content was not recorded.
    Omitted(OmittedEntry),
}

impl PathState {
    /// Returns the kind of entry.
    #[must_use]
    pub fn file_kind(&self) -> InodeKind {
        match self {
            PathState::File(_) => InodeKind::Regular,
            PathState::Link { .. } => InodeKind::Symlink,
            PathState::Directory { .. } => InodeKind::Directory,
            PathState::Omitted(left_out) => left_out.kind,
        }
    }
}

/// A recorded file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedFile {
    /// Its bytes.
    pub content: ContentId,
    /// Their number.
    pub size_bytes: u64,
    /// The permission bits, all twelve.
    pub mode: u32,
    /// The owner, if the file has the set-user-id or set-group-id bit. Without the owner these bits
    /// would mean something else.
    pub owner: Option<FileOwner>,
}

/// The owner of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileOwner {
    /// The user's number.
    pub user: u32,
    /// The group's number.
    pub group: u32,
}

/// An entry whose content was not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OmittedEntry {
    /// Its kind.
    pub kind: InodeKind,
    /// Why it was omitted.
    pub reason: OmissionReason,
    /// The size in bytes of a regular file that was not omitted intentionally; otherwise 0.
    pub size_bytes: u64,
    /// When such a file was last modified, in nanoseconds since the Unix epoch; otherwise 0.
    pub modified_ns: i128,
}

/// Why a record omitted an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OmissionReason {
    /// The caller excluded it.
    Excluded,
    /// A `.gitignore` ignores it, and it is larger than the limit for ignored entries.
    Ignored,
    /// It is a file larger than the limit.
    TooLarge,
    /// It cannot be read.
    Unreadable,
    /// It kept changing while it was read.
    Changing,
    /// It is deeper than the maximum depth.
    TooDeep,
    /// It is a socket, a named pipe, a device or of unknown kind.
    Special,
}

impl OmissionReason {
    /// Returns whether the caller or the user's ignore files asked to omit it, so that its changes
    /// need not be preserved.
    pub(crate) fn is_intentional(self) -> bool {
        match self {
            OmissionReason::Excluded | OmissionReason::Ignored => true,
            OmissionReason::TooLarge
            | OmissionReason::Unreadable
            | OmissionReason::Changing
            | OmissionReason::TooDeep
            | OmissionReason::Special => false,
        }
    }
}

impl fmt::Display for OmissionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OmissionReason::Excluded => "excluded",
            OmissionReason::Ignored => "ignored, and larger than ignored things may be",
            OmissionReason::TooLarge => "larger than files may be",
            OmissionReason::Unreadable => "not readable",
            OmissionReason::Changing => "changing while it was read",
            OmissionReason::TooDeep => "deeper than directories are followed",
            OmissionReason::Special => "neither a file nor a directory nor a link",
        })
    }
}
