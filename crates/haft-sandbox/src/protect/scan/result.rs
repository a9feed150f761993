//! The roots and the result of one scan, as data. `traversal` fills the result.

use std::collections::HashSet;
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use super::directory::{InodeState, UnlockedDirectory};
use super::listing::DirectoryListing;
use super::report::ScanError;
use crate::protect::path_rules::PathAccess;
use crate::protect::pattern::ProtectionExtent;

/// A writable directory that is scanned.
#[derive(Debug)]
pub(super) struct ScanRoot {
    pub(super) path: PathBuf,
    pub(super) directory: OwnedFd,
    /// Whether protected names count in it. A directory that the process only reads is scanned for rules alone.
    pub(super) is_protected: bool,
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
    /// The paths at which rules leave another access than around them. Sorted by path, without duplicates.
    pub(super) ruled: Vec<RuledEntry>,
    /// The directories whose entries rules limit.
    pub(super) limited: Vec<LimitedDirectory>,
    /// Directories that were not read, and files that were not judged, because they are beyond the limits.
    pub(super) beyond: Vec<PathBuf>,
    /// Directories that their owner had locked, and the scan unlocked.
    pub(super) unlocked: Vec<UnlockedDirectory>,
}

impl ScanResult {
    /// Sorts the paths that rules name. Of two accesses at one path, the stricter one counts.
    pub(super) fn sort_ruled(&mut self) {
        self.ruled.sort_by(|a, b| (&a.path, a.access).cmp(&(&b.path, b.access)));
        self.ruled.dedup_by(|a, b| a.path == b.path);
    }
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

/// A path at which rules leave another access than at the directory around it.
#[derive(Debug, Clone)]
pub(super) struct RuledEntry {
    /// The absolute path.
    pub(super) path: PathBuf,
    /// The path that rules name, if this is another name of it.
    pub(super) named_as: Option<PathBuf>,
    pub(super) access: PathAccess,
    /// The access at the directory around it.
    pub(super) around: PathAccess,
    pub(super) state: InodeState,
}

/// A directory in which rules limit the access to some entries.
#[derive(Debug)]
pub(super) struct LimitedDirectory {
    pub(super) root: usize,
    /// Relative to the root.
    pub(super) path: CString,
    pub(super) listing: Arc<DirectoryListing>,
    /// The access at each entry of the listing.
    pub(super) accesses: Vec<PathAccess>,
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
