//! What can go wrong, by operation: with the store itself, while recording, while restoring. Messages name paths of the
//! workspace and objects of the store, never where the store lies.

use std::io;
use std::path::PathBuf;

use haft_sandbox::RootError;

use crate::restore::Conflict;

/// The store could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused.
    #[error("the snapshot store could not {action}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// The directory is another version's store.
    #[error(
        "the snapshot store has format `{found}`, expected `{expected}`; \
         use the version of haft that made it, or another directory"
    )]
    Version {
        /// What its format file holds.
        found: String,
        /// What this version reads and writes.
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
    /// An object does not hold what its name says.
    #[error(
        "object {id} in the snapshot store is damaged; record the workspace again to go on from here"
    )]
    Corrupt {
        /// The object's name.
        id: String,
    },
    /// An object was expected to describe a directory and does not.
    #[error("object {id} in the snapshot store describes no directory: {reason}")]
    Malformed {
        /// The object's name.
        id: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Another process is using the store in a way that excludes this one.
    #[error("the snapshot store is in use by another process; try again when it is done")]
    Busy,
}

/// The workspace was not recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The workspace could not be read.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The workspace holds more than is recorded.
    #[error(
        "the workspace has more than {files_max} files; exclude directories or raise the limit"
    )]
    TooMany {
        /// How many are recorded at most.
        files_max: u64,
    },
    /// An excluded pattern cannot be read.
    #[error("`{pattern}` is no pattern: {reason}; expected a line as in a .gitignore")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A path that should be recorded again is not canonical.
    #[error("{} is not canonical; resolve it first", .path.display())]
    NotCanonical {
        /// The path.
        path: PathBuf,
    },
    /// The store lies in the workspace that it should record.
    #[error("the snapshot store lies inside the workspace; put it elsewhere")]
    Inside,
}

/// The workspace was not restored, or not in full.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The store failed, or lost what is needed. Nothing was changed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is there now could not be recorded. Nothing was changed.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Paths changed since, or cannot be brought back; all of them are listed. Nothing was changed.
    #[error(
        "{} {} in the way of restoring, first {}",
        .conflicts.len(),
        if .conflicts.len() == 1 { "path is" } else { "paths are" },
        shown_first(.conflicts)
    )]
    Conflicts {
        /// Every path that is in the way, and why.
        conflicts: Vec<Conflict>,
    },
    /// A path changed while the workspace was being restored; restore again to see where it stands.
    #[error("{} changed while it was being restored; restore again", .path.display())]
    Changed {
        /// The path.
        path: PathBuf,
    },
    /// A path could not be looked at or written. Restoring again goes on where this ended.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The operating system refused a change. Restoring again goes on where this ended.
    #[error("{} could not be restored: {source}", .path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

fn shown_first(conflicts: &[Conflict]) -> String {
    conflicts.first().map_or_else(String::new, Conflict::to_string)
}

impl StoreError {
    /// Returns how a failed `action` is told, for `map_err`.
    pub(crate) fn io<E: Into<io::Error>>(action: &'static str) -> impl FnOnce(E) -> StoreError {
        move |source| StoreError::Io { action, source: source.into() }
    }
}
