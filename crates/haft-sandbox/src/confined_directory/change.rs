//! File changes as data, and the names of the temporaries that are used while they are applied.
//! Nothing here touches a file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::file::InodeStamp;

/// Files that one call changes together.
///
/// Limit (files): nothing is changed.
pub const CHANGES_MAX: usize = 512;

pub(super) const TEMPORARY_PREFIX: &str = ".haft-";
pub(super) const TEMPORARY_SUFFIX: &str = ".tmp";
/// Number of letters of the tag, which all temporaries of one change set share.
pub(super) const TAG_LETTERS: usize = 8;
/// Number of letters of the counter that distinguishes the temporaries of one set.
pub(super) const NUMBER_LETTERS: usize = 4;

/// Identifies a change set in the names of its temporaries. With the tag, a caller can later
/// recognise the set's temporaries and [finish](crate::Root::finish_changes) the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeTag(u32);

impl ChangeTag {
    /// Returns the tag for this number. Sets that may be in progress at the same time need
    /// different tags.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Parses a tag.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_tag = text.len() == TAG_LETTERS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_tag.then(|| u32::from_str_radix(text, 16).ok().map(Self)).flatten()
    }

    pub(super) fn temporary(self, number: u32) -> String {
        format!(
            "{TEMPORARY_PREFIX}{self}{number:0width$x}{TEMPORARY_SUFFIX}",
            width = NUMBER_LETTERS
        )
    }

    /// Returns whether a file of this name is a temporary of the set.
    pub(super) fn is_of(self, name: &OsStr) -> bool {
        let tag = self.to_string();
        letters_of(name).is_some_and(|letters| letters.starts_with(tag.as_bytes()))
    }
}

impl std::fmt::Display for ChangeTag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:0width$x}", self.0, width = TAG_LETTERS)
    }
}

/// One change to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootFileChange {
    /// Writes a file with exactly these contents, and creates missing parent directories.
    Write {
        /// The canonical path.
        path: PathBuf,
        /// The whole content.
        contents: Vec<u8>,
        /// The exact permission bits. If `None`, a replaced file keeps its bits, and a new file
        /// gets the usual ones.
        mode: Option<u32>,
        /// The expected current state.
        expected: ExpectedFile,
    },
    /// Removes a regular file.
    Remove {
        /// The canonical path.
        path: PathBuf,
        /// The expected current state.
        expected: ExpectedFile,
    },
}

/// One file of a recorded change set. A digest is computed from the content by the caller's
/// function; `None` stands for no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeTarget<D> {
    /// The canonical path.
    pub path: PathBuf,
    /// The content before the change.
    pub before: Option<D>,
    /// The content after the change.
    pub after: Option<D>,
}

/// The state of a recorded change set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeSetState {
    /// All changes are in place.
    Applied,
    /// No change is in place.
    NotApplied,
    /// Unknown, or a needed content is missing: files were changed since, or lost.
    Unclear,
}

/// The state that a change expects to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedFile {
    /// Any file, or no file.
    Any,
    /// No file.
    Absent,
    /// A file in exactly this state.
    Unchanged(InodeStamp),
}

impl RootFileChange {
    pub(super) fn path(&self) -> &Path {
        match self {
            RootFileChange::Write { path, .. } | RootFileChange::Remove { path, .. } => path,
        }
    }
}

/// Returns whether a file name is one that [`Root::apply`](crate::Root::apply) uses temporarily.
///
/// Such a file remains only if the process or the machine dies during the call.
#[must_use]
pub fn is_temporary(name: &OsStr) -> bool {
    letters_of(name).is_some()
}

fn letters_of(name: &OsStr) -> Option<&[u8]> {
    let rest = name.as_bytes().strip_prefix(TEMPORARY_PREFIX.as_bytes())?;
    let letters = rest.strip_suffix(TEMPORARY_SUFFIX.as_bytes())?;
    // The first versions had no counter.
    let is_long_enough = [TAG_LETTERS, TAG_LETTERS + NUMBER_LETTERS].contains(&letters.len());
    (is_long_enough && letters.iter().all(u8::is_ascii_hexdigit)).then_some(letters)
}
