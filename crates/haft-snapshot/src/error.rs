//! Errors by operation: of the store itself, of recording, and of restoring. Messages name paths of
//! the workspace and objects of the store, but never the location of the store.

use std::io;
use std::path::{Path, PathBuf};

use haft_sandbox::RootError;
use rustix::io::Errno;

use crate::conflict::RestoreConflict;

/// The store could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotStoreError {
    /// The operating system returned an error.
    #[error("the snapshot store could not {action}: {source}")]
    Io {
        /// The action that failed.
        action: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
    /// The directory is a store of another version.
    #[error(
        "the snapshot store has format `{found}`, expected `{expected}`; \
         use the version of haft that made it, or another directory"
    )]
    Version {
        /// The content of its format file.
        found: String,
        /// The version that this build reads and writes.
        expected: &'static str,
    },
    /// An object is missing.
    #[error(
        "object {id} is not in the snapshot store; record the workspace again to go on from here"
    )]
    Lost {
        /// The object's name.
        id: String,
    },
    /// The content of an object does not match its name.
    #[error(
        "object {id} in the snapshot store is damaged; record the workspace again to go on from here"
    )]
    Corrupt {
        /// The object's name.
        id: String,
    },
    /// An object should describe a directory but does not.
    #[error("object {id} in the snapshot store describes no directory: {reason}")]
    Malformed {
        /// The object's name.
        id: String,
        /// The reason.
        reason: &'static str,
    },
    /// Another process uses the store in a way that excludes this one.
    #[error("the snapshot store is in use by another process; try again when it is done")]
    Busy,
}

/// The workspace was not recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] SnapshotStoreError),
    /// The workspace could not be read.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The workspace contains more than the maximum number of files.
    #[error(
        "the workspace has more than {files_max} files; exclude directories or raise the limit"
    )]
    TooMany {
        /// The maximum number.
        files_max: u64,
    },
    /// An excluded pattern is invalid.
    #[error("`{pattern}` is not a pattern: {reason}; expected a line as in a .gitignore")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// The reason.
        reason: String,
    },
    /// A path to record is not canonical.
    #[error("{} is not canonical; resolve it first", .path.display())]
    NotCanonical {
        /// The path.
        path: PathBuf,
    },
    /// The store is inside the workspace that it should record.
    #[error("the snapshot store lies inside the workspace; put it elsewhere")]
    Inside,
}

/// The workspace was not restored, or not in full.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The store failed, or has lost a needed object. Nothing was changed.
    #[error(transparent)]
    Store(#[from] SnapshotStoreError),
    /// The current state could not be recorded. Nothing was changed.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Paths have changed since, or cannot be restored; all of them are listed. Nothing was
    /// changed.
    #[error(
        "{} {} in the way of restoring, first {}",
        .conflicts.len(),
        if .conflicts.len() == 1 { "path is" } else { "paths are" },
        .conflicts.first().map_or_else(String::new, RestoreConflict::to_string)
    )]
    Conflicts {
        /// Every conflicting path, with the reason.
        conflicts: Vec<RestoreConflict>,
    },
    /// A path changed while the workspace was being restored. Restore again to see its state.
    #[error("{} changed while it was being restored; restore again", .path.display())]
    Changed {
        /// The path.
        path: PathBuf,
    },
    /// A path could not be read or written. Restoring again continues from here.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The operating system refused a change. Restoring again continues from here.
    #[error("{} could not be restored: {source}", .path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

impl RestoreError {
    /// Wraps the error of a refused change of `path`.
    pub(crate) fn io(path: &Path, errno: Errno) -> RestoreError {
        RestoreError::Io { path: path.to_path_buf(), source: errno.into() }
    }
}

impl SnapshotStoreError {
    /// Returns a function that wraps the error of a failed `action`, for `map_err`.
    pub(crate) fn io<E: Into<io::Error>>(
        action: &'static str,
    ) -> impl FnOnce(E) -> SnapshotStoreError {
        move |source| SnapshotStoreError::Io { action, source: source.into() }
    }
}
