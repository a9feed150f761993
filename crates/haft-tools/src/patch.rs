//! Patches as models write them: parsed strictly enough to be safe, applied without guessing.
//!
//! [`parse`] reads unified diffs over several files, with git's headers or without, and the
//! `*** Begin Patch` envelope; [`parse_single`] reads a patch for one file, which may be bare
//! hunks. [`apply`] and [`apply_hunks`] turn an original text into the patched one, or say why they
//! will not. Wrong counts, missing line numbers, stripped blank context lines and foreign line
//! endings are looked through, because none of them changes which lines a hunk names. The lines
//! themselves must be there exactly, at a place that leaves no choice: there is no fuzz factor.
//! Nothing here touches files, judges where a path leads, or undoes half a patch; callers do.

mod apply;
mod cursor;
mod envelope;
mod error;
mod hunk;
mod locate;
mod parse;
mod path;
#[cfg(test)]
mod tests;
mod unified;

pub use self::apply::{apply, apply_hunks};
pub use self::error::{ApplyError, HunkName, Misplacement, PatchError};
pub use self::hunk::Hunk;
pub use self::parse::{parse, parse_single};

/// The longest patch, in bytes.
pub const PATCH_BYTES_MAX: usize = 4_000_000;

/// The longest line of a patch, in bytes.
pub const LINE_BYTES_MAX: usize = 200_000;

/// The longest path, in bytes, as the kernel has it.
pub const PATH_BYTES_MAX: usize = 4_096;

/// The most files in one patch.
pub const FILES_MAX: usize = 500;

/// The most hunks in one patch, over all its files.
pub const HUNKS_MAX: usize = 5_000;

/// The most line comparisons spent on finding the places of one file's hunks.
pub const SEARCH_STEPS_MAX: usize = 50_000_000;

/// How many places an ambiguity lists.
pub const PLACES_LISTED_MAX: usize = 20;

/// A parsed patch: what is to happen to which files, no file named twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The files, in the order of the patch; at least one.
    pub files: Vec<FilePatch>,
}

/// What is to happen to one file.
///
/// Paths are as written, without the prefixes `a/` and `b/` where both sides have them. An
/// absolute path or one with `..` in it comes through: the caller judges where it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePatch {
    /// The file that is read; `None` for [`Operation::Create`].
    pub old_path: Option<String>,
    /// The file that is written; `None` for [`Operation::Delete`].
    pub new_path: Option<String>,
    /// The permission bits that the file is to have, where the patch sets them.
    pub mode: Option<u32>,
    /// The kind of change.
    pub operation: Operation,
    /// The changes of its text, in order; empty where only the name or mode changes, where an
    /// empty file is created, or where a file is deleted whatever it holds.
    pub hunks: Vec<Hunk>,
}

/// The kind of change that a patch makes to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The file must not exist.
    Create,
    /// The file goes.
    Delete,
    /// The file stays where it is.
    Modify,
    /// The file moves, with or without changes.
    Rename,
}
