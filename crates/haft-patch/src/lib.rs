//! Patches and passages as models write them: parsed strictly enough to be safe, applied without guessing.
//!
//! [`replace`] puts one text in the place of another.
//! [`parse`] reads unified diffs over several files, with git's headers or without, and the
//! `*** Begin Patch` envelope; [`parse_single`] reads a patch for one file, which may be bare
//! hunks. [`apply`] and [`apply_hunks`] turn an original text into the patched one, or say why they
//! will not. Wrong counts, missing line numbers, stripped blank context lines and foreign line
//! endings are looked through, because none of them changes which lines a hunk names. The lines
//! themselves must be there exactly, at a place that leaves no choice: there is no fuzz factor.
//! Nothing here touches files, judges where a path leads, or undoes half a patch; callers do.

mod apply;
mod begin_patch;
mod change;
mod cursor;
mod error;
mod hunk;
mod locate;
mod parse;
mod passage;
mod path;
mod section;
#[cfg(test)]
mod tests;
mod unified_diff;

pub use self::apply::{apply, apply_hunks};
pub use self::change::DescribedChange;
pub use self::error::{HunkMisplacement, HunkName, PatchApplyError, PatchParseError};
pub use self::hunk::PatchHunk;
pub use self::parse::{parse, parse_single};
pub use self::passage::{
    LINES_LISTED_MAX, NearestPassage, PassageDifference, REPLACEMENT_BYTES_MAX, ReplaceError,
    ReplaceMode, ReplacedText, replace,
};

/// Largest patch, in bytes.
///
/// Limit (files): the patch is refused.
pub const PATCH_BYTES_MAX: usize = 4_000_000;

/// Longest line of a patch, in bytes.
///
/// Limit (files): the patch is refused.
pub const LINE_BYTES_MAX: usize = 200_000;

/// The longest path, in bytes, as the kernel has it.
pub const PATH_BYTES_MAX: usize = 4_096;

/// Files of one patch.
///
/// Limit (files): the patch is refused.
pub const FILES_MAX: usize = 500;

/// Hunks of one patch.
///
/// Limit (files): the patch is refused.
pub const HUNKS_MAX: usize = 5_000;

/// Line comparisons to place the hunks of one file.
///
/// Limit (files): the patch is refused.
pub const SEARCH_STEPS_MAX: usize = 50_000_000;

/// How many places an ambiguity lists.
pub const PLACES_LISTED_MAX: usize = 20;

/// A parsed patch: what is to happen to which files, no file named twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The files, in the order of the patch; at least one.
    pub files: Vec<FilePatch>,
}

/// The change of one file.
///
/// Paths are as written, without the prefixes `a/` and `b/` where both sides have them. An
/// absolute path or one with `..` in it comes through: the caller judges where it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePatch {
    /// The file that is read; `None` for [`PatchOperation::Create`].
    pub old_path: Option<String>,
    /// The file that is written; `None` for [`PatchOperation::Delete`].
    pub new_path: Option<String>,
    /// The permission bits that the file is to have, where the patch sets them.
    pub mode: Option<u32>,
    /// The kind of change.
    pub operation: PatchOperation,
    /// The changes of its text, in order; empty where only the name or mode changes, where an
    /// empty file is created, or where a file is deleted whatever it holds.
    pub hunks: Vec<PatchHunk>,
}

/// The kind of change that a patch makes to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchOperation {
    /// The file must not exist.
    Create,
    /// The file goes.
    Delete,
    /// The file stays where it is.
    Modify,
    /// The file moves, with or without changes.
    Rename,
}
