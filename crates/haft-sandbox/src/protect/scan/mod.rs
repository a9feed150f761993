//! Finds the files that exist under protected names, before a command and after it. The first scan
//! returns the mounts that are needed while the command runs. The second one reverts changes that
//! mounts cannot prevent: new names. The module deliberately mounts nothing.

mod cache;
mod concurrent_scans;
mod directory;
mod followed_roots;
mod hard_links;
mod listing;
mod new_entry;
mod other_mounts;
mod protected_copies;
mod protective_mounts;
mod reconcile;
mod recovery_entry;
mod repository_shape;
mod result;
mod traversal;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use super::report::{self, ProtectiveMount, RevertedChange, ScanError, ScanOptions};
pub use cache::ScanCache;
pub(crate) use directory::FileTime;
pub(super) use directory::{
    BUFFER_BYTES, InodeState, ListedName, ScannedKind, UnlockedDirectory, open_beneath, read_names,
};
pub(crate) use recovery_entry::{end_time, reconcile_interrupted};

use self::concurrent_scans::ConcurrentBaselines;
use self::listing::ListedNames;
use self::protected_copies::ProtectedCopies;
use self::result::{RuledEntry, ScanResult, ScanRoot};
use self::traversal::{ScanExcess, ScanLimits, ScanScope};
use super::ProtectedPaths;
use super::path_rules::{PathRules, RuledPath};
use crate::recovery_log::RecoveryEntry;

/// The protected paths that exist in the writable directories of one command.
///
/// The scan is taken before the command starts, and reconciled when no process of the command is
/// alive. In between, the confinement holds the [protective
/// mounts](ProtectedPathScan::protective_mounts), so existing protected paths cannot be changed.
/// New protected paths are reverted at the end, so no placeholders are needed for them.
///
/// Any directory that has the shape of a git repository is treated as if it were named `.git`. A
/// new repository may keep the files that git itself creates: sample hooks and a configuration that
/// names no program.
///
/// Protection follows a name when it is moved: if a directory around it is renamed, a new file in
/// the old place counts as new. The target of a protected symbolic link is also protected if it is
/// in a writable directory.
#[derive(Debug)]
pub struct ProtectedPathScan {
    roots: Vec<ScanRoot>,
    names: ProtectedPaths,
    listed: ListedNames,
    cache: ScanCache,
    means: ScanOptions,
    bounds: ScanLimits,
    /// When the scan began.
    started_at: FileTime,
    before: Arc<ScanResult>,
    concurrent: ConcurrentBaselines,
    copies: ProtectedCopies,
    mounts: Vec<ProtectiveMount>,
    /// Lets a later process reconcile this scan if this one is killed.
    recovery_entry: Option<RecoveryEntry>,
    /// When the last process of the command ended, if it was another process's command.
    ended_at: Option<FileTime>,
}

impl ProtectedPathScan {
    /// Scans the writable directories, before the command starts.
    ///
    /// Reads directories and blocks. The roots must be canonical; a root below another one is part
    /// of it.
    ///
    /// # Errors
    ///
    /// A [`ScanError`] inside of an [`io::Error`] if a root cannot be scanned completely: the
    /// command must not run.
    pub fn scan_directories(
        cache: &ScanCache,
        roots: &[PathBuf],
        names: &ProtectedPaths,
        means: ScanOptions,
    ) -> io::Result<ProtectedPathScan> {
        ProtectedPathScan::scan_within(cache, roots, names, means, ScanLimits::DEFAULT)
    }

    fn scan_within(
        cache: &ScanCache,
        roots: &[PathBuf],
        names: &ProtectedPaths,
        means: ScanOptions,
        bounds: ScanLimits,
    ) -> io::Result<ProtectedPathScan> {
        let (names, cache) = (names.clone(), cache.clone());
        let rules = means.ruled.rules.as_deref();
        let ruled_roots = rules.map(|_| means.ruled.roots.as_slice()).unwrap_or_default();
        let roots = open_roots(roots, ruled_roots)?;
        let listed = ListedNames::new(&names, rules);
        let scope = ScanScope {
            roots: &roots,
            names: &names,
            rules,
            listed: &listed,
            cache: &cache,
            bounds,
            excess: ScanExcess::Refused,
        };
        let started_at = cache::now();
        let beginning = cache.shared.open.start_scan(&roots);
        let mut before = ScanResult::scan_roots(scope, &|_| true);
        if let Some(problem) = before.problem.take() {
            return Err(problem.into());
        }
        let other_names = hard_links::find_hard_links(scope, &mut before, &means.hidden)?;
        let other_mounts = other_mounts::find_other_mounts(&before.ruled)?;
        before.ruled.extend(other_mounts);
        before.sort_ruled();
        before.limited.clear();
        let copies = protected_copies::read_contents(scope, &before, means.mode)?;
        let mounts = protective_mounts::choose_mounts(&roots, &before, other_names, means.mode);
        // Directories that their owner locked are locked again while the command runs.
        before.unlocked.clear();
        let before = Arc::new(before);
        let concurrent = cache.shared.open.open_scan(&beginning, Arc::clone(&before));
        Ok(ProtectedPathScan {
            roots,
            names,
            listed,
            cache,
            means,
            bounds,
            started_at,
            before,
            concurrent,
            copies,
            mounts,
            recovery_entry: None,
            ended_at: None,
        })
    }

    /// Returns the mounts that are needed while the command runs, parents before children.
    ///
    /// In mode `Copies` these are only the other names of hidden files, which
    /// must then not be readable.
    #[must_use]
    pub fn protective_mounts(&self) -> &[ProtectiveMount] {
        &self.mounts
    }

    /// Returns the paths at which rules leave another access than around them, whatever their kind. A symbolic link is
    /// not among them, but its target is.
    #[must_use]
    pub fn ruled_paths(&self) -> Vec<RuledPath> {
        let is_link = |entry: &&RuledEntry| entry.state.kind == ScannedKind::Symlink;
        let entries = self.before.ruled.iter().filter(|entry| !is_link(entry));
        entries.map(ruled_path).collect()
    }

    /// Scans again and reverts changes to protected paths; blocks as well.
    ///
    /// No process of the command may be alive any more. The result is in the order of the paths:
    /// first new or changed files, then missing ones. If a scan is dropped without this call, new
    /// files stay in place.
    #[must_use]
    pub fn reconcile(&self) -> Vec<RevertedChange> {
        self.reconcile_ruled().0
    }

    /// Does the same, and returns as well the denied paths that appeared meanwhile.
    pub(crate) fn reconcile_ruled(&self) -> (Vec<RevertedChange>, Vec<RuledPath>) {
        let done = reconcile::reconcile(self);
        self.erase_recovery_entry();
        done
    }

    /// Saves the data that another process needs to reconcile this scan, in case this one is
    /// killed.
    pub(crate) fn save_recovery_entry(
        &mut self,
        write: impl FnOnce(&[u8]) -> io::Result<RecoveryEntry>,
    ) -> io::Result<()> {
        self.erase_recovery_entry();
        // If nothing is writable, no changes are possible.
        let is_needed = self.roots.iter().any(|root| root.is_protected);
        self.recovery_entry = if is_needed { Some(write(&self.encode()?)?) } else { None };
        Ok(())
    }

    /// Removes the saved data: no other process needs to reconcile this scan.
    pub(crate) fn erase_recovery_entry(&self) {
        if let Some(note) = &self.recovery_entry {
            note.erase();
        }
    }

    fn rules(&self) -> Option<&dyn PathRules> {
        self.means.ruled.rules.as_deref()
    }

    /// Returns the scope of a scan after the command.
    fn scope(&self) -> ScanScope<'_> {
        ScanScope {
            roots: &self.roots,
            names: &self.names,
            rules: self.rules(),
            listed: &self.listed,
            cache: &self.cache,
            bounds: self.bounds,
            excess: ScanExcess::Deep,
        }
    }
}

fn ruled_path(entry: &RuledEntry) -> RuledPath {
    let RuledEntry { path, named_as, access, around, state } = entry;
    RuledPath {
        path: path.clone(),
        named_as: named_as.clone(),
        access: *access,
        around: *around,
        identity: (state.identity.device, state.identity.inode),
    }
}

/// Opens the writable roots that are not below another one, and the further ones that are scanned for rules alone.
fn open_roots(writable: &[PathBuf], ruled: &[PathBuf]) -> Result<Vec<ScanRoot>, ScanError> {
    let mut roots: Vec<ScanRoot> = Vec::new();
    for (paths, is_protected) in [(writable, true), (ruled, false)] {
        let mut sorted: Vec<&PathBuf> = paths.iter().collect();
        sorted.sort();
        for path in sorted {
            if roots.iter().any(|root| path.starts_with(&root.path)) {
                continue;
            }
            let failed = |source| ScanError::Unreadable { path: path.clone(), source };
            let directory = File::open(path).map_err(failed)?;
            if !directory.metadata().map_err(failed)?.is_dir() {
                return Err(failed(io::ErrorKind::NotADirectory.into()));
            }
            let (path, directory) = (path.clone(), OwnedFd::from(directory));
            roots.push(ScanRoot { path, directory, is_protected });
        }
    }
    Ok(roots)
}
