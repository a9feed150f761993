//! Where hidden paths really are. A path can lead through symbolic links, and hiding its spelling hides nothing of what
//! the links lead to. This only finds places; how they are hidden is decided by whoever confines.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::confinement::Confinement;

/// How many paths are remembered. A session has some dozens.
pub(crate) const PATHS_MAX: usize = 4_096;

/// Finds places, and remembers where each path led at first.
///
/// A command can exchange a link in a directory that it may write to. What the link led to before stays hidden from the
/// commands that follow, as long as this lives.
#[derive(Debug, Clone, Default)]
pub(super) struct HiddenPlaces {
    first: Arc<Mutex<HashMap<PathBuf, PathBuf>>>,
}

impl HiddenPlaces {
    /// Returns the hidden paths of a confinement together with the places that they lead to; reads directories.
    pub(super) fn of(&self, confinement: &Confinement) -> Vec<PathBuf> {
        // Nothing is done under the lock that could leave it half done.
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let mut places = confinement.hidden.clone();
        for path in &confinement.hidden {
            // What leads nowhere, or round in a circle, has nothing to hide.
            let now = path.canonicalize().ok();
            if let Some(place) = &now
                && first.len() < PATHS_MAX
            {
                first.entry(path.clone()).or_insert_with(|| place.clone());
            }
            places.extend(now.into_iter().chain(first.get(path).cloned()));
        }
        places.sort();
        places.dedup();
        places.retain(|place| confinement.hidden.contains(place) || can_hide(confinement, place));
        places
    }
}

/// Tells whether a place that a link leads to can be hidden: a link to a directory around everything that was granted
/// would take it all away, and a command can make such a link.
fn can_hide(confinement: &Confinement, place: &Path) -> bool {
    let mut granted = confinement.writable.iter().chain(&confinement.readable);
    !granted.any(|granted| granted.starts_with(place))
}
