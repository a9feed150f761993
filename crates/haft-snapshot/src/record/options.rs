//! What of a workspace is recorded, and how much of it.

use crate::error::RecordError;
use crate::id::ObjectId;
use crate::limits::{FILE_BYTES_MAX, FILES_MAX, IGNORED_BYTES_MAX, IGNORED_FILES_MAX};

/// Where the kernel names this start of the system.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// When a record lasts through a loss of power.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lasting {
    /// As soon as it is made.
    #[default]
    AtOnce,
    /// When [`Store::sync`](crate::Store::sync) was called, or the system has written it by itself; the death of processes it
    /// outlives at once.
    Later,
}

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
    /// When the record lasts.
    pub lasting: Lasting,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            excluded: Vec::new(),
            file_bytes_max: FILE_BYTES_MAX,
            files_max: FILES_MAX,
            ignored_bytes_max: IGNORED_BYTES_MAX,
            ignored_files_max: IGNORED_FILES_MAX,
            lasting: Lasting::AtOnce,
        }
    }
}

impl Options {
    /// Tells whether every excluded pattern is one.
    ///
    /// # Errors
    ///
    /// [`RecordError::Pattern`] names the first that is none.
    pub fn check(&self) -> Result<(), RecordError> {
        super::rules::excluded(&self.excluded).map(|_| ())
    }

    /// Returns what tells a cache that was made with these options from others. What was found to exceed one bound on ignored
    /// directories says nothing of another; and what may be lost with the power is in the store for certain only until the
    /// system starts again.
    pub(crate) fn fingerprint(&self) -> ObjectId {
        let boot = match self.lasting {
            Lasting::AtOnce => String::new(),
            Lasting::Later => std::fs::read_to_string(BOOT_ID).unwrap_or_default(),
        };
        let text = format!("{} {} {boot}", self.ignored_bytes_max, self.ignored_files_max);
        ObjectId::of(text.as_bytes())
    }
}
