//! The record of the values that haft wrote into the configuration of clients, so that exactly these can be taken back. It lies
//! in the state directory and holds nothing of the files but the values that haft replaced.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::CommandError;
use haft_app::host::AppHost;
use haft_app::state_file;

/// Largest record, in bytes.
const RECORD_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// All files that haft changed.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct ConnectRecord {
    files: Vec<RecordedConfiguration>,
}

/// A file that haft changed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct RecordedConfiguration {
    pub(super) path: PathBuf,
    /// Whether haft made the file.
    pub(super) is_new: bool,
    /// The directories that haft made for it, the outermost first.
    pub(super) directories: Vec<PathBuf>,
    /// In the order in which they were made.
    pub(super) edits: Vec<RecordedEdit>,
}

/// A value or an item that haft wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RecordedEdit {
    pub(super) place: Vec<String>,
    pub(super) value: Value,
    /// Whether it is an item of the list at the place.
    pub(super) is_item: bool,
    /// The text of the value that was there before.
    pub(super) before: Option<String>,
    /// How many of the keys at the beginning of the place were there before.
    pub(super) keys_before: usize,
}

impl ConnectRecord {
    /// Returns the record, empty if there is none.
    pub(super) fn read(host: &AppHost) -> Self {
        let text = state_file::read(&path(host), RECORD_BYTES_MAX);
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    /// Returns what is recorded of a file.
    pub(super) fn file(&self, path: &Path) -> Option<&RecordedConfiguration> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Adds what was written into a file.
    pub(super) fn add(&mut self, new: RecordedConfiguration) {
        match self.files.iter_mut().find(|file| file.path == new.path) {
            Some(file) => {
                file.is_new |= new.is_new;
                file.directories.extend(new.directories);
                file.edits.extend(new.edits);
            }
            None => self.files.push(new),
        }
    }

    /// Forgets a file, whose changes were taken back.
    pub(super) fn forget(&mut self, path: &Path) {
        self.files.retain(|file| file.path != path);
    }

    /// Writes the record.
    pub(super) fn write(&self, host: &AppHost) -> Result<(), CommandError> {
        let path = path(host);
        let text = serde_json::to_vec_pretty(self).map_err(CommandError::failed)?;
        state_file::write(&path, &text).map_err(|err| {
            CommandError::usage(format!("{} cannot be written: {err}", path.display()))
        })
    }
}

fn path(host: &AppHost) -> PathBuf {
    host.state().connections()
}
