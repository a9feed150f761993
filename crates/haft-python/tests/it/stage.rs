//! A runtime with the tools of a directory of Python files, and its events.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use haft::{
    Call, Connection, ConnectionOptions, Registry, Run, Runtime, RuntimeParts, SystemClock,
    WorkspaceRoots,
};
use haft_contract::{Cx, Envelope, RunId, Tool, ToolError, ToolId};
use haft_journal::{LeaseOwner, MemoryJournal};
use haft_policy::{Rule, RuleAction, RuleScope};
use haft_python::{
    CheckedDirectory, ParsedToolFile, ParsedToolFileCache, SourceFile, ToolDirectory, ToolFileList,
    WorkerOptions,
};
use haft_sandbox::Launcher;
use serde_json::{Value, json};

/// A run, and the directory that contains its root.
pub(crate) struct Stage {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) session: Connection,
    pub(crate) run: Run,
    /// Another run of the same session.
    pub(crate) other_run: Run,
}

/// Stores texts in memory, and counts successful lookups.
#[derive(Default)]
pub(crate) struct MemoryCache {
    texts: Mutex<HashMap<String, String>>,
    pub(crate) found: Mutex<u32>,
}

impl ParsedToolFileCache for MemoryCache {
    fn get(&self, key: &str) -> Option<String> {
        let text = self.texts.lock().unwrap().get(key).cloned();
        *self.found.lock().unwrap() += u32::from(text.is_some());
        text
    }

    fn put(&self, key: &str, text: &str) {
        self.texts.lock().unwrap().insert(key.to_owned(), text.to_owned());
    }
}

pub(crate) fn fixtures(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// Returns a program that can start processes; cargo builds examples beside the tests.
fn helper() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let helper = own.ancestors().nth(2).unwrap().join("examples/warm");
    assert!(helper.exists(), "build the examples of this crate first: {}", helper.display());
    helper
}

impl Stage {
    pub(crate) fn new(tools: Vec<Tool>) -> Self {
        Self::within(tempfile::tempdir().unwrap(), tools)
    }

    /// Returns a stage with the root `root` in a directory.
    pub(crate) fn within(directory: tempfile::TempDir, tools: Vec<Tool>) -> Self {
        let root = directory.path().join("root");
        std::fs::create_dir_all(&root).unwrap();
        let roots = WorkspaceRoots::open(&root, &[]).unwrap();
        let runtime = Runtime::new(RuntimeParts {
            registry: Registry::new(tools).unwrap(),
            rules: vec![(RuleScope::Manifest, Rule::new("*", "*", RuleAction::Allow))],
            launcher: Launcher::new(helper()),
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            ..RuntimeParts::new(
                Arc::new(MemoryJournal::new()),
                roots,
                directory.path().join("sidecars"),
                Arc::new(SystemClock),
                LeaseOwner { id: "test".to_owned(), location: "a test".to_owned() },
            )
        })
        .unwrap();
        let session = runtime.open_connection(ConnectionOptions::headless("s1", "test")).unwrap();
        let [run, other_run] = ["r1", "r2"].map(|id| session.run(RunId::parse(id).unwrap()));
        Self { directory, session, run, other_run }
    }

    /// Returns a stage with the named tools of a directory, which must have no problems.
    pub(crate) async fn of_directory(directory: &ToolDirectory, options: WorkerOptions) -> Self {
        let (_, checked) = checked(directory).await;
        Self::new(haft_python::tools(directory, &checked.tools, options))
    }

    pub(crate) async fn call(&self, tool: &str, input: Value) -> Envelope {
        self.run.call(Call::new(tool, input)).await.unwrap()
    }
}

/// Lists, parses and checks a directory as a front end does, with confined processes.
pub(crate) async fn checked(directory: &ToolDirectory) -> (ToolFileList, CheckedDirectory) {
    let listing = directory.list().unwrap();
    let readings = readings(directory, &listing.files, Arc::new(())).await.unwrap();
    let files = listing.files.iter().cloned().zip(readings).collect();
    let taken = [ToolId::parse("read").unwrap()];
    let checked = haft_python::check_tool_files(directory, files, &taken);
    (listing, checked)
}

/// Parses the files in a call, because only calls start confined processes.
pub(crate) async fn readings(
    directory: &ToolDirectory,
    files: &[SourceFile],
    cache: Arc<dyn ParsedToolFileCache>,
) -> Result<Vec<ParsedToolFile>, String> {
    let place: Arc<Mutex<Vec<ParsedToolFile>>> = Arc::default();
    let found = Arc::clone(&place);
    let (directory, files) = (directory.clone(), files.to_vec());
    let schema = json!({"type": "object", "properties": {}});
    let reader = Tool::new("reader").execute_json(schema, move |_: Value, cx: Cx| {
        let (directory, files) = (directory.clone(), files.clone());
        let (cache, found) = (Arc::clone(&cache), Arc::clone(&found));
        async move {
            let residents = cx.background_processes();
            let readings = haft_python::read_metadata(&directory, &files, residents, &*cache);
            *found.lock().unwrap() = readings.await?;
            Ok::<_, ToolError>("read")
        }
    });
    let envelope = Stage::new(vec![reader]).call("reader", json!({})).await;
    match envelope.code() {
        None => Ok(std::mem::take(&mut *place.lock().unwrap())),
        Some(code) => Err(format!("{code}: {}", envelope.text())),
    }
}

/// Formats an envelope: its code or `ok`, its text or data, and the printed output.
pub(crate) fn shown(envelope: &Envelope) -> String {
    let mut text = match (envelope, envelope.code()) {
        (_, Some(code)) => format!("{code}: {}\n", envelope.text()),
        (Envelope::Output { data, .. }, None) => format!("ok: {data}\n"),
        (Envelope::Error { .. }, None) => "an error without a code\n".to_owned(),
    };
    if let Some(log) = &envelope.metadata().log {
        text.push_str("--- printed\n");
        text.push_str(log);
    }
    text
}
