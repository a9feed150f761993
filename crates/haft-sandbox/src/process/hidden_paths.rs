//! The real locations of hidden paths. A path can lead through symbolic links, and hiding only its
//! spelling would leave the targets readable. This module only finds the locations; the confinement
//! decides how they are hidden.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::confinement::Confinement;

/// Maximum number of remembered paths. A session has a few dozen.
pub(crate) const PATHS_MAX: usize = 4_096;

/// Finds the targets of hidden paths, and remembers each path's first target.
///
/// A command can replace a link in a directory that it may write to. The link's former target stays
/// hidden from later commands as long as this value lives.
#[derive(Debug, Default)]
pub(super) struct HiddenPathResolver {
    /// Each call reads and extends it once, on a thread that may block.
    first: Mutex<HashMap<PathBuf, PathBuf>>,
}

impl HiddenPathResolver {
    /// Returns the hidden paths of a confinement together with their targets; reads directories.
    pub(super) fn resolve_hidden(&self, confinement: &Confinement) -> Vec<PathBuf> {
        // No code panics under the lock with an update half done.
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let mut places = confinement.hidden.clone();
        for path in &confinement.hidden {
            // A path that leads nowhere or in a circle has no target to hide. Most paths lead nowhere, which one system
            // call shows.
            let now = path.metadata().and_then(|_| path.canonicalize()).ok();
            if let Some(place) = &now
                && first.len() < PATHS_MAX
            {
                first.entry(path.clone()).or_insert_with(|| place.clone());
            }
            places.extend(now.into_iter().chain(first.get(path).cloned()));
        }
        places.sort();
        places.dedup();
        // Hiding a directory around all granted paths would remove them too, and a command can
        // create a link to such a directory.
        places.retain(|place| {
            let mut granted = confinement.writable.iter().chain(&confinement.readable);
            confinement.hidden.contains(place) || !granted.any(|granted| granted.starts_with(place))
        });
        places
    }
}
