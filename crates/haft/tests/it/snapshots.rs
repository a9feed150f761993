//! Tests that changes of calls are recorded, shown and undone, with real calls on a real workspace. Failures of
//! snapshots never affect the calls.

mod late;
mod order;

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use haft::{
    Call, CallSelection, Clock, PendingEffect, RootChanges, SnapshotError, SnapshotHistory,
    SnapshotHistoryError, Snapshots, SystemClock, WorkspaceRoots, WorkspaceSnapshots,
};
use haft_contract::{
    Access, BoxFuture, CallAddress, CommandLine, Cx, Effect, FileChange, Precondition,
    RequirementSet, Tool, ToolError,
};
use haft_faults::JournalMethod;
use haft_journal::{Journal, MemoryJournal, SnapshotNote};
use haft_sandbox::{Launcher, Mechanisms};
use haft_snapshot::{OverwritePolicy, PathChangeKind, RecordOptions, RestoreError};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::background::helper;
use crate::faulty::FaultyJournal;
use crate::stage::{Setting, Stage, Text};

/// A workspace whose effects are recorded.
struct Place {
    stage: Stage,
    directory: Arc<tempfile::TempDir>,
    journal: Arc<dyn Journal>,
    options: RecordOptions,
    hidden: Vec<PathBuf>,
}

/// How calls that meet each other are told to.
type Meeting = Arc<Barrier>;

impl Place {
    async fn new() -> Self {
        Self::with(RecordOptions::default(), Arc::new(MemoryJournal::new())).await
    }

    async fn with(options: RecordOptions, journal: Arc<dyn Journal>) -> Self {
        Self::hiding(&[], options, journal).await
    }

    /// A workspace of which nothing is recorded at these paths.
    async fn hiding(hidden: &[&str], options: RecordOptions, journal: Arc<dyn Journal>) -> Self {
        let directory = Arc::new(tempfile::tempdir().unwrap());
        let root = directory.path().join("root");
        fs::create_dir(&root).unwrap();
        let roots = WorkspaceRoots::open(&root, &[]).unwrap();
        let stores = directory.path().join("stores");
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let hidden: Vec<PathBuf> = hidden.iter().map(|path| root.join(path)).collect();
        let hook = WorkspaceSnapshots::new(&stores, &roots, Arc::clone(&journal), clock, &options)
            .hiding(&hidden)
            .following(Launcher::new(helper()), Mechanisms::ALL);
        let stage = Stage::new(Setting {
            tools: tools(&root, &Arc::new(Barrier::new(2))),
            journal: Arc::clone(&journal),
            directory: Some(Arc::clone(&directory)),
            snapshots: Some(Arc::new(hook)),
            ..Setting::default()
        })
        .await;
        Self { stage, directory, journal, options, hidden }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.directory.path().join("root").join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    async fn call(&self, tool: &str, text: &str) -> CallAddress {
        let envelope = self.stage.call(tool, json!({ "text": text })).await;
        assert!(envelope.code().is_none(), "{envelope:?}");
        let rows = self.stage.rows().await;
        rows.last().unwrap().id()
    }

    fn history(&self) -> SnapshotHistory {
        let stores = self.directory.path().join("stores");
        SnapshotHistory::new(&stores, Arc::clone(&self.journal), &self.options).hiding(&self.hidden)
    }

    /// Whether any file of the stores holds these bytes.
    fn is_stored(&self, bytes: &[u8]) -> bool {
        let mut pending = vec![self.directory.path().join("stores")];
        while let Some(path) = pending.pop() {
            if path.is_dir() {
                pending.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            } else if fs::read(path).unwrap().windows(bytes.len()).any(|found| found == bytes) {
                return true;
            }
        }
        false
    }

    async fn changes(&self, of: &CallSelection) -> RootChanges {
        let mut roots = self.history().changes(of).await.unwrap();
        assert_eq!(roots.len(), 1);
        roots.remove(0)
    }

    async fn undo(&self, of: &CallSelection) -> Result<(), RestoreError> {
        self.changes(of).await.undo(OverwritePolicy::Refuse).map(|_| ())
    }

    async fn notes(&self) -> Vec<SnapshotNote> {
        self.journal.snapshots(self.stage.run.id(), None).await.unwrap()
    }

    fn listing(&self) -> BTreeMap<PathBuf, String> {
        let mut listed = BTreeMap::new();
        let top = self.at("");
        let mut pending = vec![top.clone()];
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let metadata = fs::symlink_metadata(&path).unwrap();
                let mode = metadata.permissions().mode() & 0o7777;
                let text = if metadata.is_dir() {
                    pending.push(path.clone());
                    format!("directory {mode:o}")
                } else if metadata.is_symlink() {
                    format!("link to {:?}", fs::read_link(&path).unwrap())
                } else {
                    format!("file {mode:o} {:?}", fs::read_to_string(&path).unwrap())
                };
                listed.insert(path.strip_prefix(&top).unwrap().to_path_buf(), text);
            }
        }
        listed
    }
}

/// Tools that change files as haft's own do, and one that does as a command would: what its text says, a word a line.
fn tools(root: &Path, meeting: &Meeting) -> Vec<Tool> {
    let (top, meeting) = (root.to_path_buf(), Arc::clone(meeting));
    let command = Tool::new("command")
        .effect(Effect::Once)
        .requires(everything())
        .accesses(|input: &Text| {
            vec![Access::Shell { command: CommandLine::Argv(vec![input.text.clone()]) }]
        })
        .execute(move |input: Text| {
            let (top, meeting) = (top.clone(), Arc::clone(&meeting));
            async move {
                if input.text.starts_with("meet") {
                    meeting.wait().await;
                }
                act(&top, &input.text);
                if input.text.starts_with("meet") {
                    meeting.wait().await;
                }
                Ok::<_, ToolError>("done")
            }
        });
    let save = Tool::new("save")
        .effect(Effect::Once)
        .requires(everything())
        .accesses(|input: &Text| vec![Access::write(path_of(&input.text))])
        .execute_blocking(|input: Text, cx: &Cx| {
            let (path, _) = cx.fs().resolve(path_of(&input.text))?;
            let contents = input.text.clone().into_bytes();
            let precondition = Precondition::Any;
            let change = FileChange::Write { path, contents, mode: None, precondition };
            cx.fs().apply(vec![change])?;
            Ok::<_, ToolError>("saved")
        });
    let order = Tool::new("order")
        .effect(Effect::Once)
        .execute_with(|_: Text, _: Cx| async { Ok::<_, ToolError>("ordered") });
    let look = Tool::new("look").execute(|_: Text| async { Ok::<_, ToolError>("seen") });
    vec![command, save, order, look]
}

fn path_of(text: &str) -> &str {
    text.split(' ').next().unwrap_or_default()
}

fn everything() -> RequirementSet {
    let value = json!({
        "fs": {"read": ["{workspace}/**"], "write": ["{workspace}/**"]},
        "shell": [{"cmd": "*"}],
    });
    serde_json::from_value(value).unwrap()
}

/// Changes every kind of thing in every way.
fn act(root: &Path, text: &str) {
    let at = |path: &str| root.join(path);
    match text {
        "everything" => {
            fs::rename(at("old"), at("renamed")).unwrap();
            fs::remove_dir_all(at("gone")).unwrap();
            fs::set_permissions(at("run.sh"), Permissions::from_mode(0o755)).unwrap();
            symlink("run.sh", at("link")).unwrap();
            fs::create_dir_all(at("new/empty")).unwrap();
            fs::set_permissions(at("new/empty"), Permissions::from_mode(0o700)).unwrap();
            fs::remove_file(at("becomes")).unwrap();
            fs::create_dir(at("becomes")).unwrap();
            fs::write(at("becomes/file"), "x").unwrap();
            fs::write(at(".git/config"), "never recorded").unwrap();
        }
        "meet one" => fs::write(at("one"), "1").unwrap(),
        "meet two" => fs::write(at("two"), "2").unwrap(),
        "nothing" => {}
        other => fs::write(at(path_of(other)), other).unwrap(),
    }
}

fn check_notes(notes: &[SnapshotNote], expect: Expect) {
    let known = |tree: &Option<String>| if tree.is_some() { "known" } else { "unknown" };
    let mut lines: Vec<String> = notes
        .iter()
        .map(|note| {
            let text = note.note.as_deref().unwrap_or("-");
            format!("{} {} {} {text}", note.call, known(&note.before), known(&note.after))
        })
        .collect();
    // Which of two calls at the same time comes first is chance.
    lines.sort();
    expect.assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn what_a_command_changed_is_brought_back_exactly() {
    let place = Place::new().await;
    for path in ["old", "gone/a/b", "gone/c", "run.sh", "becomes", "kept", ".git/config"] {
        place.write(path, path);
    }
    fs::create_dir(place.at("gone/empty")).unwrap();
    let mut before = place.listing();
    let call = place.call("command", "everything").await;
    let after = place.listing();
    let of = CallSelection::Call(call);
    place.undo(&of).await.unwrap();
    // Git's own files are neither recorded nor restored.
    before.insert(PathBuf::from(".git/config"), after[Path::new(".git/config")].clone());
    assert_eq!(place.listing(), before);
    assert_ne!(before, after);
}

#[tokio::test]
async fn a_change_of_files_costs_a_look_at_these_files_alone() {
    let place = Place::new().await;
    place.write("a/file", "old");
    place.write("beside", "x");
    let before = place.listing();
    let call = place.call("save", "a/file new").await;
    let made = place.call("save", "made/of/directories x").await;
    let changes = place.changes(&CallSelection::Call(call.clone())).await;
    let paths: Vec<PathBuf> = changes.changes().into_iter().map(|change| change.path).collect();
    assert_eq!(paths, [PathBuf::from("a/file")]);
    // Later changes of other files do not matter.
    place.write("beside", "changed");
    place.undo(&CallSelection::Call(made)).await.unwrap();
    place.undo(&CallSelection::Call(call)).await.unwrap();
    place.write("beside", "x");
    assert_eq!(place.listing(), before);
}

#[tokio::test]
async fn later_calls_and_runs_are_undone_in_one_step() {
    let place = Place::new().await;
    place.write("kept", "by hand");
    let mut states = vec![place.listing()];
    let mut calls = Vec::new();
    for (tool, text) in [("save", "a 1"), ("command", "a 2"), ("save", "a 3"), ("save", "b/c 4")] {
        calls.push(place.call(tool, text).await);
        states.push(place.listing());
    }
    // Undoing a call in the middle conflicts with later calls.
    let err = place.undo(&CallSelection::Call(calls[0].clone())).await.unwrap_err();
    assert!(matches!(err, RestoreError::Conflicts { .. }), "{err}");
    assert_eq!(place.listing(), states[4]);

    place.undo(&CallSelection::After(calls[1].clone())).await.unwrap();
    assert_eq!(place.listing(), states[2]);
    // Some of it has been undone by now.
    place.undo(&CallSelection::Run(place.stage.run.id().clone())).await.unwrap();
    assert_eq!(place.listing(), states[0]);
}

#[tokio::test]
async fn what_others_changed_is_in_the_way() {
    let place = Place::new().await;
    place.write("a", "first");
    let call = place.call("save", "a 1").await;
    place.write("a", "by hand");
    let of = CallSelection::Call(call);
    let changes = place.changes(&of).await;
    for attempt in
        [changes.rehearse(OverwritePolicy::Refuse), changes.undo(OverwritePolicy::Refuse)]
    {
        let Err(RestoreError::Conflicts { conflicts }) = attempt else { panic!("{attempt:?}") };
        assert_eq!(conflicts[0].to_string(), "a: it changed since");
    }
    let forced = changes.rehearse(OverwritePolicy::Force).unwrap();
    assert_eq!(forced.written, 1);
    assert_eq!(fs::read_to_string(place.at("a")).unwrap(), "by hand");
    changes.undo(OverwritePolicy::Force).unwrap();
    assert_eq!(fs::read_to_string(place.at("a")).unwrap(), "first");
}

#[tokio::test]
async fn what_others_changed_between_two_calls_is_in_the_way_of_both() {
    let place = Place::new().await;
    place.call("save", "a 1").await;
    place.write("a", "by hand");
    place.call("save", "a 2").await;
    let of = CallSelection::Run(place.stage.run.id().clone());
    let Err(RestoreError::Conflicts { conflicts }) = place.undo(&of).await else { panic!() };
    assert_eq!(
        conflicts[0].to_string(),
        "a: something else changed it between the changes that are to be undone"
    );
}

#[tokio::test]
async fn calls_that_run_at_the_same_time_say_so() {
    let place = Place::new().await;
    let (one, two) = tokio::join!(
        place.stage.call("command", json!({"text": "meet one"})),
        place.stage.call("command", json!({"text": "meet two"})),
    );
    assert!(one.code().is_none() && two.code().is_none());
    place.call("command", "nothing").await;
    check_notes(
        &place.notes().await,
        expect![[r#"
            r1/main/0/1/1 known known overlaps with r1/main/0/1/2
            r1/main/0/1/2 known known overlaps with r1/main/0/1/1
            r1/main/0/1/3 known known -"#]],
    );
    // Together they can be undone, whichever of them is taken to have done what.
    place.undo(&CallSelection::Run(place.stage.run.id().clone())).await.unwrap();
    assert!(place.listing().is_empty());
}

#[tokio::test]
async fn nothing_is_recorded_of_what_changes_no_files() {
    let place = Place::new().await;
    let look = place.call("look", "x").await;
    let order = place.call("order", "x").await;
    assert!(place.notes().await.is_empty());
    let mut whys = Vec::new();
    for call in [look, order] {
        let Err(err) = place.history().changes(&CallSelection::Call(call)).await else { panic!() };
        whys.push(err.to_string());
    }
    let missing = CallAddress { seq: 9, ..place.stage.rows().await.remove(0).id() };
    let Err(err) = place.history().changes(&CallSelection::Call(missing)).await else { panic!() };
    whys.push(err.to_string());
    expect![[r#"
        nothing was recorded of what call r1/main/0/1/1 changed: it only read
        nothing was recorded of what call r1/main/0/1/2 changed: it was to change no files
        there is no call r1/main/0/1/9 in the journal"#]]
    .assert_eq(&whys.join("\n"));
}

#[tokio::test]
async fn a_store_that_cannot_be_written_is_noted_and_harmless() {
    let place = Place::new().await;
    fs::write(place.directory.path().join("stores"), "not a directory").unwrap();
    place.call("save", "a 1").await;
    place.call("command", "b 2").await;
    assert_eq!(fs::read_to_string(place.at("a")).unwrap(), "a 1");
    let notes = place.notes().await;
    for note in &notes {
        let text = note.note.as_deref().unwrap();
        assert!(text.starts_with("the state before it is not known: the snapshot store"), "{text}");
    }
    assert_eq!(notes.len(), 2);
}

#[tokio::test]
async fn a_workspace_that_is_too_large_is_left_alone() {
    let options = RecordOptions { files_max: 3, ..RecordOptions::default() };
    let place = Place::with(options, Arc::new(MemoryJournal::new())).await;
    for name in ["1", "2", "3", "4"] {
        place.write(name, name);
    }
    place.call("command", "a 1").await;
    place.call("save", "1 changed").await;
    check_notes(
        &place.notes().await,
        expect![[r#"
            r1/main/0/1/1 unknown unknown the state before it is not known: the workspace has more than 3 files; exclude directories or raise the limit; the state after it is not known: the workspace has more than 3 files; exclude directories or raise the limit
            r1/main/0/1/2 known known -"#]],
    );
}

#[tokio::test]
async fn excluded_and_large_ignored_files_are_left_alone() {
    let options = RecordOptions {
        excluded: vec!["private".to_owned()],
        ignored_bytes_max: 4,
        ..RecordOptions::default()
    };
    let place = Place::with(options, Arc::new(MemoryJournal::new())).await;
    place.write(".gitignore", "*.log\n");
    let small = place.call("command", "x.log").await;
    place.undo(&CallSelection::Call(small)).await.unwrap();
    assert!(place.at("x.log").exists(), "five bytes are more than four");
    let private = place.call("save", "private secret").await;
    let changes = place.changes(&CallSelection::Call(private)).await;
    let kinds: Vec<PathChangeKind> = changes.changes().iter().map(|change| change.kind()).collect();
    assert_eq!(kinds, [PathChangeKind::Added]);
    let undone = changes.undo(OverwritePolicy::Refuse).unwrap();
    assert_eq!(undone.skipped.len(), 1);
    assert_eq!(fs::read_to_string(place.at("private")).unwrap(), "private secret");
}

#[tokio::test]
async fn what_is_hidden_from_calls_is_neither_stored_nor_undone() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let hidden = ["secret", "log/j"];
    let place = Place::hiding(&hidden, RecordOptions::default(), Arc::clone(&journal)).await;
    for path in ["secret/key", "log/j", "log/plain"] {
        place.write(path, &format!("of {path}"));
    }
    let call = place.call("command", "a 1").await;
    assert!(place.is_stored(b"of log/plain"));
    assert!(!place.is_stored(b"of secret/key") && !place.is_stored(b"of log/j"));
    // Without a recorded end, undoing covers everything that changed since.
    let mut note = place.notes().await.remove(0);
    note.after = None;
    journal.note_snapshot(note).await.unwrap();
    for path in ["secret/key", "log/j", "log/plain"] {
        place.write(path, "changed");
    }
    place.changes(&CallSelection::Call(call)).await.undo(OverwritePolicy::Force).unwrap();
    let text = |path| fs::read_to_string(place.at(path)).unwrap();
    assert_eq!(
        ["secret/key", "log/j", "log/plain"].map(text),
        ["changed", "changed", "of log/plain"]
    );
    assert!(!place.at("a").exists());
}

#[tokio::test]
async fn a_hook_knows_what_it_has_seen_before_an_effect() {
    let place = Place::new().await;
    let call = place.call("order", "x").await;
    let roots = WorkspaceRoots::open(&place.at(""), &[]).unwrap();
    let check = async |stores: &str, is_seen: bool| {
        let (stores, clock) = (place.directory.path().join(stores), Arc::new(SystemClock));
        let journal = Arc::clone(&place.journal);
        let hook = WorkspaceSnapshots::new(&stores, &roots, journal, clock, &place.options)
            .including(vec![place.at("a")]);
        assert!(!hook.has_recorded_before(&call));
        let effect = PendingEffect {
            tool: "undo".to_owned(),
            call_id: call.clone(),
            writes: Vec::new(),
            runs_commands: false,
        };
        hook.before_effect(&effect).await.unwrap();
        assert_eq!(hook.has_recorded_before(&call), is_seen);
        hook.durability_snapshot("undo", &call).await.unwrap();
        assert!(!hook.has_recorded_before(&call));
    };
    check("stores", true).await;
    fs::write(place.directory.path().join("file"), "not a directory").unwrap();
    check("file", false).await;
}

#[tokio::test]
async fn whatever_was_recorded_once_is_recorded_when_it_is_undone() {
    let mut place = Place::new().await;
    place.write("large", "as it was");
    let call = place.call("command", "large much larger").await;
    place.options = RecordOptions {
        file_bytes_max: 4,
        excluded: vec!["large".into()],
        ..RecordOptions::default()
    };
    let changes = place.changes(&CallSelection::Call(call)).await;
    let lost = |options: &RecordOptions| {
        let lost = changes.unrecordable_paths(OverwritePolicy::Force, options).unwrap();
        lost.into_iter().map(|lost| lost.path).collect::<Vec<_>>()
    };
    let widened = changes.widen_options(&place.options);
    assert_eq!(lost(&place.options), [PathBuf::from("large")]);
    assert!(lost(&widened).is_empty());
    place.write("large", "larger than any state that was recorded");
    assert_eq!(lost(&widened), [PathBuf::from("large")]);
}

#[tokio::test]
async fn a_command_that_nobody_saw_the_end_of_is_compared_with_now() {
    let journal = Arc::new(FaultyJournal::default());
    let place =
        Place::with(RecordOptions::default(), Arc::clone(&journal) as Arc<dyn Journal>).await;
    place.write("a", "first");
    let before = place.listing();
    place.call("command", "a 1").await;
    // As if the process had died before the second look.
    let mut note = place.notes().await.remove(0);
    note.after = None;
    place.journal.note_snapshot(note.clone()).await.unwrap();
    place.write("b", "later");
    let changes = place.changes(&CallSelection::Call(note.call)).await;
    assert!(changes.ends_now);
    changes.undo(OverwritePolicy::Refuse).unwrap();
    assert_eq!(place.listing(), before);
}

#[tokio::test]
async fn an_effect_that_is_not_executed_leaves_nothing_behind() {
    let journal = Arc::new(FaultyJournal::default());
    let place =
        Place::with(RecordOptions::default(), Arc::clone(&journal) as Arc<dyn Journal>).await;
    place.call("save", "first x").await;
    journal.fail_from(JournalMethod::Intend);
    let refused = place.stage.run.call(Call::new("save", json!({"text": "a 1"}))).await;
    assert!(refused.is_err());
    journal.mend();
    place.call("save", "a 2").await;
    let notes = place.notes().await;
    let overlapping = notes.iter().filter(|note| note.note.is_some()).count();
    assert_eq!((notes.len(), overlapping), (2, 0), "{notes:?}");
}

#[tokio::test]
async fn pruning_keeps_what_the_journal_knows_of() {
    let place = Place::new().await;
    place.write("a", "first");
    let call = place.call("save", "a 1").await;
    let store = fs::read_dir(place.directory.path().join("stores")).unwrap().next().unwrap();
    let store = haft_snapshot::SnapshotStore::open(&store.unwrap().path()).unwrap();
    let hold = store.lock_shared().unwrap();
    assert_eq!(place.history().prune().await.unwrap().busy, 1);
    drop(hold);
    assert_eq!(place.history().prune().await.unwrap().removed, 0);
    // No other journal knows these snapshots.
    let other: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    place.undo(&CallSelection::Call(call.clone())).await.unwrap();
    let stores = place.directory.path().join("stores");
    let pruned = SnapshotHistory::new(&stores, other, &place.options).prune().await.unwrap();
    assert!(pruned.removed > 0 && pruned.kept_bytes == 0, "{pruned:?}");
    let err = place.history().changes(&CallSelection::Call(call)).await.unwrap_err();
    assert!(matches!(err, SnapshotHistoryError::Store(_)), "{err}");
}

#[tokio::test]
async fn a_root_that_is_gone_is_said_to_be() {
    let place = Place::new().await;
    let call = place.call("save", "a 1").await;
    fs::rename(place.at(""), place.directory.path().join("moved")).unwrap();
    let err = place.history().changes(&CallSelection::Call(call)).await.unwrap_err();
    assert!(err.to_string().contains("if it was moved, move it back"), "{err}");
}

/// A hook that does what a test wants and remembers what it was called for.
#[derive(Default)]
struct Hook {
    seen: Mutex<Vec<String>>,
    fails: Option<Failure>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Failure {
    Before,
    After,
    Panics,
    Hangs,
}

impl Hook {
    fn see(&self, line: String) {
        self.seen.lock().unwrap().push(line);
    }
}

impl Snapshots for Hook {
    fn before_effect<'a>(
        &'a self,
        effect: &'a PendingEffect,
    ) -> BoxFuture<'a, Result<(), SnapshotError>> {
        self.see(format!("before {} {}", effect.tool, effect.call_id));
        let failed = self.fails == Some(Failure::Before);
        Box::pin(async move { if failed { Err(SnapshotError::new("no film")) } else { Ok(()) } })
    }

    fn snapshot_within<'a>(
        &'a self,
        tool: &'a str,
        call_id: &'a CallAddress,
    ) -> BoxFuture<'a, Result<(), SnapshotError>> {
        self.see(format!("within {tool} {call_id}"));
        Box::pin(async { Ok(()) })
    }

    fn durability_snapshot<'a>(
        &'a self,
        tool: &'a str,
        call_id: &'a CallAddress,
    ) -> BoxFuture<'a, Result<(), SnapshotError>> {
        self.see(format!("after {tool} {call_id}"));
        Box::pin(async move {
            match self.fails {
                Some(Failure::After) => Err(SnapshotError::new("no light")),
                Some(Failure::Panics) => panic!("dropped the camera"),
                Some(Failure::Hangs) => std::future::pending().await,
                Some(Failure::Before) | None => Ok(()),
            }
        })
    }
}

#[tokio::test]
async fn a_tool_asks_for_a_snapshot_in_the_middle_of_its_effect() {
    let builder = Tool::new("paint").effect(Effect::Once);
    let paint = builder.execute_with(|_: Text, cx: Cx| async move {
        cx.durability_snapshot().await;
        Ok::<_, ToolError>(format!("{} before {}", cx.seq(), cx.next_seq()))
    });
    let hook = Arc::new(Hook::default());
    let stage = Stage::new(Setting {
        tools: vec![paint],
        snapshots: Some(Arc::clone(&hook) as Arc<dyn Snapshots>),
        ..Setting::default()
    })
    .await;
    assert_eq!(stage.call("paint", json!({"text": "x"})).await.text(), "1 before 2");
    let expect = ["before", "within", "after"].map(|word| format!("{word} paint r1/main/0/1/1"));
    assert_eq!(*hook.seen.lock().unwrap(), expect);
}

async fn check_hook(fails: Option<Failure>, expect: Expect) {
    let hook = Arc::new(Hook { fails, ..Hook::default() });
    let place = tempfile::tempdir().unwrap();
    let stage = Stage::new(Setting {
        tools: tools(place.path(), &Arc::new(Barrier::new(1))),
        snapshots: Some(Arc::clone(&hook) as Arc<dyn Snapshots>),
        ..Setting::default()
    })
    .await;
    let answer = |tool: &'static str, input: Value| {
        let stage = &stage;
        async move { stage.call(tool, input).await.text() }
    };
    let answers = [
        answer("look", json!({"text": "x"})).await,
        answer("order", json!({"text": "x"})).await,
        answer("order", json!({"word": "x"})).await,
    ];
    assert_eq!(answers[1], "ordered");
    let notes = stage.runtime.journal().snapshots(stage.run.id(), None).await.unwrap();
    let mut lines = hook.seen.lock().unwrap().clone();
    lines.extend(notes.into_iter().filter_map(|note| note.note));
    expect.assert_eq(&lines.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_hook_sees_effects_and_its_failures_are_noted() {
    let seen = expect![[r#"
        before order r1/main/0/1/2
        after order r1/main/0/1/2"#]];
    check_hook(None, seen).await;
    let before = expect![[r#"
        before order r1/main/0/1/2
        after order r1/main/0/1/2
        no film"#]];
    check_hook(Some(Failure::Before), before).await;
    let after = expect![[r#"
        before order r1/main/0/1/2
        after order r1/main/0/1/2
        no light"#]];
    check_hook(Some(Failure::After), after).await;
    let panics = expect![[r#"
        before order r1/main/0/1/2
        after order r1/main/0/1/2
        the snapshot hook panicked: dropped the camera"#]];
    check_hook(Some(Failure::Panics), panics).await;
    let hangs = expect![[r#"
        before order r1/main/0/1/2
        after order r1/main/0/1/2
        the snapshot hook did not end within 10000 ms"#]];
    check_hook(Some(Failure::Hangs), hangs).await;
}
