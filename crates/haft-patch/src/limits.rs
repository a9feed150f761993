//! The limits on patches.

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
