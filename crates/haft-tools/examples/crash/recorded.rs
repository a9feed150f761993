//! Compares what snapshots recorded with what calls did, by the script: what is offered as recorded is whole and exact however
//! the process died, and undoing it brings back to the byte what was there. Only [`undo`] changes anything, in worlds
//! that have come to their end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use haft::{CallSelection, RootChanges, SnapshotHistory, SnapshotHistoryError};
use haft_contract::sha256_hex;
use haft_journal::{CallRow, CallStatus, Journal, SnapshotNote, SqliteJournal};
use haft_sandbox::Root;
use haft_snapshot::{
    ChangeScope, OverwritePolicy, PathState, RecordOptions, SnapshotStore, TreeId,
};

use crate::Failure;
use crate::counts::Counts;
use crate::heard::Heard;
use crate::script::{Files, Kind, Lane, RunScript, Step};
use crate::world::{World, files_of};

/// The content of each name before and after a change, if it existed.
type Differences = BTreeMap<String, [Option<String>; 2]>;

/// The snapshots of a world, as a process that has not made them finds them.
pub(crate) struct Recorded {
    world: World,
    journal: Arc<dyn Journal>,
    history: SnapshotHistory,
}

/// The findings about them.
pub(crate) struct Findings<'a> {
    pub(crate) counts: &'a mut Counts,
    pub(crate) wrong: &'a mut Vec<String>,
    /// Calls whose records were looked at, and cannot change any more.
    pub(crate) looked_at: &'a mut BTreeSet<String>,
}

impl Recorded {
    pub(crate) fn of(world: &World) -> Result<Self, Failure> {
        let journal: Arc<dyn Journal> = Arc::new(SqliteJournal::open(world.journal())?);
        let options = RecordOptions::default();
        let history = SnapshotHistory::new(&world.snapshots(), Arc::clone(&journal), &options);
        Ok(Self { world: world.clone(), journal, history })
    }

    /// Looks at what was recorded of the calls of a run.
    pub(crate) async fn look(
        &self,
        script: &RunScript,
        rows: &[CallRow],
        heard: (u32, &Heard),
        findings: &mut Findings<'_>,
    ) -> Result<(), Failure> {
        let (number, heard) = heard;
        let executed = heard.of_run(number).filter(|ack| !ack.replayed && ack.code == "OK");
        let executed: BTreeSet<&str> = executed.map(|ack| ack.call.as_str()).collect();
        for (lane, step, row) in changing(script, rows) {
            let call = row.id().to_string();
            if findings.looked_at.contains(&call) {
                continue;
            }
            let is_acknowledged = executed.contains(call.as_str());
            let wrong = match self.history.changes(&CallSelection::Call(row.id())).await {
                Ok(changes) => self.compare((lane, step, row), &changes, is_acknowledged).await?,
                Err(SnapshotHistoryError::NotRecorded { .. }) if !is_acknowledged => {
                    findings.counts.add("snapshots: nothing offered, it had died before");
                    None
                }
                Err(err) => Some(format!("offered or acknowledged, and not to be had: {err}")),
            };
            findings.wrong.extend(wrong.map(|wrong| format!("{wrong}: {row:?}")));
            if !matches!(row.status, CallStatus::Intended | CallStatus::Unknown) {
                findings.counts.add("snapshots: calls compared with what they did");
                findings.looked_at.insert(call);
            }
        }
        Ok(())
    }

    /// Returns what is wrong with the record of a call.
    async fn compare(
        &self,
        (lane, step, row): (&Lane, usize, &CallRow),
        changes: &[RootChanges],
        is_acknowledged: bool,
    ) -> Result<Option<String>, Failure> {
        let notes = self.journal.snapshots(&lane.scope.run, Some(&row.id())).await?;
        let script = step_of(lane, step)?;
        let [changes] = changes else {
            return Ok(Some(format!("{} roots changed", changes.len())));
        };
        if changes.calls.is_empty() {
            let remarks = format!("an acknowledged call has no record but {:?}", changes.remarks);
            return Ok(is_acknowledged.then_some(remarks));
        }
        if script.kind == Kind::Bash {
            return self.compare_trees((lane, step), &notes);
        }
        let found = differences(&self.store(&notes)?, lane, changes)?;
        let expected = expected(lane, step)?;
        let is_exact = found == expected && !changes.ends_now;
        Ok((!is_exact)
            .then(|| format!("recorded as {} instead of {}", short(&found), short(&expected))))
    }

    /// Lays out everything that was recorded around a command, and returns what of it is not as it was.
    fn compare_trees(
        &self,
        (lane, step): (&Lane, usize),
        notes: &[SnapshotNote],
    ) -> Result<Option<String>, Failure> {
        let store = self.store(notes)?;
        let log = std::fs::read_to_string(self.world.workspace().join(&lane.log));
        let log = log.unwrap_or_default();
        for tree in notes.iter().flat_map(|note| note.before.iter().chain(&note.after)) {
            let place = tempfile::tempdir()?;
            let root = Root::open(place.path())?;
            let nothing =
                store.record(&root, &RecordOptions::default(), ChangeScope::Anything)?.tree;
            let tree: TreeId = tree.parse()?;
            store.restore(&root, [nothing, tree], OverwritePolicy::Refuse)?;
            let (files, _) = files_of(&place.path().join(&lane.directory))?;
            let logged = std::fs::read_to_string(place.path().join(&lane.log)).unwrap_or_default();
            if files != lane.files_before(step) || !log.starts_with(&logged) {
                return Ok(Some(format!("{tree} is not what was there: {logged}, {files:?}")));
            }
        }
        Ok(None)
    }

    /// Undoes each change of files of a run that is over, from the last to the first.
    pub(crate) async fn undo(
        &self,
        script: &RunScript,
        rows: &[CallRow],
        findings: &mut Findings<'_>,
    ) -> Result<(), Failure> {
        let mut changing = changing(script, rows);
        changing.reverse();
        for (lane, step, row) in changing {
            if step_of(lane, step)?.kind != Kind::Files || row.status != CallStatus::Succeeded {
                continue;
            }
            let directory = self.world.workspace().join(&lane.directory);
            // The changes in between may have no record, so they are undone by hand.
            lay(&directory, &step_of(lane, step)?.files)?;
            let call = row.id();
            let Ok(changes) = self.history.changes(&CallSelection::Call(call.clone())).await else {
                continue;
            };
            for change in &changes {
                change.undo(OverwritePolicy::Refuse).map_err(|err| format!("{call}: {err}"))?;
            }
            let (found, _) = files_of(&directory)?;
            if found == lane.files_before(step) {
                findings.counts.add("snapshots: calls undone");
            } else {
                findings.wrong.push(format!("undoing {call} left {found:?}"));
            }
        }
        Ok(())
    }

    fn store(&self, notes: &[SnapshotNote]) -> Result<SnapshotStore, Failure> {
        let root = &notes.first().ok_or("a record without a note")?.root;
        Ok(SnapshotStore::open(&self.world.snapshots().join(sha256_hex(root.as_bytes())))?)
    }
}

/// Returns the calls that changed the workspace, each with its step, in the order in which each lane made them.
fn changing<'a>(script: &'a RunScript, rows: &'a [CallRow]) -> Vec<(&'a Lane, usize, &'a CallRow)> {
    let mut changing = Vec::new();
    for lane in &script.lanes {
        for (step, at) in lane.steps.iter().zip(0..) {
            if matches!(step.kind, Kind::Files | Kind::Bash) {
                let key = step.key.to_string();
                let of_step = rows.iter().filter(|row| row.call_key == key);
                changing.extend(of_step.map(|row| (lane, at, row)));
            }
        }
    }
    changing
}

fn step_of(lane: &Lane, step: usize) -> Result<&Step, Failure> {
    lane.steps.get(step).ok_or_else(|| "a call of a step that is not there".into())
}

/// Returns what a step changes, by the script.
fn expected(lane: &Lane, step: usize) -> Result<Differences, Failure> {
    let (before, after) = (lane.files_before(step), &step_of(lane, step)?.files);
    let names = before.keys().chain(after.keys());
    let both =
        |name: &String| (name.clone(), [before.get(name).cloned(), after.get(name).cloned()]);
    Ok(names.map(both).filter(|(_, [before, after])| before != after).collect())
}

/// Returns what was recorded that a call changed.
fn differences(
    store: &SnapshotStore,
    lane: &Lane,
    changes: &RootChanges,
) -> Result<Differences, Failure> {
    let content = |state: &Option<PathState>| match state {
        Some(PathState::File(file)) => {
            let bytes = store.content(file.content, file.size_bytes)?;
            Ok::<_, Failure>(Some(String::from_utf8(bytes)?))
        }
        Some(other) => Ok(Some(format!("{other:?}"))),
        None => Ok(None),
    };
    let mut found = Differences::new();
    for change in changes.changes() {
        let name = change.path.strip_prefix(&lane.directory).unwrap_or(&change.path);
        let both = [content(&change.before)?, content(&change.after)?];
        found.insert(name.to_string_lossy().into_owned(), both);
    }
    Ok(found)
}

/// Makes files what they are said to be.
fn lay(directory: &Path, files: &Files) -> Result<(), Failure> {
    let (found, _) = files_of(directory)?;
    for name in found.keys().filter(|name| !files.contains_key(*name)) {
        std::fs::remove_file(directory.join(name))?;
    }
    for (name, content) in files.iter().filter(|(name, content)| found.get(*name) != Some(content))
    {
        std::fs::write(directory.join(name), content)?;
    }
    Ok(())
}

fn short(differences: &Differences) -> String {
    let head = |content: &Option<String>| {
        content.as_ref().map(|it| format!("{:?}+{}", it.lines().next(), it.len()))
    };
    let line = |(name, [before, after]): (&String, &[Option<String>; 2])| {
        format!("{name}: {:?} -> {:?}", head(before), head(after))
    };
    differences.iter().map(line).collect::<Vec<_>>().join(", ")
}
