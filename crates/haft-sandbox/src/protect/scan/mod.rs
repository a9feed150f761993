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
use self::protected_copies::ProtectedCopies;
use self::result::{ScanResult, ScanRoot};
use self::traversal::{ScanLimits, ScanScope};
use super::ProtectedPaths;
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
    cache: ScanCache,
    means: ScanOptions,
    bounds: ScanLimits,
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
        let (roots, names, cache) = (open_roots(roots)?, names.clone(), cache.clone());
        let scope = ScanScope { roots: &roots, names: &names, cache: &cache, bounds };
        let beginning = cache.shared.open.start_scan(&roots);
        let mut before = ScanResult::scan_roots(scope, &|_| true);
        if let Some(problem) = before.problem.take() {
            return Err(problem.into());
        }
        let other_names = hard_links::find_hard_links(scope, &before, &means.hidden)?;
        let copies = protected_copies::read_contents(scope, &before, means.mode)?;
        let mounts = protective_mounts::choose_mounts(&roots, &before, other_names, means.mode);
        // Directories that their owner locked are locked again while the command runs.
        before.unlocked.clear();
        let before = Arc::new(before);
        let concurrent = cache.shared.open.open_scan(&beginning, Arc::clone(&before));
        Ok(ProtectedPathScan {
            roots,
            names,
            cache,
            means,
            bounds,
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

    /// Scans again and reverts changes to protected paths; blocks as well.
    ///
    /// No process of the command may be alive any more. The result is in the order of the paths:
    /// first new or changed files, then missing ones. If a scan is dropped without this call, new
    /// files stay in place.
    #[must_use]
    pub fn reconcile(&self) -> Vec<RevertedChange> {
        let undone = reconcile::reconcile(self);
        self.erase_recovery_entry();
        undone
    }

    /// Saves the data that another process needs to reconcile this scan, in case this one is
    /// killed.
    pub(crate) fn save_recovery_entry(
        &mut self,
        write: impl FnOnce(&[u8]) -> io::Result<RecoveryEntry>,
    ) -> io::Result<()> {
        self.erase_recovery_entry();
        // If nothing is writable, no changes are possible.
        self.recovery_entry =
            if self.roots.is_empty() { None } else { Some(write(&self.encode()?)?) };
        Ok(())
    }

    /// Removes the saved data: no other process needs to reconcile this scan.
    pub(crate) fn erase_recovery_entry(&self) {
        if let Some(note) = &self.recovery_entry {
            note.erase();
        }
    }

    fn scope(&self) -> ScanScope<'_> {
        ScanScope {
            roots: &self.roots,
            names: &self.names,
            cache: &self.cache,
            bounds: self.bounds,
        }
    }
}

/// Opens the roots that are not below another one.
fn open_roots(paths: &[PathBuf]) -> Result<Vec<ScanRoot>, ScanError> {
    let mut sorted: Vec<&PathBuf> = paths.iter().collect();
    sorted.sort();
    let mut roots: Vec<ScanRoot> = Vec::new();
    for path in sorted {
        if roots.iter().any(|root| path.starts_with(&root.path)) {
            continue;
        }
        let failed = |source| ScanError::Unreadable { path: path.clone(), source };
        let directory = File::open(path).map_err(failed)?;
        if !directory.metadata().map_err(failed)?.is_dir() {
            return Err(failed(io::ErrorKind::NotADirectory.into()));
        }
        roots.push(ScanRoot { path: path.clone(), directory: OwnedFd::from(directory) });
    }
    Ok(roots)
}
