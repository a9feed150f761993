//! Tracks the commands that ran in the same directories when a scan was taken. A file that such a
//! command created under a protected name appears in the scan, but must not be restored after that
//! command's own reconciliation has removed it. Only commands of one process are known: this one,
//! or one that has died.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::result::{ProtectedEntry, ScanResult, ScanRoot};

/// The open scans of this process.
#[derive(Debug, Default)]
pub(super) struct OpenScans {
    /// Held only for a few comparisons of paths.
    state: Mutex<OpenScansState>,
}

#[derive(Debug, Default)]
struct OpenScansState {
    /// Scans whose commands may run, as long as their tokens live.
    open: Vec<(Weak<()>, Arc<ScanBaseline>)>,
    /// Scans in progress.
    beginning: Vec<Weak<StartingScan>>,
}

/// The state before one command.
#[derive(Debug)]
struct ScanBaseline {
    roots: Vec<PathBuf>,
    before: Arc<ScanResult>,
}

/// A scan in progress.
#[derive(Debug)]
pub(super) struct StartingScan {
    roots: Vec<PathBuf>,
    earlier: Mutex<Vec<Arc<ScanBaseline>>>,
}

/// The baselines of earlier commands in the same directories. Holding this value keeps its own
/// baseline open.
#[derive(Debug, Default)]
pub(super) struct ConcurrentBaselines {
    baselines: Vec<Arc<ScanBaseline>>,
    _token: Arc<()>,
}

impl OpenScans {
    /// Registers a scan. Call it before anything is read.
    pub(super) fn start_scan(&self, roots: &[ScanRoot]) -> Arc<StartingScan> {
        let roots: Vec<PathBuf> = protected_paths(roots);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.open.retain(|(token, _)| token.strong_count() > 0);
        let open = state.open.iter().map(|(_, baseline)| baseline);
        let earlier = open.filter(|it| overlap(&it.roots, &roots)).cloned().collect();
        let beginning = Arc::new(StartingScan { roots, earlier: Mutex::new(earlier) });
        state.beginning.retain(|it| it.strong_count() > 0);
        state.beginning.push(Arc::downgrade(&beginning));
        beginning
    }

    /// Completes a scan. Call it when everything was read, and before the command starts.
    pub(super) fn open_scan(
        &self,
        beginning: &StartingScan,
        before: Arc<ScanResult>,
    ) -> ConcurrentBaselines {
        let baseline = Arc::new(ScanBaseline { roots: beginning.roots.clone(), before });
        let token = Arc::new(());
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // From now on the command may create files that the other scans see.
        for other in state.beginning.iter().filter_map(Weak::upgrade) {
            if !std::ptr::eq(&raw const *other, beginning) && overlap(&other.roots, &baseline.roots)
            {
                let mut earlier = other.earlier.lock().unwrap_or_else(PoisonError::into_inner);
                earlier.push(Arc::clone(&baseline));
            }
        }
        state.open.push((Arc::downgrade(&token), baseline));
        let mut earlier = beginning.earlier.lock().unwrap_or_else(PoisonError::into_inner);
        ConcurrentBaselines { baselines: std::mem::take(&mut *earlier), _token: token }
    }
}

impl ConcurrentBaselines {
    /// Returns the baselines that overlap the roots, of commands of another process.
    pub(super) fn from_entries<'a>(
        older: impl Iterator<Item = (&'a [ScanRoot], &'a Arc<ScanResult>)>,
        roots: &[ScanRoot],
    ) -> ConcurrentBaselines {
        let roots = protected_paths(roots);
        let older = older.map(|(roots, before)| ScanBaseline {
            roots: protected_paths(roots),
            before: Arc::clone(before),
        });
        let baselines = older.filter(|it| overlap(&it.roots, &roots)).map(Arc::new).collect();
        ConcurrentBaselines { baselines, _token: Arc::default() }
    }

    /// Returns whether the entry existed, in the same state, before any of the other commands
    /// began.
    pub(super) fn existed_before_all(&self, entry: &ProtectedEntry) -> bool {
        self.baselines.iter().all(|baseline| match baseline.find(entry) {
            Some(Some(before)) => is_alike(before, entry),
            Some(None) => false,
            None => true,
        })
    }

    /// Returns whether an entry is in the state that it had before one of the other commands, whose
    /// reconciliation has restored it.
    pub(super) fn is_restored_state(&self, entry: &ProtectedEntry) -> bool {
        let mut found = self.baselines.iter().filter_map(|baseline| baseline.find(entry)?);
        found.any(|before| entry.target.is_some() && is_alike(before, entry))
    }
}

impl ScanBaseline {
    /// Returns the earlier entry at the same path, if there was one; `None` if the path was not
    /// scanned.
    fn find(&self, entry: &ProtectedEntry) -> Option<Option<&ProtectedEntry>> {
        self.roots.iter().any(|root| entry.path.starts_with(root)).then(|| {
            let entries = &self.before.entries;
            let found = entries.binary_search_by(|it| it.path.cmp(&entry.path));
            found.ok().and_then(|index| entries.get(index))
        })
    }
}

fn is_alike(one: &ProtectedEntry, other: &ProtectedEntry) -> bool {
    match (&one.target, &other.target) {
        (Some(one), Some(other)) => one == other,
        (None, None) => one.state == other.state,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// Returns the roots in which protected names count.
fn protected_paths(roots: &[ScanRoot]) -> Vec<PathBuf> {
    roots.iter().filter(|root| root.is_protected).map(|root| root.path.clone()).collect()
}

fn overlap(some: &[PathBuf], others: &[PathBuf]) -> bool {
    let is_in = |one: &PathBuf, other: &PathBuf| one.starts_with(other) || other.starts_with(one);
    some.iter().any(|one| others.iter().any(|other| is_in(one, other)))
}
