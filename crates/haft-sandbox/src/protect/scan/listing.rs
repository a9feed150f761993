//! The names of a directory as a scan needs them, and how long they are remembered.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::directory::{FileIdentity, FileTime, ListedName};
use crate::protect::ProtectedPaths;
use crate::protect::path_rules::PathRules;

/// Maximum number of name sets that directories are remembered for. More than one is in use if
/// sessions differ.
pub(crate) const NAME_SETS_MAX: usize = 8;

/// A set of names that listings are made for: those of protected patterns, and those that rules may concern. Cloning is
/// cheap, and so is looking it up, because every directory of a scan is looked up by it.
#[derive(Debug, Clone)]
pub(super) struct ListedNames(Arc<ListedNameSet>);

#[derive(Debug)]
struct ListedNameSet {
    protected: ProtectedPaths,
    of_rules: String,
    hash: u64,
}

impl ListedNames {
    pub(super) fn new(protected: &ProtectedPaths, rules: Option<&dyn PathRules>) -> ListedNames {
        let of_rules = rules.map_or("", PathRules::names_key).to_owned();
        let mut hasher = DefaultHasher::new();
        (protected, &of_rules).hash(&mut hasher);
        let hash = hasher.finish();
        ListedNames(Arc::new(ListedNameSet { protected: protected.clone(), of_rules, hash }))
    }
}

impl PartialEq for ListedNames {
    fn eq(&self, other: &ListedNames) -> bool {
        let (one, other) = (&self.0, &other.0);
        Arc::ptr_eq(one, other)
            || (one.hash, &one.of_rules, &one.protected)
                == (other.hash, &other.of_rules, &other.protected)
    }
}

impl Eq for ListedNames {}

impl Hash for ListedNames {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

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
    /// For each name, whether rules may concern it.
    pub(super) may_concern: Vec<bool>,
    /// Whether git would take the directory for a repository.
    pub(super) is_repository: bool,
}
