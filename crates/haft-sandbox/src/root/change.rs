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
pub(super) const TEMPORARY_LETTERS: usize = 8;

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
    name.as_bytes()
        .strip_prefix(TEMPORARY_PREFIX.as_bytes())
        .and_then(|rest| rest.strip_suffix(TEMPORARY_SUFFIX.as_bytes()))
        .is_some_and(|letters| {
            letters.len() == TEMPORARY_LETTERS && letters.iter().all(u8::is_ascii_hexdigit)
        })
}
