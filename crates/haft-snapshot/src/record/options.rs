//! What of a workspace is recorded, and how much of it.

use crate::id::ObjectId;
use crate::limits::{FILE_BYTES_MAX, FILES_MAX, IGNORED_BYTES_MAX, IGNORED_FILES_MAX};

/// What of a workspace is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Patterns of what is left out, written and read as in a `.gitignore` at the root.
    pub excluded: Vec<String>,
    /// The largest file that is recorded.
    pub file_bytes_max: u64,
    /// How many files, directories and links there may be before recording is refused.
    pub files_max: u64,
    /// The largest ignored file, and the most that an ignored directory may hold in all, that is recorded.
    pub ignored_bytes_max: u64,
    /// How many files, directories and links an ignored directory may hold to be recorded.
    pub ignored_files_max: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            excluded: Vec::new(),
            file_bytes_max: FILE_BYTES_MAX,
            files_max: FILES_MAX,
            ignored_bytes_max: IGNORED_BYTES_MAX,
            ignored_files_max: IGNORED_FILES_MAX,
        }
    }
}

impl Options {
    /// Returns what tells these bounds on ignored directories from others: what was found to exceed one says nothing of
    /// another.
    pub(crate) fn fingerprint(&self) -> ObjectId {
        ObjectId::of(format!("{} {}", self.ignored_bytes_max, self.ignored_files_max).as_bytes())
    }
}
