//! Keeps the listings of directories that a watch follows, so that a scan takes no system call for a
//! directory in which no name changed. Where no watch is possible, `cache` compares times instead.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, OFlags, openat};

use super::directory::{FileIdentity, InodeState};
use super::listing::{DirectoryListing, ListedNames, ListingDetail, NAME_SETS_MAX};
use super::result::ScanRoot;
use crate::directory_watch::{DirectoryWatch, WatchedEvents};

/// Maximum number of roots that are followed. Each takes one of the user's inotify instances.
pub(crate) const FOLLOWED_ROOTS_MAX: usize = 8;

/// The followed roots of this process, shared between scans.
#[derive(Debug, Default)]
pub(super) struct FollowedRoots {
    /// A scan takes a root out while it walks. Another scan of the same root compares times
    /// meanwhile. The lock is held only to take or return a root.
    roots: Mutex<HashMap<RootKey, Option<FollowedRoot>>>,
}

/// A root's path, and the directory that it was at first.
type RootKey = (PathBuf, FileIdentity);

/// One root, followed since its directories were listed.
#[derive(Debug)]
pub(super) struct FollowedRoot {
    key: RootKey,
    watch: DirectoryWatch,
    /// Current listings by path below the root, for each set of names.
    listings: HashMap<ListedNames, HashMap<CString, ListingsByDetail>>,
}

#[derive(Debug, Default)]
struct ListingsByDetail {
    notable: Option<Arc<DirectoryListing>>,
    whole: Option<Arc<DirectoryListing>>,
}

impl FollowedRoots {
    /// Takes a root out to scan it, without the listings that changed. Returns `None` if it cannot
    /// be followed, or if another scan has taken it.
    pub(super) fn take(&self, root: &ScanRoot) -> Option<FollowedRoot> {
        let identity = InodeState::of_open(root.directory.as_fd()).ok()?.identity;
        let key = (root.path.clone(), identity);
        let known = {
            let mut roots = self.roots();
            let known = match roots.get_mut(&key) {
                Some(known) => Some(known.take()?),
                None => None,
            };
            if known.is_none() && roots.len() >= FOLLOWED_ROOTS_MAX {
                let idle = roots.iter().find(|(_, root)| root.is_some());
                let idle = idle.map(|(key, _)| key.clone())?;
                roots.remove(&idle);
            }
            roots.insert(key.clone(), None);
            known
        };
        if let Some(mut known) = known
            && let Some(changes) = known.watch.take_changes()
        {
            for listings in known.listings.values_mut() {
                for path in changes.trees.iter().chain(changes.names.keys()) {
                    // The listing of its directory differs, and so may its own, if its mode changed.
                    for changed in [path.parent(), Some(path.as_path())].into_iter().flatten() {
                        if let Ok(changed) = CString::new(changed.as_os_str().as_bytes()) {
                            listings.remove(&changed);
                        }
                    }
                }
                if !changes.trees.is_empty() {
                    listings.retain(|listed, _| {
                        let listed = Path::new(OsStr::from_bytes(listed.to_bytes()));
                        listed.ancestors().all(|above| !changes.trees.contains(above))
                    });
                }
            }
            return Some(known);
        }
        let watch = DirectoryWatch::new(WatchedEvents::Names);
        if watch.is_none() {
            self.roots().remove(&key);
        }
        Some(FollowedRoot { key, watch: watch?, listings: HashMap::new() })
    }

    /// Returns a root after its scan.
    pub(super) fn put_back(&self, root: FollowedRoot) {
        self.roots().insert(root.key.clone(), Some(root));
    }

    fn roots(&self) -> MutexGuard<'_, HashMap<RootKey, Option<FollowedRoot>>> {
        // A panic under the lock at worst loses a cache entry.
        self.roots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FollowedRoot {
    /// Returns the current listing of a directory, if it is known.
    pub(super) fn listing(
        &self,
        names: &ListedNames,
        path: &CStr,
        detail: ListingDetail,
    ) -> Option<&Arc<DirectoryListing>> {
        let listings = self.listings.get(names)?.get(path)?;
        match detail {
            ListingDetail::Notable => listings.notable.as_ref(),
            ListingDetail::Whole => listings.whole.as_ref(),
        }
    }

    /// Follows a directory from now on. Call this before it is listed.
    pub(super) fn follow(&mut self, root: &ScanRoot, path: &CStr) {
        let relative = Path::new(OsStr::from_bytes(path.to_bytes()));
        if self.watch.follows(relative) {
            return;
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = if path.is_empty() { c"." } else { path };
        // If it cannot be opened, the scan reports why, and nothing is listed.
        if let Ok(directory) = openat(&root.directory, open, flags, Mode::empty()) {
            self.watch.add_directory(directory.as_fd(), relative);
        }
    }

    /// Keeps the listing of a directory until a name in it changes. The directory was followed
    /// before it was listed.
    pub(super) fn remember(
        &mut self,
        names: &ListedNames,
        path: &CStr,
        detail: ListingDetail,
        listing: Arc<DirectoryListing>,
    ) {
        if !self.watch.follows(Path::new(OsStr::from_bytes(path.to_bytes()))) {
            return;
        }
        if self.listings.len() >= NAME_SETS_MAX && !self.listings.contains_key(names) {
            self.listings.clear();
        }
        let listings = self.listings.entry(names.clone()).or_default();
        let listings = listings.entry(path.to_owned()).or_default();
        match detail {
            ListingDetail::Notable => listings.notable = Some(listing),
            ListingDetail::Whole => listings.whole = Some(listing),
        }
    }
}
