//! One root as snapshots see it: its store, which opens on first use, and the snapshots of the root. Callers that wait
//! for a full snapshot share one. This module does not know which call takes a snapshot when.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use haft_contract::sha256_hex;
use haft_sandbox::Root;
use haft_snapshot::{
    ChangeScope, RecordDurability, RecordError, RecordOptions, RecordTracker, SharedStoreLock,
    SnapshotStore, SnapshotStoreError, TreeId,
};

use super::repositories::{KnownIndexes, RepositoryStamps, stamp_repositories};

/// How long looks may wait until they outlast a loss of power, in milliseconds.
pub(crate) const SNAPSHOT_SYNC_MS: u64 = 1_000;

/// Returns where the store of a root is, in the directory of all stores.
pub(super) fn store_directory(directory: &Path, root: &str) -> PathBuf {
    directory.join(sha256_hex(root.as_bytes()))
}

/// The part of a root that a call may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SnapshotScope {
    /// These paths beneath it, each with what is beneath them.
    Paths(Vec<PathBuf>),
    /// These paths alone.
    Exactly(Vec<PathBuf>),
    /// All files of the root.
    Everything,
}

impl SnapshotScope {
    /// Tells whether a change within one may show in a look at the other.
    pub(super) fn overlaps(&self, other: &SnapshotScope) -> bool {
        match (self, other) {
            (SnapshotScope::Everything, _) | (_, SnapshotScope::Everything) => true,
            (
                SnapshotScope::Paths(ours) | SnapshotScope::Exactly(ours),
                SnapshotScope::Paths(theirs) | SnapshotScope::Exactly(theirs),
            ) => ours.iter().any(|ours| {
                theirs.iter().any(|theirs| ours.starts_with(theirs) || theirs.starts_with(ours))
            }),
        }
    }
}

/// The recorded state of a root. The store keeps it while this value lives, and later if the journal refers to it.
#[derive(Debug)]
pub(super) struct RootSnapshot {
    /// The recorded state of the files.
    pub(super) tree: TreeId,
    /// The stamps of the repositories, if everything was recorded.
    pub(super) repositories: Arc<RepositoryStamps>,
    /// Keeps other processes from removing the tree.
    _hold: SharedStoreLock,
}

/// A root, and its store.
pub(super) struct SnapshotRoot {
    /// The directory.
    root: Root,
    /// The directory of its store.
    directory: PathBuf,
    /// The bounds and the durability of what is recorded.
    options: RecordOptions,
    /// Absolute paths that are never read.
    hidden: Vec<PathBuf>,
    /// Opened with the first snapshot.
    store: OnceLock<SnapshotStore>,
    /// The number of full snapshots that were begun.
    begun_count: AtomicU64,
    /// The last full snapshot. Taking a snapshot holds the lock, even after its callers gave up, so that slow snapshots
    /// do not pile up.
    full: Arc<tokio::sync::Mutex<FullSnapshots>>,
    /// The reason why no further full snapshots are taken.
    given_up: OnceLock<String>,
    /// Whether snapshots were taken that are not synced to disk yet.
    is_sync_due: AtomicBool,
}

/// The full snapshots of this process.
#[derive(Default)]
struct FullSnapshots {
    /// The last full snapshot, if there was one.
    last: Option<NumberedSnapshot>,
    /// Makes a snapshot cost only what changed since the last one.
    tracker: RecordTracker,
    /// Makes a stamp cost little for an index that did not change.
    indexes: KnownIndexes,
}

/// A full snapshot that is complete.
struct NumberedSnapshot {
    /// The number of the snapshot, in the order of their beginnings.
    number: u64,
    /// The recorded state, or why it could not be recorded.
    outcome: Result<(TreeId, Arc<RepositoryStamps>), String>,
}

impl SnapshotRoot {
    /// Returns a root without snapshots. Nothing is opened yet.
    pub(super) fn new(root: &Root, directory: &Path, options: &RecordOptions) -> Self {
        Self {
            root: root.clone(),
            directory: store_directory(directory, &root.path().to_string_lossy()),
            // Syncing while a call waits would cost most of what its snapshots cost.
            options: RecordOptions { durability: RecordDurability::Later, ..options.clone() },
            hidden: Vec::new(),
            store: OnceLock::new(),
            begun_count: AtomicU64::new(0),
            full: Arc::default(),
            given_up: OnceLock::new(),
            is_sync_due: AtomicBool::new(false),
        }
    }

    /// Returns the root without snapshots yet, which never reads these absolute paths.
    pub(super) fn hiding(&self, hidden: &[PathBuf]) -> Self {
        let Self { root, directory, options, .. } = self;
        Self {
            hidden: hidden.to_vec(),
            directory: directory.clone(),
            ..Self::new(root, directory, options)
        }
    }

    /// Returns the canonical path of the root.
    pub(super) fn root(&self) -> &Path {
        self.root.path()
    }

    /// Records the state of the root within the scope. `is_followed` tells whether the kernel reports every change since
    /// the last full snapshot.
    pub(super) async fn take_snapshot(
        self: &Arc<Self>,
        reach: &SnapshotScope,
        is_followed: bool,
    ) -> Result<RootSnapshot, String> {
        let look = match reach {
            SnapshotScope::Everything => self.snapshot_everything(is_followed).await,
            SnapshotScope::Paths(_) | SnapshotScope::Exactly(_) => {
                let (place, reach) = (Arc::clone(self), reach.clone());
                let look = run_blocking(move || {
                    let hold = place.hold()?;
                    let changed = match &reach {
                        SnapshotScope::Everything => ChangeScope::Anything,
                        SnapshotScope::Paths(paths) => ChangeScope::Only { paths },
                        SnapshotScope::Exactly(paths) => ChangeScope::Exactly { paths },
                    };
                    let store = place.store().map_err(|err| err.to_string())?;
                    let report = store.record(&place.root, &place.options, changed);
                    let tree = report.map_err(|err| err.to_string())?.tree;
                    Ok(RootSnapshot { tree, repositories: Arc::default(), _hold: hold })
                });
                look.await
            }
        };
        if !self.is_sync_due.swap(true, Ordering::SeqCst) {
            let place = Arc::clone(self);
            // This task is not awaited. If the process ends before, `finish` does its work, or the system does.
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(SNAPSHOT_SYNC_MS)).await;
                place.sync().await;
            });
        }
        look
    }

    /// Takes a full snapshot, or shares one that began after this call.
    async fn snapshot_everything(
        self: &Arc<Self>,
        is_followed: bool,
    ) -> Result<RootSnapshot, String> {
        if let Some(why) = self.given_up.get() {
            return Err(why.clone());
        }
        let place = Arc::clone(self);
        let hold = run_blocking(move || place.hold()).await?;
        let asked = self.begun_count.load(Ordering::SeqCst);
        let mut full = Arc::clone(&self.full).lock_owned().await;
        // A snapshot that began after this request shows the same state as a new one.
        if let Some(shared) = full.last.as_ref().filter(|last| last.number > asked) {
            let shared = shared.outcome.clone();
            return shared.map(|(tree, repositories)| RootSnapshot {
                tree,
                repositories,
                _hold: hold,
            });
        }
        let number = self.begun_count.fetch_add(1, Ordering::SeqCst) + 1;
        let place = Arc::clone(self);
        let outcome = run_blocking(move || {
            if !is_followed {
                full.tracker = RecordTracker::default();
            }
            let recorded = place.store().map_err(RecordError::from).and_then(|store| {
                store.record_tracked(&place.root, &place.options, &mut full.tracker)
            });
            let stamped = recorded.map(|report| {
                let (root, found) = (place.root.path(), &report.repositories);
                let stamps = stamp_repositories(root, found, &mut full.indexes);
                (report.tree, Arc::new(stamps))
            });
            let outcome = stamped.map_err(|err| {
                if let RecordError::TooMany { .. } = err {
                    // Finding that out again for every command would cost more than it is worth.
                    place.given_up.get_or_init(|| err.to_string());
                }
                err.to_string()
            });
            full.last = Some(NumberedSnapshot { number, outcome: outcome.clone() });
            outcome
        });
        let outcome = outcome.await;
        outcome.map(|(tree, repositories)| RootSnapshot { tree, repositories, _hold: hold })
    }

    /// Keeps the trees of the store from being removed.
    fn hold(&self) -> Result<SharedStoreLock, String> {
        self.store().and_then(SnapshotStore::lock_shared).map_err(|err| err.to_string())
    }

    /// Returns the store, and opens it with the first call.
    fn store(&self) -> Result<&SnapshotStore, SnapshotStoreError> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        // The directories are for their owner alone. If they cannot be made, opening the store reports the error.
        let _ = DirBuilder::new().recursive(true).mode(0o700).create(&self.directory);
        let store = SnapshotStore::open(&self.directory)?.with_hidden(self.hidden.clone());
        Ok(self.store.get_or_init(|| store))
    }

    /// Syncs the snapshots to disk, so that they survive a loss of power.
    pub(super) async fn sync(self: &Arc<Self>) {
        if !self.is_sync_due.swap(false, Ordering::SeqCst) {
            return;
        }
        let place = Arc::clone(self);
        let synced = run_blocking(move || {
            place.store().and_then(SnapshotStore::sync).map_err(|err| err.to_string())
        });
        if let Err(err) = synced.await {
            tracing::warn!(root = %self.root().display(), err, "snapshots may not outlast a loss of power");
        }
    }
}

/// Runs blocking work on a blocking thread.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|err| Err(err.to_string()))
}
