//! Rules about paths, as the caller decides them: which paths a process may not read, or not change. The scan asks about
//! the names that exist. This module decides nothing and reads nothing.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The access that rules leave to a process at a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathAccess {
    /// The process can neither read nor change it.
    Nothing,
    /// The process can read it.
    ReadOnly,
    /// The rules take nothing away.
    #[default]
    Full,
}

/// Decides which access rules leave at each path.
///
/// The scan does not ask about every path. An entry for which neither [`may_concern`](Self::may_concern) nor
/// [`picks_all_in`](Self::picks_all_in) is true has the [`access_beneath`](Self::access_beneath) of its directory. The
/// answers must not change as long as the value lives. Paths are absolute and contain no symbolic links.
pub trait PathRules: fmt::Debug + Send + Sync {
    /// Returns the access at a path.
    fn access(&self, path: &Path) -> PathAccess;
    /// Returns the access at an entry of a directory that no rule names.
    fn access_beneath(&self, directory: &Path) -> PathAccess;
    /// Returns whether a rule may be about entries of this name.
    fn may_concern(&self, name: &[u8]) -> bool;
    /// Returns whether [`picks_all_in`](Self::picks_all_in) is true of any directory.
    fn picks_all(&self) -> bool;
    /// Returns whether a rule may be about all entries of a directory.
    fn picks_all_in(&self, directory: &Path) -> bool;
    /// Returns a text that is equal for rules with the same answers of [`may_concern`](Self::may_concern).
    fn names_key(&self) -> &str;
    /// Returns whether a file can get out of a rule if a directory around it is moved.
    fn depends_on_place(&self) -> bool;
}

/// Rules about paths, and the directories in which they are looked for.
#[derive(Clone, Debug, Default)]
pub struct RuledPaths {
    /// The directories that are scanned, as canonical paths.
    pub roots: Vec<PathBuf>,
    /// The rules; without rules nothing is scanned for them.
    pub rules: Option<Arc<dyn PathRules>>,
}

impl PartialEq for RuledPaths {
    fn eq(&self, other: &RuledPaths) -> bool {
        let is_same = match (&self.rules, &other.rules) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        is_same && self.roots == other.roots
    }
}

impl Eq for RuledPaths {}

/// A path at which rules leave another access than at the directory around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuledPath {
    /// The path: absolute, without symbolic links.
    pub path: PathBuf,
    /// The path that the rules name, if this is another name of it: a hard link, the target of a link, or a second mount.
    pub named_as: Option<PathBuf>,
    /// The access that the rules leave.
    pub access: PathAccess,
    /// The access that they leave at the directory around it.
    pub around: PathAccess,
    /// The device and the number of the file that is there.
    pub identity: (u64, u64),
}

impl RuledPath {
    /// Returns whether the rules take access away, beyond that at the directory around it.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.access < self.around
    }
}
