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
    /// The known directories, for each set of names.
    known: HashMap<ListedNames, KnownDirectories>,
}

/// The facts about directories, by path below the root.
#[derive(Debug, Default)]
struct KnownDirectories {
    /// Current listings.
    listings: HashMap<CString, ListingsByDetail>,
    /// Directories with nothing for a scan to find in them or below, and how many directories each is with those below. All
    /// of them are followed.
    quiet: HashMap<CString, usize>,
}

/// A directory that a scan visited, and whether it had nothing to find in the directory itself.
pub(super) struct VisitedDirectory {
    pub(super) path: CString,
    pub(super) is_quiet: bool,
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
            let named = |path: &Path| CString::new(path.as_os_str().as_bytes()).ok();
            for KnownDirectories { listings, quiet } in known.known.values_mut() {
                for path in changes.trees.iter().chain(changes.names.keys()) {
                    // The listing of its directory differs, and so may its own, if its mode changed.
                    for changed in [path.parent(), Some(path.as_path())].into_iter().flatten() {
                        named(changed).map(|changed| listings.remove(&changed));
                    }
                    for around in path.ancestors() {
                        named(around).map(|around| quiet.remove(&around));
                    }
                }
                if !changes.trees.is_empty() {
                    let is_left = |path: &CString| {
                        let path = Path::new(OsStr::from_bytes(path.to_bytes()));
                        path.ancestors().all(|above| !changes.trees.contains(above))
                    };
                    listings.retain(|path, _| is_left(path));
                    quiet.retain(|path, _| is_left(path));
                }
            }
            return Some(known);
        }
        let watch = DirectoryWatch::new(WatchedEvents::Names);
        if watch.is_none() {
            self.roots().remove(&key);
        }
        Some(FollowedRoot { key, watch: watch?, known: HashMap::new() })
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
        let listings = self.known.get(names)?.listings.get(path)?;
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
        if self.known.len() >= NAME_SETS_MAX && !self.known.contains_key(names) {
            self.known.clear();
        }
        let known = self.known.entry(names.clone()).or_default();
        let listings = known.listings.entry(path.to_owned()).or_default();
        match detail {
            ListingDetail::Notable => listings.notable = Some(listing),
            ListingDetail::Whole => listings.whole = Some(listing),
        }
    }

    /// Returns how many directories a directory is with those below, if a scan finds nothing in any of them.
    pub(super) fn quiet_directories(&self, names: &ListedNames, path: &CStr) -> Option<usize> {
        self.known.get(names)?.quiet.get(path).copied()
    }

    /// Keeps which directories have nothing to find in them and below, after a scan that visited some directories, each
    /// after the one around it, and passed over quiet ones.
    pub(super) fn remember_quiet(
        &mut self,
        names: &ListedNames,
        visited: Vec<VisitedDirectory>,
        passed: &[CString],
    ) {
        let Some(known) = self.known.get_mut(names) else { return };
        // Of each directory, how many directories lie below it, and whether all of them are quiet.
        let mut below: HashMap<CString, (usize, bool)> = HashMap::new();
        let add = |below: &mut HashMap<CString, (usize, bool)>, path: &CStr, count, is_quiet| {
            let path = Path::new(OsStr::from_bytes(path.to_bytes()));
            let around = path.parent().and_then(|it| CString::new(it.as_os_str().as_bytes()).ok());
            let Some(around) = around else { return };
            let (counted, are_quiet) = below.entry(around).or_insert((0, true));
            *counted += count;
            *are_quiet &= is_quiet;
        };
        for path in passed {
            add(&mut below, path, known.quiet.get(path).copied().unwrap_or_default(), true);
        }
        for VisitedDirectory { path, is_quiet } in visited.into_iter().rev() {
            let (counted, are_quiet) = below.remove(&path).unwrap_or((0, true));
            let is_quiet = is_quiet && are_quiet;
            add(&mut below, &path, counted + 1, is_quiet);
            if is_quiet {
                known.quiet.insert(path, counted + 1);
            }
        }
    }
}
