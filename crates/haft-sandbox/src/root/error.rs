//! What can go wrong with a path beneath a root. Every variant carries the path that it is about, so that a front end
//! can phrase its own hint. It deliberately never prints where a link that leaves the root leads to.

use std::io;
use std::path::PathBuf;

use super::file::FileKind;

/// A refused or failed access beneath a [`Root`](crate::Root).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RootError {
    /// The path cannot name a file at all.
    #[error("invalid path {}: {reason}", shown(.path))]
    Invalid {
        /// The path as it was given.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The path itself leaves the root, by `..` or because it is absolute and lies elsewhere.
    #[error("{} is outside the root; use a path relative to the root", shown(.path))]
    Outside {
        /// The path as it was given.
        path: PathBuf,
    },
    /// A symbolic link on the way leads out of the root.
    #[error("{} leaves the root through the symbolic link {}", shown(.path), shown(.link))]
    Escape {
        /// The path as it was given.
        path: PathBuf,
        /// The link, relative to the root.
        link: PathBuf,
    },
    /// Too many symbolic links follow one another.
    #[error(
        "{} needs more than {links_max} symbolic links; they may form a loop",
        shown(.path)
    )]
    TooManyLinks {
        /// The path as it was given.
        path: PathBuf,
        /// How many are followed at most.
        links_max: u32,
    },
    /// A resolved path holds a symbolic link now: something exchanged it after it was resolved.
    #[error("{} was exchanged for a symbolic link while it was in use; try again", shown(.path))]
    Exchanged {
        /// The canonical path.
        path: PathBuf,
    },
    /// Nothing is there.
    #[error("{} does not exist", shown(.path))]
    NotFound {
        /// The path that is missing.
        path: PathBuf,
    },
    /// A directory was needed and something else is there.
    #[error("{} is not a directory", shown(.path))]
    NotADirectory {
        /// The path that is no directory.
        path: PathBuf,
    },
    /// A regular file was needed and something else is there.
    #[error("{} is not a regular file but {kind}", shown(.path))]
    NotRegular {
        /// The path of the other thing.
        path: PathBuf,
        /// What it is.
        kind: FileKind,
    },
    /// The operating system refuses the access.
    #[error("permission denied: {}", shown(.path))]
    Denied {
        /// The path that is protected.
        path: PathBuf,
    },
    /// The file system is mounted read-only.
    #[error("{} is on a read-only file system", shown(.path))]
    ReadOnly {
        /// The path that should have changed.
        path: PathBuf,
    },
    /// The file system, or a quota on it, is full.
    #[error("no space is left to write {}", shown(.path))]
    Full {
        /// The path that should have been written.
        path: PathBuf,
    },
    /// A name, or the whole path, is longer than the file system allows.
    #[error("the path or a name in it is too long: {}", shown(.path))]
    TooLong {
        /// The path that is too long.
        path: PathBuf,
    },
    /// Any other failure of the operating system.
    #[error("{}: {source}", shown(.path))]
    Io {
        /// The path that was being used.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// This platform has no directory handles that can be confined.
    #[error("confined directories need Linux")]
    Unsupported,
}

/// A set of changes that was not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// A file is not what the caller expected it to be; nothing was changed.
    #[error("{} changed since it was read; read it again", shown(.path))]
    Changed {
        /// The canonical path.
        path: PathBuf,
    },
    /// Two changes name the same file; nothing was changed.
    #[error("{} is changed twice in one set; merge the changes", shown(.path))]
    Duplicate {
        /// The canonical path.
        path: PathBuf,
    },
    /// One set holds more changes than are applied together; nothing was changed.
    #[error("{changes} changes in one set, at most {changes_max} are possible; split the set")]
    TooMany {
        /// How many were asked for.
        changes: usize,
        /// How many are possible.
        changes_max: usize,
    },
    /// A path could not be used; nothing was changed.
    #[error(transparent)]
    Path(#[from] RootError),
    /// A change failed, and so did undoing an earlier one: the tree is neither as before nor as asked.
    #[error(
        "{} could not be put back ({source}) after: {cause}; its former content is in {}",
        shown(.path),
        shown(.kept)
    )]
    RollbackFailed {
        /// The canonical path of the file that keeps its new state.
        path: PathBuf,
        /// Where its former content lies, relative to the root; for a file that was new, the file itself.
        kept: PathBuf,
        /// Why the set failed.
        cause: Box<ApplyError>,
        /// Why undoing failed.
        source: io::Error,
    },
}

/// Shows the root itself, whose canonical path is empty, as `.`.
fn shown(path: &std::path::Path) -> std::path::Display<'_> {
    if path.as_os_str().is_empty() { std::path::Path::new(".").display() } else { path.display() }
}

#[cfg(target_os = "linux")]
impl RootError {
    /// Sorts what the kernel answered for `path`.
    pub(super) fn from_errno(path: &std::path::Path, errno: rustix::io::Errno) -> RootError {
        use rustix::io::Errno;
        let path = path.to_path_buf();
        match errno {
            Errno::NOENT => RootError::NotFound { path },
            Errno::NOTDIR => RootError::NotADirectory { path },
            Errno::LOOP => RootError::Exchanged { path },
            Errno::XDEV => RootError::Outside { path },
            Errno::ACCESS | Errno::PERM => RootError::Denied { path },
            Errno::ROFS => RootError::ReadOnly { path },
            Errno::NOSPC | Errno::DQUOT => RootError::Full { path },
            Errno::NAMETOOLONG => RootError::TooLong { path },
            other => RootError::Io { path, source: other.into() },
        }
    }

    /// Sorts a failure of the standard library for `path`.
    pub(super) fn from_io(path: &std::path::Path, error: io::Error) -> RootError {
        match rustix::io::Errno::from_io_error(&error) {
            Some(errno) => RootError::from_errno(path, errno),
            None => RootError::Io { path: path.to_path_buf(), source: error },
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
