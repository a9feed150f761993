//! The roots and the result of one scan, as data. `traversal` fills the result.

use std::collections::HashSet;
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use super::directory::{InodeState, UnlockedDirectory};
use super::report::ScanError;
use crate::protect::pattern::ProtectionExtent;

/// A writable directory that is scanned.
#[derive(Debug)]
pub(super) struct ScanRoot {
    pub(super) path: PathBuf,
    pub(super) directory: OwnedFd,
}

/// The result of a scan.
#[derive(Debug, Default)]
pub(super) struct ScanResult {
    /// Sorted by path, without duplicates.
    pub(super) entries: Vec<ProtectedEntry>,
    /// The directories that git would accept as a repository.
    pub(super) repositories: HashSet<PathBuf>,
    /// Why the scan is incomplete, if it is; the first of several reasons.
    pub(super) problem: Option<ScanError>,
    /// Directories that their owner had locked, and the scan unlocked.
    pub(super) unlocked: Vec<UnlockedDirectory>,
}

/// A file that exists under a protected name.
#[derive(Debug, Clone)]
pub(super) struct ProtectedEntry {
    /// The absolute path.
    pub(super) path: PathBuf,
    /// The index of the pattern that protects it.
    pub(super) pattern: usize,
    pub(super) place: PatternPosition,
    pub(super) state: InodeState,
    /// The target, if it is a link.
    pub(super) target: Option<CString>,
}

/// The position of an entry relative to the pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatternPosition {
    /// The pattern's run ends here.
    End {
        extent: ProtectionExtent,
        /// Whether its parent directory is part of the run.
        has_parent: bool,
    },
    /// The entry is below such a path.
    Inside,
}
