//! Changes to files as data, and the names of the temporaries that stand in while they are made. Nothing here touches a
//! file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::path::PathBuf;

use super::file::Stamp;

/// How many changes one set holds at most; each may need a directory handle of its own until the set is done.
pub const CHANGES_MAX: usize = 512;

pub(super) const TEMPORARY_PREFIX: &str = ".haft-";
pub(super) const TEMPORARY_SUFFIX: &str = ".tmp";
/// Letters of the tag, which all temporaries of one set of changes share.
pub(super) const TAG_LETTERS: usize = 8;
/// Letters of the number that tells the temporaries of one set apart.
pub(super) const NUMBER_LETTERS: usize = 4;

/// Names a set of changes, in the names of its temporaries: who knows it can tell later which temporaries were the
/// set's, and [finish](crate::Root::finish) it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeTag(u32);

impl ChangeTag {
    /// Returns the tag of this number; sets that may be under way at the same time need different ones.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Returns the tag that is spelled so.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_tag = text.len() == TAG_LETTERS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_tag.then(|| u32::from_str_radix(text, 16).ok().map(Self)).flatten()
    }

    #[cfg(target_os = "linux")]
    pub(super) fn temporary(self, number: u32) -> String {
        format!(
            "{TEMPORARY_PREFIX}{self}{number:0width$x}{TEMPORARY_SUFFIX}",
            width = NUMBER_LETTERS
        )
    }

    /// Returns whether a file of this name is a temporary of the set.
    #[cfg(target_os = "linux")]
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
pub enum Change {
    /// Puts a file with exactly these contents at a path, creating missing parent directories.
    Write {
        /// The canonical path.
        path: PathBuf,
        /// The whole content.
        contents: Vec<u8>,
        /// The exact permission bits; without them a replaced file's are kept, and a new file gets the usual ones.
        mode: Option<u32>,
        /// What must be there now.
        expected: Expected,
    },
    /// Removes a regular file.
    Remove {
        /// The canonical path.
        path: PathBuf,
        /// What must be there now.
        expected: Expected,
    },
}

/// One file of a recorded set of changes. A digest is whatever the caller's function makes of a content; `None` stands
/// for no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target<D> {
    /// The canonical path.
    pub path: PathBuf,
    /// What the file was.
    pub before: Option<D>,
    /// What it was to become.
    pub after: Option<D>,
}

/// What became of a recorded set of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// All of it is in place.
    Applied,
    /// Nothing of it is.
    NotApplied,
    /// It cannot be told, or what it would take is not there any more: files were changed since, or lost.
    Unclear,
}

/// What a change expects to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Anything, or nothing.
    Any,
    /// Nothing.
    Absent,
    /// A file in the very state that it was seen in.
    Unchanged(Stamp),
}

impl Change {
    #[cfg(target_os = "linux")]
    pub(super) fn path(&self) -> &Path {
        match self {
            Change::Write { path, .. } | Change::Remove { path, .. } => path,
        }
    }
}

/// Tells whether a file name is one that [`Root::apply`](crate::Root::apply) uses while it works.
///
/// Such a file is left behind only if the process or the machine dies in the middle.
#[must_use]
pub fn is_temporary(name: &OsStr) -> bool {
    letters_of(name).is_some()
}

fn letters_of(name: &OsStr) -> Option<&[u8]> {
    let rest = name.as_bytes().strip_prefix(TEMPORARY_PREFIX.as_bytes())?;
    let letters = rest.strip_suffix(TEMPORARY_SUFFIX.as_bytes())?;
    // The first versions numbered nothing.
    let is_long_enough = [TAG_LETTERS, TAG_LETTERS + NUMBER_LETTERS].contains(&letters.len());
    (is_long_enough && letters.iter().all(u8::is_ascii_hexdigit)).then_some(letters)
}
