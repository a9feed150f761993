//! The paths that prevent a restore. Restoring finds them; errors list them.

use std::fmt;
use std::path::PathBuf;

use crate::quoting::quote_path;
use crate::state::OmissionReason;

/// A path that prevents the restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreConflict {
    /// The canonical path.
    pub path: PathBuf,
    /// The reason.
    pub reason: RestoreConflictReason,
}

/// Why a path prevents the restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RestoreConflictReason {
    /// It is in neither the old nor the new state: something else has changed it since.
    ChangedSince,
    /// Something else changed it between two of the changes to undo. Undoing both would undo that
    /// change as well.
    ChangedBetween,
    /// Its state cannot be read.
    Unreadable,
    /// Its current content was omitted from the record, and would be lost.
    NotRecorded(OmissionReason),
    /// It was never recorded, and is where something must be written. Not even
    /// [`OverwritePolicy::Force`](crate::OverwritePolicy::Force) removes it.
    Obstructed,
}

impl fmt::Display for RestoreConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", quote_path(&self.path))?;
        match self.reason {
            RestoreConflictReason::ChangedSince => f.write_str("it changed since"),
            RestoreConflictReason::ChangedBetween => {
                f.write_str("something else changed it between the changes that are to be undone")
            }
            RestoreConflictReason::Unreadable => {
                f.write_str("it cannot be read to see whether it changed")
            }
            RestoreConflictReason::NotRecorded(reason) => {
                write!(f, "it would be lost, because it was left out of the record as {reason}")
            }
            RestoreConflictReason::Obstructed => {
                f.write_str("it lies where something must be written; move it away")
            }
        }
    }
}
