//! Errors of paths below a root. Every variant carries its path, so that a front end can phrase its
//! own hint. The target of a link that leaves the root is deliberately never printed.

use std::io;
use std::path::PathBuf;

use super::file::InodeKind;

/// A refused or failed access below a [`Root`](crate::Root).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RootError {
    /// The path cannot name a file.
    #[error("invalid path {}: {reason}", display_path(.path))]
    Invalid {
        /// The path as the caller wrote it.
        path: PathBuf,
        /// The reason.
        reason: &'static str,
    },
    /// The path itself leaves the root, by `..` or because it is absolute and outside.
    #[error("{} is outside the root; use a path relative to the root", display_path(.path))]
    Outside {
        /// The path as the caller wrote it.
        path: PathBuf,
    },
    /// A symbolic link in the path leads out of the root.
    #[error("{} leaves the root through the symbolic link {}", display_path(.path), display_path(.link))]
    Escape {
        /// The path as the caller wrote it.
        path: PathBuf,
        /// The link, relative to the root.
        link: PathBuf,
    },
    /// Too many symbolic links follow one another.
    #[error(
        "{} needs more than {links_max} symbolic links; they may form a loop",
        display_path(.path)
    )]
    TooManyLinks {
        /// The path as the caller wrote it.
        path: PathBuf,
        /// The maximum number of links.
        links_max: u32,
    },
    /// A resolved path now contains a symbolic link: it was exchanged after it was resolved.
    #[error("{} was exchanged for a symbolic link while it was in use; try again", display_path(.path))]
    Exchanged {
        /// The canonical path.
        path: PathBuf,
    },
    /// The path does not exist.
    #[error("{} does not exist", display_path(.path))]
    NotFound {
        /// The missing path.
        path: PathBuf,
    },
    /// The path is not a directory.
    #[error("{} is not a directory", display_path(.path))]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// The path is not a regular file.
    #[error("{} is not a regular file but {kind}", display_path(.path))]
    NotRegular {
        /// The path.
        path: PathBuf,
        /// The kind of file that it is.
        kind: InodeKind,
    },
    /// The operating system refuses the access.
    #[error("permission denied: {}", display_path(.path))]
    Denied {
        /// The path that was refused.
        path: PathBuf,
    },
    /// The file system is mounted read-only.
    #[error("{} is on a read-only file system", display_path(.path))]
    ReadOnly {
        /// The path that cannot be changed.
        path: PathBuf,
    },
    /// The file system, or a quota on it, is full.
    #[error("no space is left to write {}", display_path(.path))]
    Full {
        /// The path that cannot be written.
        path: PathBuf,
    },
    /// A name, or the whole path, is longer than the file system allows.
    #[error("the path or a name in it is too long: {}", display_path(.path))]
    TooLong {
        /// The path that is too long.
        path: PathBuf,
    },
    /// Any other failure of the operating system.
    #[error("{}: {source}", display_path(.path))]
    Io {
        /// The path in use.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

/// A change set that was not applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeSetError {
    /// A file is not in the expected state; nothing was changed.
    #[error("{} changed since it was read; read it again", display_path(.path))]
    Changed {
        /// The canonical path.
        path: PathBuf,
    },
    /// Two changes name the same file; nothing was changed.
    #[error("{} is changed twice in one set; merge the changes", display_path(.path))]
    Duplicate {
        /// The canonical path.
        path: PathBuf,
    },
    /// The set contains too many changes; nothing was changed.
    #[error("{changes} changes in one set, at most {changes_max} are possible; split the set")]
    TooMany {
        /// The number of changes.
        changes: usize,
        /// The maximum number of changes.
        changes_max: usize,
    },
    /// A path could not be used; nothing was changed.
    #[error(transparent)]
    Path(#[from] RootError),
    /// A change failed, and undoing an earlier one failed too. The tree is in neither the old nor
    /// the new state.
    #[error(
        "{} could not be put back ({source}) after: {cause}; its former content is in {}",
        display_path(.path),
        display_path(.kept)
    )]
    RollbackFailed {
        /// The canonical path of the file that keeps its new state.
        path: PathBuf,
        /// The location of its former content, relative to the root; for a new file, the file
        /// itself.
        kept: PathBuf,
        /// Why the set failed.
        cause: Box<ChangeSetError>,
        /// Why undoing failed.
        source: io::Error,
    },
}

/// Displays the root itself, whose canonical path is empty, as `.`.
fn display_path(path: &std::path::Path) -> std::path::Display<'_> {
    if path.as_os_str().is_empty() { std::path::Path::new(".").display() } else { path.display() }
}

impl RootError {
    /// Converts the kernel's error for `path`.
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

    /// Returns a function that converts the kernel's errors for `path`.
    pub(super) fn at(path: &std::path::Path) -> impl Fn(rustix::io::Errno) -> RootError + Copy {
        move |errno| RootError::from_errno(path, errno)
    }

    /// Converts a standard library error for `path`.
    pub(super) fn from_io(path: &std::path::Path, error: io::Error) -> RootError {
        match rustix::io::Errno::from_io_error(&error) {
            Some(errno) => RootError::from_errno(path, errno),
            None => RootError::Io { path: path.to_path_buf(), source: error },
        }
    }
}

#[cfg(test)]
mod tests;
