//! What was recorded around effects, found again by call or run, also by another process than the one that made the call;
//! and the removal of what belongs to no call any more.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::{CallId, Effect, RunId};
use haft_journal::{CallQuery, CallRow, Journal, JournalError, RunQuery, SnapshotNote, Status};
use haft_sandbox::{Root, RootError};
use haft_snapshot::{Changed, Lasting, Options, RecordError, Store, StoreError, TreeId};
use serde::Serialize;

use super::changes::RootChanges;
use super::place::{blocking, store_directory};

/// The calls whose changes are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// One call.
    Call(CallId),
    /// All calls of a run that came after this one.
    After(CallId),
    /// All calls of a run.
    Run(RunId),
}

impl Selection {
    fn run(&self) -> &RunId {
        match self {
            Selection::Call(call) | Selection::After(call) => &call.scope.run,
            Selection::Run(run) => run,
        }
    }
}

/// Says why what calls changed cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// There is no such run.
    #[error("no run is called {0}: expected one that haft runs list shows")]
    UnknownRun(RunId),
    /// There is no such call.
    #[error("there is no call {0}: expected one that haft runs show shows")]
    UnknownCall(CallId),
    /// Nothing was recorded around the call.
    #[error("nothing was recorded of what call {call} changed: {why}")]
    NotRecorded {
        /// The call.
        call: CallId,
        /// Why, as far as it is known.
        why: String,
    },
    /// The root cannot be used.
    #[error(
        "root {} cannot be used: {source}; if it was moved, move it back, because what was recorded is about this place",
        .root.display()
    )]
    Root {
        /// The root.
        root: PathBuf,
        /// What is wrong with it.
        source: RootError,
    },
    /// There is no store for the root.
    #[error("the snapshots of root {} are not here: they are where the calls were made", .0.display())]
    NoStore(PathBuf),
    /// A snapshot has a name that none can have.
    #[error("the journal names a snapshot of call {call} wrongly: {reason}")]
    Name {
        /// The call.
        call: CallId,
        /// What is wrong with the name.
        reason: String,
    },
    /// The store failed, or lost what is needed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is there now could not be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The journal failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The work could not be done on a thread of its own.
    #[error("{0}")]
    Interrupted(String),
}

/// What pruning did to the stores of all roots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SnapshotsPruned {
    /// How many objects were removed.
    pub removed: u64,
    /// How many bytes they had.
    pub removed_bytes: u64,
    /// How many bytes are left.
    pub kept_bytes: u64,
    /// How many stores were passed over because somebody was using them.
    pub busy: u64,
}

/// What was recorded around effects. Cloning is cheap.
#[derive(Clone)]
pub struct SnapshotHistory {
    directory: PathBuf,
    journal: Arc<dyn Journal>,
    options: Options,
}

impl SnapshotHistory {
    /// Returns what is in the stores beneath `directory`, as the journal knows it.
    pub fn new(directory: &Path, journal: Arc<dyn Journal>, options: &Options) -> Self {
        Self {
            directory: directory.to_path_buf(),
            journal,
            options: Options { lasting: Lasting::Later, ..options.clone() },
        }
    }

    /// Returns what the calls changed, for each root of which something was recorded.
    pub async fn changes(&self, of: &Selection) -> Result<Vec<RootChanges>, HistoryError> {
        let notes = self.notes(of).await?;
        if let (Selection::Call(call), true) = (of, notes.is_empty()) {
            let row = self.row(call).await?;
            return Err(HistoryError::NotRecorded { call: call.clone(), why: why_nothing(&row) });
        }
        let mut roots: Vec<(String, Vec<SnapshotNote>)> = Vec::new();
        for note in notes {
            match roots.iter_mut().find(|(root, _)| *root == note.root) {
                Some((_, notes)) => notes.push(note),
                None => roots.push((note.root.clone(), vec![note])),
            }
        }
        let mut changes = Vec::with_capacity(roots.len());
        for (root, notes) in roots {
            let history = self.clone();
            let read = move || Ok(history.read(PathBuf::from(root), notes));
            changes.push(blocking(read).await.map_err(HistoryError::Interrupted)??);
        }
        Ok(changes)
    }

    /// Removes what belongs to no call of the journal any more. What somebody uses at the moment is left for another time.
    pub async fn prune(&self) -> Result<SnapshotsPruned, HistoryError> {
        let mut pruned = SnapshotsPruned::default();
        let directory = self.directory.clone();
        let alone = blocking(move || Ok(lock_all(&directory))).await;
        let (stores, busy) = alone.map_err(HistoryError::Interrupted)??;
        pruned.busy = busy;
        // Looked up when nobody can add to it any more.
        let mut needed = self.needed().await?;
        for (path, store) in stores {
            let keep = needed.remove(&path).unwrap_or_default();
            let finished = blocking(move || Ok(store.finish(keep))).await;
            let finished = finished.map_err(HistoryError::Interrupted)??;
            pruned.removed += finished.removed;
            pruned.removed_bytes += finished.removed_bytes;
            pruned.kept_bytes += finished.kept_bytes;
        }
        Ok(pruned)
    }

    async fn notes(&self, of: &Selection) -> Result<Vec<SnapshotNote>, HistoryError> {
        match of {
            Selection::Call(call) => {
                Ok(self.journal.snapshots(&call.scope.run, Some(call)).await?)
            }
            Selection::Run(run) => {
                let query = RunQuery { run: Some(run.clone()), ..RunQuery::default() };
                if self.journal.runs(query).await?.is_empty() {
                    return Err(HistoryError::UnknownRun(run.clone()));
                }
                Ok(self.journal.snapshots(run, None).await?)
            }
            Selection::After(call) => {
                let row = self.row(call).await?;
                let mut notes = self.journal.snapshots(of.run(), None).await?;
                let last = notes.iter().rposition(|note| note.call == *call);
                // A call of which nothing was recorded is placed among the others by the time.
                let since_ms = row.finished_at_ms.unwrap_or(row.started_at_ms);
                let is_later = |note: &SnapshotNote| note.taken_at_ms >= since_ms;
                let first = match last {
                    Some(last) => last + 1,
                    None => notes.iter().position(is_later).unwrap_or(notes.len()),
                };
                Ok(notes.split_off(first))
            }
        }
    }

    async fn row(&self, call: &CallId) -> Result<CallRow, HistoryError> {
        let mut rows = self.journal.calls(CallQuery::of_call(call.clone())).await?;
        rows.pop().ok_or_else(|| HistoryError::UnknownCall(call.clone()))
    }

    /// Puts what was noted of one root together.
    fn read(&self, root: PathBuf, notes: Vec<SnapshotNote>) -> Result<RootChanges, HistoryError> {
        let directory = store_directory(&self.directory, &root.to_string_lossy());
        if !directory.is_dir() {
            return Err(HistoryError::NoStore(root));
        }
        let opened = Root::open(&root).map_err(|source| HistoryError::Root { root, source })?;
        let store = Store::open(&directory)?;
        let (mut calls, mut remarks, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
        let mut ends_now = false;
        let last = notes.len().saturating_sub(1);
        for (index, note) in notes.into_iter().enumerate() {
            let (before, after) = (tree(&note, &note.before)?, tree(&note, &note.after)?);
            let after = match (before, after) {
                (Some(_), None) if index == last => {
                    ends_now = true;
                    Some(store.record(&opened, &self.options, Changed::Anything)?.tree)
                }
                (_, after) => after,
            };
            if let (Some(before), Some(after)) = (before, after) {
                pairs.push([before, after]);
                calls.push(note.call.clone());
            }
            remarks.extend(note.note.map(|text| (note.call, text)));
        }
        let composed = store.compose(&pairs)?;
        Ok(RootChanges { calls, remarks, ends_now, root: opened, store, composed })
    }

    /// Returns which trees the journal knows of, by the directory of the store that has them.
    async fn needed(&self) -> Result<HashMap<PathBuf, Vec<TreeId>>, HistoryError> {
        let mut needed: HashMap<PathBuf, Vec<TreeId>> = HashMap::new();
        let mut query = RunQuery::default();
        loop {
            let runs = self.journal.runs(query.clone()).await?;
            for run in &runs {
                for note in self.journal.snapshots(&run.id, None).await? {
                    let trees = needed.entry(store_directory(&self.directory, &note.root));
                    let trees = trees.or_default();
                    trees.extend(tree(&note, &note.before)?);
                    trees.extend(tree(&note, &note.after)?);
                }
            }
            let Some(last) = runs.into_iter().next_back() else { return Ok(needed) };
            query.before = Some(last.id);
        }
    }
}

/// Stores that nobody else can use, by their directories.
type LockedStores = BTreeMap<PathBuf, haft_snapshot::Pruning>;

/// Takes all stores that nobody is using, and counts the others.
fn lock_all(directory: &Path) -> Result<(LockedStores, u64), StoreError> {
    let (mut locked, mut busy) = (BTreeMap::new(), 0);
    // Where there is no directory yet, there is nothing to prune.
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        match Store::open(&path).and_then(Store::into_pruning) {
            Ok(store) => {
                locked.insert(path, store);
            }
            Err(StoreError::Busy) => busy += 1,
            Err(err) => return Err(err),
        }
    }
    Ok((locked, busy))
}

fn tree(note: &SnapshotNote, name: &Option<String>) -> Result<Option<TreeId>, HistoryError> {
    let parsed = name.as_deref().map(str::parse::<TreeId>).transpose();
    parsed.map_err(|err| HistoryError::Name { call: note.call.clone(), reason: err.to_string() })
}

/// Says why nothing was recorded around a call, as far as its row tells.
fn why_nothing(row: &CallRow) -> String {
    let touches =
        |capability: &str| row.accesses.contains(&format!("\"capability\":\"{capability}\""));
    let why = match row.status {
        Status::Refused => "it was not executed",
        Status::Intended => "it is not over",
        Status::Unknown | Status::Succeeded | Status::Failed if row.effect == Effect::Read => {
            "it only read"
        }
        Status::Unknown | Status::Succeeded | Status::Failed
            if touches("fs.write") || touches("shell.run") =>
        {
            "snapshots were off, or haft died before it could record what it did"
        }
        Status::Unknown | Status::Succeeded | Status::Failed => "it was to change no files",
    };
    why.to_owned()
}
