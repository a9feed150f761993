//! Remembers directories between scans, so that an unchanged directory takes one system call and is
//! not read again. Times that are too close to the moment of reading are deliberately not trusted.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use rustix::time::{ClockId, clock_gettime};

use super::concurrent_scans::OpenScans;
use super::directory::{FileTime, InodeState};
use super::followed_roots::FollowedRoots;
use super::listing::{DirectoryListing, DirectoryListings, ListedNames, ListingKey, NAME_SETS_MAX};

/// Time that a directory must be unchanged before it is read, so that a later change is visible in
/// its times. File systems take times from a clock that ticks every 1 to 10 milliseconds.
const SETTLED_NANOSECONDS: i64 = 20_000_000;

/// The same for times kept in whole seconds, or in steps of two.
const SETTLED_COARSELY_NANOSECONDS: i64 = 3_000_000_000;

/// Maximum number of directories that are remembered for one set of names.
pub(crate) const DIRECTORIES_MAX: usize = 524_288;

/// Maximum number of small files whose content is remembered.
pub(crate) const CONTENTS_MAX: usize = 4_096;

/// Cached directory listings, shared between scans.
///
/// Clones share the cache. Keep one for the whole process: without it, every scan reads every
/// directory.
#[derive(Debug, Clone, Default)]
pub struct ScanCache {
    pub(super) shared: Arc<SharedScanState>,
}

/// The state that clones of a cache share.
#[derive(Debug, Default)]
pub(super) struct SharedScanState {
    /// Scans read it while they walk and write it once at their end. A channel to an owner would
    /// make them wait for one another.
    known: RwLock<HashMap<ListedNames, DirectoryListings>>,
    contents: RwLock<HashMap<InodeState, Arc<[u8]>>>,
    pub(super) followed: FollowedRoots,
    pub(super) open: OpenScans,
}

impl ScanCache {
    pub(super) fn read(&self) -> RwLockReadGuard<'_, HashMap<ListedNames, DirectoryListings>> {
        // A panic under the lock at worst loses a cache entry.
        self.shared.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn remember_listings(
        &self,
        names: &ListedNames,
        fresh: Vec<(ListingKey, Arc<DirectoryListing>)>,
    ) {
        if fresh.is_empty() {
            return;
        }
        let mut known = self.shared.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= NAME_SETS_MAX && !known.contains_key(names) {
            known.clear();
        }
        let directories = known.entry(names.clone()).or_default();
        // Clearing everything costs one slow scan. Tracking the least recent use would slow down
        // each of them.
        if directories.len() + fresh.len() > DIRECTORIES_MAX {
            directories.clear();
        }
        directories.extend(fresh);
    }

    /// Returns the content of a file in this state, if it is cached.
    pub(super) fn content(&self, state: &InodeState) -> Option<Arc<[u8]>> {
        let contents = self.shared.contents.read().unwrap_or_else(PoisonError::into_inner);
        contents.get(state).cloned()
    }

    pub(super) fn remember_content(&self, state: InodeState, content: Arc<[u8]>) {
        let mut contents = self.shared.contents.write().unwrap_or_else(PoisonError::into_inner);
        if contents.len() >= CONTENTS_MAX {
            contents.clear();
        }
        contents.insert(state, content);
    }
}

/// Returns whether a file that is about to be read will show any later change in its times.
pub(super) fn is_settled(state: &InodeState, now: FileTime) -> bool {
    let changed = state.changed.max(state.modified);
    let is_coarse = state.changed.nanoseconds == 0 && state.modified.nanoseconds == 0;
    let needed = if is_coarse { SETTLED_COARSELY_NANOSECONDS } else { SETTLED_NANOSECONDS };
    let seconds = now.seconds.saturating_sub(changed.seconds);
    let age =
        seconds.saturating_mul(1_000_000_000).saturating_add(now.nanoseconds - changed.nanoseconds);
    age > needed
}

/// Returns the time by the clock that file systems use. File times are compared with this clock
/// only.
pub(super) fn now() -> FileTime {
    let time = clock_gettime(ClockId::RealtimeCoarse);
    FileTime { seconds: time.tv_sec, nanoseconds: time.tv_nsec }
}

#[cfg(test)]
mod tests;
