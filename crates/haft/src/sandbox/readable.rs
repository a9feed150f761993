//! Places that are looked for when they are first needed: finding toolchains means looking at every program on PATH, and
//! most sessions begin with a tool that starts no process.

use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

/// Finds the paths when they are first needed.
type FindReadablePaths = Box<dyn FnOnce() -> Vec<PathBuf> + Send>;

/// Directories and files that processes of calls can read and execute. Cloning is cheap; all clones look once.
#[derive(Clone)]
pub struct ReadablePaths(Arc<LazyLock<Vec<PathBuf>, FindReadablePaths>>);

impl ReadablePaths {
    /// Returns the places that `find` finds when they are first needed.
    pub fn from_search(find: impl FnOnce() -> Vec<PathBuf> + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(find))))
    }
}

impl From<Vec<PathBuf>> for ReadablePaths {
    fn from(places: Vec<PathBuf>) -> Self {
        Self::from_search(|| places)
    }
}

impl Deref for ReadablePaths {
    type Target = [PathBuf];

    fn deref(&self) -> &[PathBuf] {
        &self.0
    }
}

impl fmt::Debug for ReadablePaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
