//! A change of a file as people read one: unified text, made for one change at a time. What is no text, or too much of it, is
//! said to be so; it is deliberately no format to restore from.

use diffy::{DiffOptions, PatchFormatter};

use crate::diff::Change;
use crate::error::StoreError;
use crate::limits::{UNIFIED_BYTES_MAX, UNIFIED_LINES_MAX};
use crate::state::State;
use crate::store::Store;

/// How much of a file is looked at to tell text from other bytes, as in git.
const PROBED_BYTES: usize = 8_000;

/// The difference between two states of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unified {
    /// Unified text, in the bytes of the files, whatever their encoding.
    Text(Vec<u8>),
    /// At least one side is no text.
    Binary,
    /// The files are too large to be compared line by line.
    TooLarge,
    /// The bytes of at least one side were not recorded.
    NotRecorded,
    /// No bytes differ: what changed is a directory, or permission bits alone.
    Nothing,
}

impl Store {
    /// Returns how the text of a path changed. A link's text is its target.
    ///
    /// # Errors
    ///
    /// [`StoreError::Lost`] or [`StoreError::Corrupt`] when the store does not have the bytes any more.
    pub fn unified(&self, change: &Change) -> Result<Unified, StoreError> {
        let (before, after) = match (self.text(&change.before)?, self.text(&change.after)?) {
            (Side::NotRecorded, _) | (_, Side::NotRecorded) => return Ok(Unified::NotRecorded),
            (Side::TooLarge, _) | (_, Side::TooLarge) => return Ok(Unified::TooLarge),
            (Side::None, Side::None) => return Ok(Unified::Nothing),
            (before, after) => (before.bytes(), after.bytes()),
        };
        if before == after && change.before.is_some() && change.after.is_some() {
            return Ok(Unified::Nothing);
        }
        if is_binary(&before) || is_binary(&after) {
            return Ok(Unified::Binary);
        }
        if count_lines(&before) + count_lines(&after) > UNIFIED_LINES_MAX {
            return Ok(Unified::TooLarge);
        }
        Ok(Unified::Text(compare(change, &before, &after)))
    }

    fn text(&self, state: &Option<State>) -> Result<Side, StoreError> {
        match state {
            None | Some(State::Directory { .. }) => Ok(Side::None),
            Some(State::LeftOut(_)) => Ok(Side::NotRecorded),
            Some(State::Link { target }) => {
                Ok(Side::Bytes(target.as_os_str().as_encoded_bytes().to_vec()))
            }
            Some(State::File(file)) if file.size_bytes > UNIFIED_BYTES_MAX => Ok(Side::TooLarge),
            Some(State::File(file)) => self.content(file.content, file.size_bytes).map(Side::Bytes),
        }
    }
}

/// What one side of a change has to show.
enum Side {
    None,
    Bytes(Vec<u8>),
    NotRecorded,
    TooLarge,
}

impl Side {
    fn bytes(self) -> Vec<u8> {
        match self {
            Side::Bytes(bytes) => bytes,
            Side::None | Side::NotRecorded | Side::TooLarge => Vec::new(),
        }
    }
}

fn compare(change: &Change, before: &[u8], after: &[u8]) -> Vec<u8> {
    let name = |prefix: &str, state: &Option<State>| match state {
        None | Some(State::Directory { .. }) => "/dev/null".to_owned(),
        Some(State::File(_) | State::Link { .. } | State::LeftOut(_)) => {
            format!("{prefix}{}", change.path.display())
        }
    };
    let mut options = DiffOptions::new();
    options
        .set_original_filename(name("a/", &change.before))
        .set_modified_filename(name("b/", &change.after));
    let patch = options.create_patch_bytes(before, after);
    let mut text = Vec::new();
    PatchFormatter::new()
        .write_patch_into(&patch, &mut text)
        .expect("writing to memory does not fail");
    text
}

fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(PROBED_BYTES).any(|byte| *byte == 0)
}

fn count_lines(bytes: &[u8]) -> usize {
    bytes.split(|byte| *byte == b'\n').count()
}
