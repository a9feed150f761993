//! A change of a file for people to read: unified text, for one change at a time. Binary and very
//! large files are only reported as such. It is not a format to restore from.

use diffy::{DiffOptions, PatchFormatter};

use crate::diff::PathChange;
use crate::error::SnapshotStoreError;
use crate::limits::{UNIFIED_BYTES_MAX, UNIFIED_LINES_MAX};
use crate::state::PathState;
use crate::store::SnapshotStore;

/// Bytes of a file that are inspected to distinguish text from binary, as in git.
const PROBED_BYTES: usize = 8_000;

/// The difference between two states of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnifiedDiff {
    /// Unified text, in the bytes of the files, whatever their encoding.
    Text(Vec<u8>),
    /// At least one side is not text.
    Binary,
    /// The files are too large to be compared by lines.
    TooLarge,
    /// The bytes of at least one side were not recorded.
    NotRecorded,
    /// No bytes differ: only a directory or permission bits changed.
    Nothing,
}

impl UnifiedDiff {
    /// Returns the change from one text to another, with the names of both.
    pub fn between(before: &[u8], after: &[u8], (old_name, new_name): (String, String)) -> Self {
        let bytes = before.len().max(after.len());
        if u64::try_from(bytes).is_ok_and(|bytes| bytes > UNIFIED_BYTES_MAX) {
            return Self::TooLarge;
        }
        if is_binary(before) || is_binary(after) {
            return Self::Binary;
        }
        if count_lines(before) + count_lines(after) > UNIFIED_LINES_MAX {
            return Self::TooLarge;
        }
        let mut options = DiffOptions::new();
        options.set_original_filename(old_name).set_modified_filename(new_name);
        let patch = options.create_patch_bytes(before, after);
        let mut text = Vec::new();
        PatchFormatter::new()
            .write_patch_into(&patch, &mut text)
            .expect("writing to memory does not fail");
        Self::Text(text)
    }
}

impl SnapshotStore {
    /// Returns the text change of a path. A link's text is its target.
    ///
    /// # Errors
    ///
    /// [`SnapshotStoreError::Lost`] or [`SnapshotStoreError::Corrupt`] if the store no longer has
    /// the bytes.
    pub fn unified_diff(&self, change: &PathChange) -> Result<UnifiedDiff, SnapshotStoreError> {
        let (before, after) = match (self.text(&change.before)?, self.text(&change.after)?) {
            (DiffSide::NotRecorded, _) | (_, DiffSide::NotRecorded) => {
                return Ok(UnifiedDiff::NotRecorded);
            }
            (DiffSide::TooLarge, _) | (_, DiffSide::TooLarge) => return Ok(UnifiedDiff::TooLarge),
            (DiffSide::None, DiffSide::None) => return Ok(UnifiedDiff::Nothing),
            (before, after) => (before.bytes(), after.bytes()),
        };
        if before == after && change.before.is_some() && change.after.is_some() {
            return Ok(UnifiedDiff::Nothing);
        }
        let name = |prefix: &str, state: &Option<PathState>| match state {
            None | Some(PathState::Directory { .. }) => "/dev/null".to_owned(),
            Some(PathState::File(_) | PathState::Link { .. } | PathState::Omitted(_)) => {
                format!("{prefix}{}", change.path.display())
            }
        };
        let names = (name("a/", &change.before), name("b/", &change.after));
        Ok(UnifiedDiff::between(&before, &after, names))
    }

    fn text(&self, state: &Option<PathState>) -> Result<DiffSide, SnapshotStoreError> {
        match state {
            None | Some(PathState::Directory { .. }) => Ok(DiffSide::None),
            Some(PathState::Omitted(_)) => Ok(DiffSide::NotRecorded),
            Some(PathState::Link { target }) => {
                Ok(DiffSide::Bytes(target.as_os_str().as_encoded_bytes().to_vec()))
            }
            Some(PathState::File(file)) if file.size_bytes > UNIFIED_BYTES_MAX => {
                Ok(DiffSide::TooLarge)
            }
            Some(PathState::File(file)) => {
                self.content(file.content, file.size_bytes).map(DiffSide::Bytes)
            }
        }
    }
}

/// One side of a change.
enum DiffSide {
    None,
    Bytes(Vec<u8>),
    NotRecorded,
    TooLarge,
}

impl DiffSide {
    fn bytes(self) -> Vec<u8> {
        match self {
            DiffSide::Bytes(bytes) => bytes,
            DiffSide::None | DiffSide::NotRecorded | DiffSide::TooLarge => Vec::new(),
        }
    }
}

fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(PROBED_BYTES).any(|byte| *byte == 0)
}

fn count_lines(bytes: &[u8]) -> usize {
    bytes.split(|byte| *byte == b'\n').count()
}
