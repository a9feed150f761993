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

/// How long looks may wait until they outlast a loss of power, in milliseconds.
pub(crate) const SNAPSHOT_SYNC_MS: u64 = 1_000;

/// Returns where the store of a root is, in the directory of all stores.
pub(super) fn store_directory(directory: &Path, root: &str) -> PathBuf {
    directory.join(sha256_hex(root.as_bytes()))
}

/// Opens a store that looks at no hidden place, and makes its directory and those above it for their owner alone if they
/// are not there.
fn open_store(directory: &Path, hidden: &[PathBuf]) -> Result<SnapshotStore, SnapshotStoreError> {
    let mut builder = DirBuilder::new();
    // If the directory cannot be made, opening the store reports the error.
    let _ = builder.recursive(true).mode(0o700).create(directory);
    Ok(SnapshotStore::open(directory)?.with_hidden(hidden.to_vec()))
}

/// The part of a root that a call may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SnapshotScope {
    /// These paths beneath it, each with what is beneath them.
    Paths(Vec<PathBuf>),
    /// These paths alone.
    Exactly(Vec<PathBuf>),
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
    pub(super) tree: TreeId,
    _hold: SharedStoreLock,
}

/// A root, and its store.
pub(super) struct SnapshotRoot {
    root: Root,
    directory: PathBuf,
    options: RecordOptions,
    hidden: Vec<PathBuf>,
    store: OnceLock<SnapshotStore>,
    /// The number of full snapshots that were begun.
    begun_count: AtomicU64,
    /// The last full snapshot. Taking a snapshot holds the lock, even after its callers gave up, so that slow snapshots
    /// do not pile up.
    full: Arc<tokio::sync::Mutex<FullSnapshots>>,
    /// The reason why no further full snapshots are taken.
    given_up: OnceLock<String>,
    is_sync_due: AtomicBool,
}

/// The full snapshots of this process.
#[derive(Default)]
struct FullSnapshots {
    last: Option<NumberedSnapshot>,
    /// Makes a snapshot cost only what changed since the last one.
    tracker: RecordTracker,
}

/// A full snapshot that is complete.
struct NumberedSnapshot {
    number: u64,
    outcome: Result<TreeId, String>,
}

impl SnapshotRoot {
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

    /// Returns the place as it begins, which never looks at these absolute paths.
    pub(super) fn hiding(&self, hidden: &[PathBuf]) -> Self {
        let Self { root, directory, options, .. } = self;
        Self {
            hidden: hidden.to_vec(),
            directory: directory.clone(),
            ..Self::new(root, directory, options)
        }
    }

    pub(super) fn root(&self) -> &Path {
        self.root.path()
    }

    /// Records what the root looks like, as far as the reach goes. `is_followed` tells whether the kernel reports every
    /// change since the last full snapshot.
    pub(super) async fn take_snapshot(
        self: &Arc<Self>,
        reach: &SnapshotScope,
        is_followed: bool,
    ) -> Result<RootSnapshot, String> {
        let look = match reach {
            SnapshotScope::Everything => self.snapshot_everything(is_followed).await,
            SnapshotScope::Paths(paths) => {
                let paths = paths.clone();
                self.snapshot_paths(move |place| place.record(ChangeScope::Only { paths: &paths }))
                    .await
            }
            SnapshotScope::Exactly(paths) => {
                let paths = paths.clone();
                self.snapshot_paths(move |place| {
                    place.record(ChangeScope::Exactly { paths: &paths })
                })
                .await
            }
        };
        self.sync_soon();
        look
    }

    async fn snapshot_paths(
        self: &Arc<Self>,
        record: impl FnOnce(&SnapshotRoot) -> Result<TreeId, RecordError> + Send + 'static,
    ) -> Result<RootSnapshot, String> {
        let place = Arc::clone(self);
        let look = run_blocking(move || {
            let hold = place.hold()?;
            let tree = record(&place).map_err(|err| err.to_string())?;
            Ok(RootSnapshot { tree, _hold: hold })
        });
        look.await
    }

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
        // A look that was begun after this one was asked for has seen what this one would see.
        if let Some(shared) = full.last.as_ref().filter(|last| last.number > asked) {
            return shared.outcome.clone().map(|tree| RootSnapshot { tree, _hold: hold });
        }
        let number = self.begun_count.fetch_add(1, Ordering::SeqCst) + 1;
        let place = Arc::clone(self);
        let outcome = run_blocking(move || {
            if !is_followed {
                full.tracker = RecordTracker::default();
            }
            let outcome = place.record_everything(&mut full.tracker);
            full.last = Some(NumberedSnapshot { number, outcome: outcome.clone() });
            outcome
        });
        outcome.await.map(|tree| RootSnapshot { tree, _hold: hold })
    }

    fn record_everything(&self, tracker: &mut RecordTracker) -> Result<TreeId, String> {
        let recorded = self
            .store()
            .map_err(RecordError::from)
            .and_then(|store| store.record_tracked(&self.root, &self.options, tracker));
        recorded.map(|report| report.tree).map_err(|err| {
            if let RecordError::TooMany { .. } = err {
                // Finding that out again for every command would cost more than it is worth.
                self.given_up.get_or_init(|| err.to_string());
            }
            err.to_string()
        })
    }

    fn record(&self, changed: ChangeScope<'_>) -> Result<TreeId, RecordError> {
        Ok(self.store()?.record(&self.root, &self.options, changed)?.tree)
    }

    fn hold(&self) -> Result<SharedStoreLock, String> {
        self.store().and_then(SnapshotStore::lock_shared).map_err(|err| err.to_string())
    }

    fn store(&self) -> Result<&SnapshotStore, SnapshotStoreError> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let store = open_store(&self.directory, &self.hidden)?;
        Ok(self.store.get_or_init(|| store))
    }

    /// Schedules a sync of the snapshots to disk, without waiting for it.
    fn sync_soon(self: &Arc<Self>) {
        if self.is_sync_due.swap(true, Ordering::SeqCst) {
            return;
        }
        let place = Arc::clone(self);
        // This task is not awaited. If the process ends before, `finish` does its work, or the system does.
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(SNAPSHOT_SYNC_MS)).await;
            place.sync().await;
        });
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

/// Runs what blocks on a thread for that.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|err| Err(err.to_string()))
}
