//! The names of a directory as a scan needs them, and how long they are remembered.

use std::collections::HashMap;
use std::sync::Arc;

use super::directory::{FileIdentity, FileTime, ListedName};

/// Maximum number of name sets that directories are remembered for. More than one is in use if
/// sessions differ.
pub(crate) const NAME_SETS_MAX: usize = 8;

/// The cached listings for one set of names.
pub(super) type DirectoryListings = HashMap<ListingKey, Arc<DirectoryListing>>;

/// A directory, and how much of it is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ListingKey {
    pub(super) identity: FileIdentity,
    pub(super) detail: ListingDetail,
}

/// How much of a directory is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ListingDetail {
    /// Directories, and names that can begin a run.
    Notable,
    /// All names.
    Whole,
}

/// The names of a directory at one point in time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DirectoryListing {
    pub(super) modified: FileTime,
    pub(super) changed: FileTime,
    pub(super) names: Vec<ListedName>,
    /// For each name, whether it can begin a run.
    pub(super) is_notable: Vec<bool>,
    /// Whether git would take the directory for a repository.
    pub(super) is_repository: bool,
}
