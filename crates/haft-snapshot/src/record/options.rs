//! Options of a record: which paths to record, and their limits.

use crate::error::RecordError;
use crate::id::ObjectId;
use crate::limits::{FILE_BYTES_MAX, FILES_MAX, IGNORED_BYTES_MAX, IGNORED_FILES_MAX};
use crate::objects::RecordDurability;

/// The file with the kernel's identifier of the current boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Options of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordOptions {
    /// Patterns of paths to omit, in the syntax of a `.gitignore` at the root.
    pub excluded: Vec<String>,
    /// Maximum size of a recorded file, in bytes.
    pub file_bytes_max: u64,
    /// Maximum number of files, directories and links; recording more is refused.
    pub files_max: u64,
    /// Maximum size of a recorded ignored file, and of all files in an ignored directory together,
    /// in bytes.
    pub ignored_bytes_max: u64,
    /// Maximum number of files, directories and links in a recorded ignored directory.
    pub ignored_files_max: u64,
    /// When the record survives a loss of power.
    pub durability: RecordDurability,
}

impl Default for RecordOptions {
    fn default() -> RecordOptions {
        RecordOptions {
            excluded: Vec::new(),
            file_bytes_max: FILE_BYTES_MAX,
            files_max: FILES_MAX,
            ignored_bytes_max: IGNORED_BYTES_MAX,
            ignored_files_max: IGNORED_FILES_MAX,
            durability: RecordDurability::AtOnce,
        }
    }
}

impl RecordOptions {
    /// Checks that every excluded pattern is valid.
    ///
    /// # Errors
    ///
    /// [`RecordError::Pattern`] names the first invalid one.
    pub fn check(&self) -> Result<(), RecordError> {
        super::gitignore_rules::excluded(&self.excluded).map(|_| ())
    }

    /// Returns a hash that distinguishes caches with different options. Results for one limit on
    /// ignored directories are not valid for another. With deferred durability, unsynced objects
    /// are certainly in the store only until the system restarts.
    pub(crate) fn fingerprint(&self) -> ObjectId {
        let boot = match self.durability {
            RecordDurability::AtOnce => String::new(),
            RecordDurability::Later => std::fs::read_to_string(BOOT_ID).unwrap_or_default(),
        };
        let text = format!("{} {} {boot}", self.ignored_bytes_max, self.ignored_files_max);
        ObjectId::of(text.as_bytes())
    }
}
