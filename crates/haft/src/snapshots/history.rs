//! Finds recorded snapshots by call or run, also those of another process, and removes snapshots that belong to no call
//! any more.

mod sessions;

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::{CallAddress, Effect, RunId};
use haft_journal::{
    CallOrder, CallQuery, CallRow, CallStatus, Journal, JournalError, RunQuery, SnapshotNote,
};
use haft_sandbox::{Root, RootError};
use haft_snapshot::{
    ChangeScope, RecordDurability, RecordError, RecordOptions, SnapshotStore, SnapshotStoreError,
    TreeId,
};
use serde::Serialize;
use serde_json::Value;

use super::changes::RootChanges;
use super::root::{run_blocking, store_directory};
use super::workspace::is_repository;

/// The calls whose changes are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallSelection {
    /// One call.
    Call(CallAddress),
    /// All later calls of a run, and the later calls of its subagents.
    After(CallAddress),
    /// All calls of a run. If the run is an agent's session, the calls of its subagents are included.
    Run(RunId),
}

impl CallSelection {
    /// Returns the run that they belong to.
    pub fn run(&self) -> &RunId {
        match self {
            CallSelection::Call(call) | CallSelection::After(call) => &call.scope.run,
            CallSelection::Run(run) => run,
        }
    }
}

/// Says why haft cannot show the changes of calls.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotHistoryError {
    /// There is no such run.
    #[error("there is no run {0} in the journal")]
    UnknownRun(RunId),
    /// There is no such call.
    #[error("there is no call {0} in the journal")]
    UnknownCall(CallAddress),
    /// Nothing was recorded around the call.
    #[error("nothing was recorded of what call {call} changed: {why}")]
    NotRecorded {
        /// The call.
        call: CallAddress,
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
        /// The error.
        source: RootError,
    },
    /// The root is another directory than the one that was recorded.
    #[error(
        "root {} is now {}, reached by a link: move it back, because what was recorded is about this place",
        .root.display(), .now.display()
    )]
    Moved {
        /// The root.
        root: PathBuf,
        /// Where it leads to.
        now: PathBuf,
    },
    /// There is no store for the root.
    #[error("the snapshots of root {} cannot be used: {why}", .root.display())]
    NoStore {
        /// The root.
        root: PathBuf,
        /// Why.
        why: String,
    },
    /// A snapshot has a name that none can have.
    #[error("the journal names a snapshot of call {call} wrongly: {reason}")]
    Name {
        /// The call.
        call: CallAddress,
        /// The problem with the name.
        reason: String,
    },
    /// The store failed, or lost what is needed.
    #[error(transparent)]
    Store(#[from] SnapshotStoreError),
    /// The current state could not be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The journal failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The work could not run on a blocking thread.
    #[error("{0}")]
    Interrupted(String),
}

/// The results of pruning the stores of all roots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SnapshotsPruned {
    /// How many objects were removed.
    pub removed: u64,
    /// How many bytes they had.
    pub removed_bytes: u64,
    /// How many bytes are left.
    pub kept_bytes: u64,
    /// The number of stores that were skipped because they were in use.
    pub busy: u64,
}

/// The snapshots recorded around effects. Cloning is cheap.
#[derive(Clone)]
pub struct SnapshotHistory {
    /// The directory of all stores.
    directory: PathBuf,
    /// The journal that names the snapshots.
    journal: Arc<dyn Journal>,
    /// The options for recording the current state.
    options: RecordOptions,
    /// Absolute paths that are neither read nor restored.
    hidden: Vec<PathBuf>,
}

impl SnapshotHistory {
    /// Returns the snapshots that the journal names and whose stores are in `directory`. Opens nothing yet.
    pub fn new(directory: &Path, journal: Arc<dyn Journal>, options: &RecordOptions) -> Self {
        Self {
            directory: directory.to_path_buf(),
            journal,
            options: RecordOptions { durability: RecordDurability::Later, ..options.clone() },
            hidden: Vec::new(),
        }
    }

    /// Neither reads nor restores these absolute paths and the paths below them. Front ends pass
    /// [`Sandbox::hidden`](crate::Sandbox::hidden).
    #[must_use]
    pub fn hiding(mut self, places: &[PathBuf]) -> Self {
        self.hidden = places.to_vec();
        self
    }

    /// Returns the runs of the selected calls, the selected run first. Subagents of a session work in separate runs.
    /// The changes of a session include theirs, so their runs are returned too.
    ///
    /// # Errors
    ///
    /// Fails if the journal does not have the run or cannot be read.
    pub async fn runs(&self, of: &CallSelection) -> Result<Vec<RunId>, SnapshotHistoryError> {
        match of {
            CallSelection::Call(call) => Ok(vec![call.scope.run.clone()]),
            CallSelection::After(_) | CallSelection::Run(_) => {
                Ok(sessions::runs_of(&*self.journal, of.run()).await?)
            }
        }
    }

    /// Returns the changes of the calls, for each root with recorded snapshots.
    ///
    /// # Errors
    ///
    /// `NotRecorded` if the journal has no complete record of a single call. Of several calls, those without a record
    /// are left out; see [`unrecorded`](Self::unrecorded). Fails as well if the journal, a root or a store cannot be
    /// read.
    pub async fn changes(
        &self,
        of: &CallSelection,
    ) -> Result<Vec<RootChanges>, SnapshotHistoryError> {
        let notes = self.notes(of).await?;
        if let (CallSelection::Call(call), true) = (of, notes.is_empty()) {
            let row = self.load_row(call).await?;
            return Err(SnapshotHistoryError::NotRecorded {
                call: call.clone(),
                why: missing_record_text(&row),
            });
        }
        let mut roots: Vec<(String, Vec<SnapshotNote>)> = Vec::new();
        for note in notes {
            match roots.iter_mut().find(|(root, _)| *root == note.root) {
                Some((_, notes)) => notes.push(note),
                None => roots.push((note.root.clone(), vec![note])),
            }
        }
        // A repository that is gone as a whole is one of the changes that are not recorded. The rest can be undone.
        roots.retain(|(root, _)| !is_repository(Path::new(root)) || Path::new(root).is_dir());
        let mut changes = Vec::with_capacity(roots.len());
        for (root, notes) in roots {
            let history = self.clone();
            let read = move || Ok(history.read_root_changes(PathBuf::from(root), notes));
            changes.push(run_blocking(read).await.map_err(SnapshotHistoryError::Interrupted)??);
        }
        match of {
            // The call lacks a snapshot in every root, so its changes are unknown. It may have changed files.
            CallSelection::Call(call) if changes.iter().all(|root| root.calls.is_empty()) => {
                let remarks = changes.iter().flat_map(|root| &root.remarks);
                let remarks: Vec<&str> = remarks.map(|(_, remark)| remark.as_str()).collect();
                Err(SnapshotHistoryError::NotRecorded {
                    call: call.clone(),
                    why: remarks.join("; "),
                })
            }
            CallSelection::Call(_) | CallSelection::After(_) | CallSelection::Run(_) => Ok(changes),
        }
    }

    /// Returns the calls without a record that may have changed files, each with the likely reason. For a single
    /// call, this is empty: [`changes`](Self::changes) then returns an error.
    ///
    /// # Errors
    ///
    /// Fails if the journal does not have the run or the call, or cannot be read.
    pub async fn unrecorded(
        &self,
        of: &CallSelection,
    ) -> Result<Vec<(CallAddress, String)>, SnapshotHistoryError> {
        let after = match of {
            CallSelection::Call(_) => return Ok(Vec::new()),
            CallSelection::After(call) => Some(self.load_row(call).await?),
            CallSelection::Run(_) => None,
        };
        let mut unrecorded = Vec::new();
        for run in self.runs(of).await? {
            let notes = self.journal.snapshots(&run, None).await?;
            let noted: HashSet<CallAddress> = notes.into_iter().map(|note| note.call).collect();
            let is_meant = |row: &&CallRow| {
                let may_have_changed = row.status != CallStatus::Refused
                    && row.effect != Effect::Read
                    && changes_files(row);
                may_have_changed
                    && !noted.contains(&row.id())
                    && after.as_ref().is_none_or(|after| is_later(row, after))
            };
            let mut query = CallQuery { order: CallOrder::Change, ..CallQuery::of_run(run) };
            loop {
                let rows = self.journal.calls(query.clone()).await?;
                let Some(last) = rows.last() else { break };
                query.after_change = Some(last.change);
                let found = rows.iter().filter(is_meant);
                unrecorded.extend(found.map(|row| (row.id(), missing_record_text(row))));
            }
        }
        Ok(unrecorded)
    }

    /// Removes snapshots that belong to no call of the journal any more. Stores in use are skipped until the next
    /// time.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be read, or if a store cannot be read or written. Stores that were pruned before
    /// stay pruned.
    pub async fn prune(&self) -> Result<SnapshotsPruned, SnapshotHistoryError> {
        let mut pruned = SnapshotsPruned::default();
        let directory = self.directory.clone();
        let alone = run_blocking(move || Ok(lock_all(&directory))).await;
        let (stores, busy) = alone.map_err(SnapshotHistoryError::Interrupted)??;
        pruned.busy = busy;
        // Read after the stores are locked, when no process can add snapshots any more.
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
            let Some(last) = runs.into_iter().next_back() else { break };
            query.before = Some(last.id);
        }
        for (path, store) in stores {
            let keep = needed.remove(&path).unwrap_or_default();
            let finished = run_blocking(move || Ok(store.prune_unneeded(keep))).await;
            let finished = finished.map_err(SnapshotHistoryError::Interrupted)??;
            pruned.removed += finished.removed;
            pruned.removed_bytes += finished.removed_bytes;
            pruned.kept_bytes += finished.kept_bytes;
        }
        Ok(pruned)
    }

    /// Returns the notes about the selected calls, in their order. Fails if the run or the call does not exist.
    async fn notes(&self, of: &CallSelection) -> Result<Vec<SnapshotNote>, SnapshotHistoryError> {
        match of {
            CallSelection::Call(call) => {
                Ok(self.journal.snapshots(&call.scope.run, Some(call)).await?)
            }
            CallSelection::Run(run) => {
                let query = RunQuery { run: Some(run.clone()), ..RunQuery::default() };
                if self.journal.runs(query).await?.is_empty() {
                    return Err(SnapshotHistoryError::UnknownRun(run.clone()));
                }
                let mut of_runs = Vec::new();
                for run in self.runs(of).await? {
                    of_runs.push(self.journal.snapshots(&run, None).await?);
                }
                Ok(sessions::in_one_order(of_runs))
            }
            CallSelection::After(call) => {
                let row = self.load_row(call).await?;
                let mut notes = self.journal.snapshots(&call.scope.run, None).await?;
                let mut of_runs = vec![match notes.iter().rposition(|note| note.call == *call) {
                    Some(last) => notes.split_off(last + 1),
                    None => self.later(notes, &row).await?,
                }];
                for run in self.runs(of).await?.iter().skip(1) {
                    let mut notes = self.journal.snapshots(run, None).await?;
                    notes.retain_mut(|note| sessions::keep_later(note, &row));
                    of_runs.push(notes);
                }
                Ok(sessions::in_one_order(of_runs))
            }
        }
    }

    /// Returns the notes about calls that came after a call without a note.
    async fn later(
        &self,
        notes: Vec<SnapshotNote>,
        than: &CallRow,
    ) -> Result<Vec<SnapshotNote>, SnapshotHistoryError> {
        let mut later = Vec::new();
        for note in notes {
            // Mostly all calls of a run are of one attempt, whose numbers say enough.
            let is_later = if note.call.scope == than.scope {
                note.call.seq > than.seq
            } else {
                came_later(&self.load_row(&note.call).await?, than)
            };
            if is_later {
                later.push(note);
            }
        }
        Ok(later)
    }

    /// Returns the row of a call. Fails if the journal has no such call.
    async fn load_row(&self, call: &CallAddress) -> Result<CallRow, SnapshotHistoryError> {
        let mut rows = self.journal.calls(CallQuery::of_call(call.clone())).await?;
        rows.pop().ok_or_else(|| SnapshotHistoryError::UnknownCall(call.clone()))
    }

    /// Composes the changes of one root from its notes.
    fn read_root_changes(
        &self,
        root: PathBuf,
        notes: Vec<SnapshotNote>,
    ) -> Result<RootChanges, SnapshotHistoryError> {
        let directory = store_directory(&self.directory, &root.to_string_lossy());
        if let Err(why) = check_store(&directory, &notes) {
            return Err(SnapshotHistoryError::NoStore { root, why });
        }
        let opened = Root::open(&root)
            .map_err(|source| SnapshotHistoryError::Root { root: root.clone(), source })?;
        if opened.path() != root {
            return Err(SnapshotHistoryError::Moved { root, now: opened.path().to_path_buf() });
        }
        let store = SnapshotStore::open(&directory)?.with_hidden(self.hidden.iter().cloned());
        let (mut calls, mut remarks, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
        let mut repositories = Vec::new();
        let mut ends_now = false;
        let last = notes.len().saturating_sub(1);
        for (index, note) in notes.into_iter().enumerate() {
            let (before, after) = (tree(&note, &note.before)?, tree(&note, &note.after)?);
            let after = match (before, after) {
                (Some(_), None) if index == last => {
                    ends_now = true;
                    Some(store.record(&opened, &self.options, ChangeScope::Anything)?.tree)
                }
                (_, after) => after,
            };
            if let (Some(before), Some(after)) = (before, after) {
                pairs.push([before, after]);
                calls.push(note.call.clone());
            }
            let call = &note.call;
            repositories.extend(note.repositories.into_iter().map(|it| (call.clone(), it)));
            remarks.extend(note.note.map(|text| (note.call, text)));
        }
        let composed = store.compose(&pairs)?;
        Ok(RootChanges { calls, remarks, repositories, ends_now, root: opened, store, composed })
    }
}

/// Returns why the directory of a store cannot be used, if it cannot.
fn check_store(directory: &Path, notes: &[SnapshotNote]) -> Result<(), String> {
    let why = match std::fs::metadata(directory) {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => "it is not a directory".to_owned(),
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => {
            let is_recorded = |note: &SnapshotNote| note.before.is_some() || note.after.is_some();
            let failure = notes.iter().find_map(|note| note.note.clone());
            return Err(match failure.filter(|_| !notes.iter().any(is_recorded)) {
                Some(failure) => format!("none was made when the calls were made: {failure}"),
                None => format!(
                    "{} does not exist: it was removed, or it is on the machine on which the calls were made",
                    directory.display()
                ),
            });
        }
        Err(err) => err.to_string(),
    };
    Err(format!("{}: {why}", directory.display()))
}

/// Exclusively locked stores, by their directories.
type LockedSnapshotStores = BTreeMap<PathBuf, haft_snapshot::ExclusiveStore>;

/// Locks all stores that are not in use, and counts the others.
fn lock_all(directory: &Path) -> Result<(LockedSnapshotStores, u64), SnapshotStoreError> {
    let (mut locked, mut busy) = (BTreeMap::new(), 0);
    // Where there is no directory yet, there is nothing to prune.
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        match SnapshotStore::open(&path).and_then(SnapshotStore::into_exclusive) {
            Ok(store) => {
                locked.insert(path, store);
            }
            Err(SnapshotStoreError::Busy) => busy += 1,
            Err(err) => return Err(err),
        }
    }
    Ok((locked, busy))
}

/// Parses the name of a tree, if the note has one.
fn tree(
    note: &SnapshotNote,
    name: &Option<String>,
) -> Result<Option<TreeId>, SnapshotHistoryError> {
    let parsed = name.as_deref().map(str::parse::<TreeId>).transpose();
    parsed.map_err(|err| SnapshotHistoryError::Name {
        call: note.call.clone(),
        reason: err.to_string(),
    })
}

/// Tells whether a call of a run, or of a session that it began, came after a call of it.
fn is_later(call: &CallRow, than: &CallRow) -> bool {
    if call.scope.run != than.scope.run {
        return sessions::ended_later(call, than);
    }
    if call.scope == than.scope { call.seq > than.seq } else { came_later(call, than) }
}

/// Returns whether a call of a run came after a call of another attempt, by the order of the journal. Clocks can be set
/// back, and two calls can have the same time.
fn came_later(call: &CallRow, than: &CallRow) -> bool {
    let is_settled = |row: &CallRow| row.settled_by.is_some();
    match call.fencing_token.cmp(&than.fencing_token) {
        // No two processes have a run at the same time.
        Ordering::Less => false,
        Ordering::Greater => true,
        // Settling a call later gave it another place in the order.
        Ordering::Equal if is_settled(call) || is_settled(than) => {
            call.started_at_ms > than.started_at_ms
        }
        Ordering::Equal => call.change > than.change,
    }
}

/// Tells whether a call was to write files or to run a command.
fn changes_files(row: &CallRow) -> bool {
    // Accesses that cannot be read say nothing: the row was written by another hand.
    let accesses: Vec<Value> = serde_json::from_str(&row.accesses).unwrap_or_default();
    accesses.iter().any(|access| {
        let capability = access.get("capability").and_then(Value::as_str);
        matches!(capability, Some("fs.write" | "shell.run"))
    })
}

/// Returns the likely reason why a call has no snapshots, from its row.
fn missing_record_text(row: &CallRow) -> String {
    let why = match row.status {
        CallStatus::Refused => "it was not executed",
        CallStatus::Intended => "it is not over",
        CallStatus::Unknown | CallStatus::Succeeded | CallStatus::Failed
            if row.effect == Effect::Read =>
        {
            "it only read"
        }
        CallStatus::Unknown | CallStatus::Succeeded | CallStatus::Failed if changes_files(row) => {
            "snapshots were off, or haft died before it could record what it did"
        }
        CallStatus::Unknown | CallStatus::Succeeded | CallStatus::Failed => {
            "it was to change no files"
        }
    };
    why.to_owned()
}

#[cfg(test)]
mod tests;
