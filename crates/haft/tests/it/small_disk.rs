//! Whole calls on disks that fill up: that of the journal, that of the workspace, and that of the snapshots. Each is a small
//! tmpfs in a mount namespace, inside which the test runs itself. Where namespaces cannot be made it says so.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use expect_test::expect;
use haft::{
    Call, CallSelection, RunError, SnapshotHistory, SystemClock, WorkspaceRoots, WorkspaceSnapshots,
};
use haft_contract::{
    Access, Cx, Effect, ErrorCode, FileChange, Precondition, RequirementSet, Tool, ToolError,
};
use haft_journal::{CallStatus, Journal, JournalError, SqliteJournal};
use haft_snapshot::{OverwritePolicy, RecordOptions};
use serde_json::json;

use crate::stage::{Setting, Stage, Text};

const DISK: &str = "HAFT_TEST_CALLS_DISK";
const SCRIPT: &str = r#"
set -e
mkdir "$HAFT_TEST_CALLS_DISK/journal" "$HAFT_TEST_CALLS_DISK/root" "$HAFT_TEST_CALLS_DISK/stores"
mount -t tmpfs -o size=1m haft-test "$HAFT_TEST_CALLS_DISK/journal"
mount -t tmpfs -o size=256k haft-test "$HAFT_TEST_CALLS_DISK/root"
mount -t tmpfs -o size=256k haft-test "$HAFT_TEST_CALLS_DISK/stores"
exec "$0" --exact small_disk::full_disks_are_told_and_nothing_is_lost --nocapture
"#;

#[test]
fn full_disks_are_told_and_nothing_is_lost() {
    if let Some(disk) = std::env::var_os(DISK) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(fill_each(&PathBuf::from(disk)));
    }
    let namespace = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", script]);
        command
    };
    let probe = namespace("mount -t tmpfs haft-test /mnt").output();
    if !probe.is_ok_and(|output| output.status.success()) {
        eprintln!("not tested: this host allows no mount namespace, so there is no disk to fill");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = namespace(SCRIPT)
        .arg(std::env::current_exe().unwrap())
        .env(DISK, directory.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// A file that fills the free space of a disk.
struct Ballast(PathBuf);

impl Ballast {
    /// Fills the disk until not a byte more fits.
    fn fill(disk: &Path) -> Self {
        let path = disk.join("ballast");
        let mut file = File::create(&path).unwrap();
        loop {
            match file.write(&[1; 4096]) {
                Ok(_) => {}
                Err(err) if err.kind() == ErrorKind::StorageFull => return Self(path),
                Err(err) => panic!("{err}"),
            }
        }
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        fs::remove_file(&self.0).unwrap();
    }
}

/// Writes its text twice, to `a.txt` and `b.txt`: both files or none.
fn save() -> Tool {
    let mut requires = RequirementSet::default();
    requires.fs.write.push("{workspace}/**".to_owned());
    requires.fs.read.push("{workspace}/**".to_owned());
    let write = |name: &str, input: &Text, cx: &Cx| {
        let (path, _) = cx.fs().resolve(name)?;
        let contents = input.text.clone().into_bytes();
        Ok(FileChange::Write { path, contents, mode: None, precondition: Precondition::Any })
    };
    Tool::new("save")
        .effect(Effect::Once)
        .requires(requires)
        .redacted(&["text"])
        .accesses(|_: &Text| vec![Access::write("a.txt"), Access::write("b.txt")])
        .execute_blocking(move |input: Text, cx| {
            let changes = ["a.txt", "b.txt"].map(|name| write(name, &input, cx));
            let changes: Result<Vec<_>, ToolError> = changes.into_iter().collect();
            cx.fs().apply_with_answer(changes?, &json!("saved"))?;
            Ok::<_, ToolError>("saved")
        })
}

/// The three disks, and a runtime on them.
struct Disks {
    journal: Arc<SqliteJournal>,
    stage: Stage,
    history: SnapshotHistory,
    place: PathBuf,
}

impl Disks {
    async fn new(place: &Path) -> Self {
        let journal = Arc::new(SqliteJournal::open(place.join("journal/journal.db")).unwrap());
        let shared: Arc<dyn Journal> = journal.clone();
        let roots = WorkspaceRoots::open(&place.join("root"), &[]).unwrap();
        let (stores, options) = (place.join("stores"), RecordOptions::default());
        let clock = Arc::new(SystemClock);
        let hook = WorkspaceSnapshots::new(&stores, &roots, shared.clone(), clock, &options);
        let stage = Stage::new(Setting {
            tools: vec![save()],
            journal: shared.clone(),
            root: Some(place.join("root")),
            snapshots: Some(Arc::new(hook)),
            ..Setting::default()
        })
        .await;
        let history = SnapshotHistory::new(&stores, shared, &options);
        Self { journal, stage, history, place: place.to_path_buf() }
    }

    async fn save(&self, text: &str) -> Result<haft_contract::Envelope, RunError> {
        self.stage.run.call(Call::new("save", json!({ "text": text }))).await
    }

    /// Returns both files, and what else lies beside them.
    fn files(&self) -> String {
        let entries = fs::read_dir(self.place.join("root")).unwrap();
        let mut lines: Vec<String> = entries
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.file_name() != "ballast")
            .map(|entry| {
                let text = fs::read_to_string(entry.path()).unwrap();
                format!("{} {:.5}", entry.file_name().display(), text)
            })
            .collect();
        lines.sort();
        lines.join(", ")
    }

    async fn statuses(&self) -> Vec<CallStatus> {
        self.stage.rows().await.into_iter().map(|row| row.status).collect()
    }

    /// Returns why nothing was recorded of the last call, or undoes it.
    async fn undo_last(&self) -> String {
        let call = self.stage.rows().await.last().unwrap().id();
        match self.history.changes(&CallSelection::Call(call)).await {
            Ok(changes) => {
                let remarks = changes.iter().flat_map(|it| &it.remarks);
                let remarks: Vec<&str> = remarks.map(|(_, remark)| remark.as_str()).collect();
                let undone: usize = changes.iter().map(|it| it.calls.len()).sum();
                for change in &changes {
                    change.undo(OverwritePolicy::Refuse).unwrap();
                }
                format!("undone {undone}: {}", remarks.join("; "))
            }
            Err(err) => err.to_string(),
        }
    }
}

async fn fill_each(place: &Path) {
    let disks = Disks::new(place).await;
    fill_journal(&disks).await;
    fill_workspace(&disks).await;
    fill_stores(&disks).await;
    assert_eq!(disks.journal.verify().await.unwrap(), []);
}

async fn fill_journal(disks: &Disks) {
    disks.save("first").await.unwrap();
    let ballast = Ballast::fill(&disks.place.join("journal"));
    let mut made = 1;
    // Space that SQLite had already allocated still takes a few rows.
    let err = loop {
        let text = format!("{made:05}");
        match disks.save(&text).await {
            Ok(_) => made += 1,
            Err(err) => break err,
        }
        assert_eq!(disks.files(), format!("a.txt {text}, b.txt {text}"));
    };
    assert!(matches!(err, RunError::Journal(JournalError::Full { .. })), "{err}");
    let last = if made == 1 { "first".to_owned() } else { format!("{:05}", made - 1) };
    assert_eq!(disks.files(), format!("a.txt {last}, b.txt {last}"), "nothing without a row");
    assert_eq!(disks.statuses().await, vec![CallStatus::Succeeded; made]);
    drop(ballast);
    disks.save("after").await.unwrap();
    assert_eq!(disks.statuses().await, vec![CallStatus::Succeeded; made + 1]);
    assert_eq!(disks.files(), "a.txt after, b.txt after");
}

async fn fill_workspace(disks: &Disks) {
    let ballast = Ballast::fill(&disks.place.join("root"));
    let large = "large".repeat(10_000);
    let envelope = disks.save(&large).await.unwrap();
    expect![
        "no space is left to write a.txt: free some space on that disk, then make the call again"
    ]
    .assert_eq(&envelope.text());
    assert_eq!(envelope.code(), Some(ErrorCode::ToolFailed));
    assert_eq!(disks.files(), "a.txt after, b.txt after");
    assert_eq!(disks.statuses().await.last(), Some(&CallStatus::Failed));
    drop(ballast);
    disks.save(&large).await.unwrap();
    assert_eq!(disks.files(), "a.txt large, b.txt large");
    expect!["undone 1: "].assert_eq(&disks.undo_last().await);
    assert_eq!(disks.files(), "a.txt after, b.txt after");
}

async fn fill_stores(disks: &Disks) {
    let ballast = Ballast::fill(&disks.place.join("stores"));
    disks.save("without").await.unwrap();
    assert_eq!(disks.files(), "a.txt witho, b.txt witho");
    expect!["nothing was recorded of what call r1/main/0/1/6 changed: the state after it is not known: the snapshot store could not write an object: No space left on device (os error 28)"].assert_eq(&disks.undo_last().await);
    drop(ballast);
    disks.save("again").await.unwrap();
    expect!["undone 1: "].assert_eq(&disks.undo_last().await);
    assert_eq!(disks.files(), "a.txt witho, b.txt witho");
}
