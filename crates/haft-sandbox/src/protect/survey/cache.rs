//! What is known of directories from one survey to the next, so that a directory that has not changed is looked at
//! with one system call and not read again. It deliberately trusts no time that is too close to when it was read.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use rustix::time::{ClockId, clock_gettime};

use super::directory::{Identity, Listed, Moment, State};
use super::elders::OpenSurveys;
use crate::protect::ProtectedNames;

/// How long before it is read a directory must have been left alone, for its times to say so if it changes afterwards.
/// File systems take times from a clock that ticks every 1 to 10 milliseconds.
const SETTLED_NANOSECONDS: i64 = 20_000_000;

/// The same where times are kept in whole seconds, or in steps of two.
const SETTLED_COARSELY_NANOSECONDS: i64 = 3_000_000_000;

/// How many sets of names directories are remembered for. More than one are in use where sessions differ.
pub(crate) const NAME_SETS_MAX: usize = 8;

/// How many directories are remembered for one set of names.
pub(crate) const DIRECTORIES_MAX: usize = 524_288;

/// How many small files are remembered with their content.
pub(crate) const CONTENTS_MAX: usize = 4_096;

/// What is known of directories from one survey to the next.
///
/// Clones share it. One is meant to live as long as the process: without it, every survey reads every directory.
#[derive(Debug, Clone, Default)]
pub struct SurveyCache {
    /// Surveys read while they walk and write once at their end. A channel to an owner would make all of them wait for
    /// one another.
    known: Arc<RwLock<HashMap<ProtectedNames, Directories>>>,
    contents: Arc<RwLock<HashMap<State, Arc<[u8]>>>>,
    open: OpenSurveys,
}

/// What is known of directories, for one set of names.
pub(super) type Directories = HashMap<Key, Arc<Listing>>;

/// Which directory, and what of it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) identity: Identity,
    pub(super) detail: Detail,
}

/// How much of a directory is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Detail {
    /// Directories, and the names that can begin a run.
    Notable,
    /// All names.
    Whole,
}

/// The names of a directory at one moment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) modified: Moment,
    pub(super) changed: Moment,
    pub(super) names: Vec<Listed>,
    /// For each of the names, whether it can begin a run.
    pub(super) is_notable: Vec<bool>,
    /// Whether git would take the directory for a repository.
    pub(super) is_repository: bool,
}

impl SurveyCache {
    pub(super) fn read(&self) -> RwLockReadGuard<'_, HashMap<ProtectedNames, Directories>> {
        // Whoever panicked while it held the lock has at worst not remembered something.
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn remember(&self, names: &ProtectedNames, fresh: Vec<(Key, Arc<Listing>)>) {
        if fresh.is_empty() {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= NAME_SETS_MAX && !known.contains_key(names) {
            known.clear();
        }
        let directories = known.entry(names.clone()).or_default();
        // Forgetting everything costs one slow survey. Knowing what was not used for longest would cost each of them.
        if directories.len() + fresh.len() > DIRECTORIES_MAX {
            directories.clear();
        }
        directories.extend(fresh);
    }

    /// Returns the surveys that share this and are not over.
    pub(super) fn open_surveys(&self) -> &OpenSurveys {
        &self.open
    }

    /// Returns the content of a file in this state, if it is known.
    pub(super) fn content(&self, state: &State) -> Option<Arc<[u8]>> {
        let contents = self.contents.read().unwrap_or_else(PoisonError::into_inner);
        contents.get(state).cloned()
    }

    pub(super) fn remember_content(&self, state: State, content: Arc<[u8]>) {
        let mut contents = self.contents.write().unwrap_or_else(PoisonError::into_inner);
        if contents.len() >= CONTENTS_MAX {
            contents.clear();
        }
        contents.insert(state, content);
    }
}

/// Tells whether a file whose state this is, and which is about to be read, will show by its times whether it changes
/// from now on.
pub(super) fn is_settled(state: &State, now: Moment) -> bool {
    let changed = state.changed.max(state.modified);
    let is_coarse = state.changed.nanoseconds == 0 && state.modified.nanoseconds == 0;
    let needed = if is_coarse { SETTLED_COARSELY_NANOSECONDS } else { SETTLED_NANOSECONDS };
    let seconds = now.seconds.saturating_sub(changed.seconds);
    let age =
        seconds.saturating_mul(1_000_000_000).saturating_add(now.nanoseconds - changed.nanoseconds);
    age > needed
}

/// Returns the time by the clock that file systems use. Times of files are compared with it and nothing else.
pub(super) fn now() -> Moment {
    let time = clock_gettime(ClockId::RealtimeCoarse);
    Moment { seconds: time.tv_sec, nanoseconds: time.tv_nsec }
}

#[cfg(test)]
mod tests;
