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
mod limits;
mod locate;
mod parse;
mod passage;
mod patch;
mod path;
mod section;
#[cfg(test)]
mod tests;
mod unified_diff;

pub use self::apply::{apply, apply_hunks};
pub use self::change::DescribedChange;
pub use self::error::{HunkMisplacement, HunkName, PatchApplyError, PatchParseError};
pub use self::hunk::PatchHunk;
pub use self::limits::{
    FILES_MAX, HUNKS_MAX, LINE_BYTES_MAX, PATCH_BYTES_MAX, PATH_BYTES_MAX, PLACES_LISTED_MAX,
    SEARCH_STEPS_MAX,
};
pub use self::parse::{parse, parse_single};
pub use self::passage::{
    IgnoredDifference, LINES_LISTED_MAX, NearestPassage, PassageDifference, PassageMistake,
    REPLACEMENT_BYTES_MAX, ReplaceError, ReplaceMode, ReplacedText, replace, replace_leniently,
};
pub use self::patch::{FilePatch, Patch, PatchOperation};
