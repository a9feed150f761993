//! A runtime with the tool `lsp`, servers that a test chooses, and a workspace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft::{
    Call, CallLimits, ConnectionOptions, Registry, Run, Runtime, RuntimeParts, SystemClock,
    WorkspaceRoots,
};
use haft_contract::{Envelope, RunId};
use haft_journal::{LeaseOwner, MemoryJournal};
use haft_lsp::{
    Language, LspOptions, ServerProgram, ServerProgramError, ServerProgramFinder,
    builtin_languages, lsp,
};
use haft_policy::{Rule, RuleAction, RuleScope};
use haft_sandbox::Launcher;
use serde_json::{Value, json};

/// Timeout of a call in which a server should answer, in milliseconds.
const TIMEOUT_MS: u64 = 60_000;

/// A run, and the directory that contains its root.
pub(crate) struct Stage {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) run: Run,
    runtime: Runtime,
}

/// The parameters of a stage.
pub(crate) struct Setting {
    pub(crate) languages: Vec<Language>,
    pub(crate) programs: Arc<dyn ServerProgramFinder>,
    pub(crate) environment: Vec<(&'static str, String)>,
    pub(crate) timeout_ms: u64,
    pub(crate) rules: Vec<Rule>,
}

/// Finds programs by their absolute paths, with the paths that they must read.
pub(crate) struct Found(pub(crate) Vec<PathBuf>);

impl ServerProgramFinder for Found {
    fn find(&self, command: &[String]) -> Result<ServerProgram, ServerProgramError> {
        let path = PathBuf::from(command.first().ok_or(ServerProgramError::Missing)?);
        let is_there = path.is_absolute() && path.exists();
        let found = ServerProgram { path, readable: self.0.clone() };
        is_there.then_some(found).ok_or(ServerProgramError::Missing)
    }
}

impl Setting {
    /// Returns the setting in which the fixture server serves Python, in the given mode.
    pub(crate) fn of_fixture(mode: &str) -> Self {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let server = fixtures.join("server.py").to_str().unwrap().to_owned();
        let command = vec!["/usr/bin/python3".to_owned(), server, mode.to_owned()];
        let mut languages = builtin_languages();
        languages.retain(|language| language.name == "python");
        for language in &mut languages {
            language.commands = vec![command.clone()];
            language.settings = json!({ "fake": { "answer": 42 } });
        }
        Self {
            languages,
            programs: Arc::new(Found(vec![fixtures])),
            environment: vec![("PATH", "/usr/bin:/bin".to_owned())],
            timeout_ms: TIMEOUT_MS,
            rules: Vec::new(),
        }
    }
}

/// Returns a program that can start processes; cargo builds examples beside the tests.
fn helper() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let helper = own.ancestors().nth(2).unwrap().join("examples/started");
    assert!(helper.exists(), "build the examples of this crate first: {}", helper.display());
    helper
}

impl Stage {
    pub(crate) fn new(setting: Setting, files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        std::fs::create_dir_all(&root).unwrap();
        let roots = WorkspaceRoots::open(&root, &[]).unwrap();
        let programs = setting.programs;
        let options = LspOptions { languages: setting.languages, programs, is_unconfined: false };
        let all = Rule::new("*", "*", RuleAction::Allow);
        let rules = std::iter::once(all).chain(setting.rules);
        let environment = setting.environment.into_iter();
        let runtime = Runtime::new(RuntimeParts {
            registry: Registry::new(vec![lsp(options)]).unwrap(),
            rules: rules.map(|rule| (RuleScope::Manifest, rule)).collect(),
            limits: CallLimits { timeout_ms: setting.timeout_ms, ..CallLimits::default() },
            launcher: Launcher::new(helper()),
            environment: environment.map(|(name, value)| (name.into(), value.into())).collect(),
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
        let run = session.run(RunId::parse("r1").unwrap());
        let stage = Self { directory, run, runtime };
        for (path, text) in files {
            stage.write(path, text);
        }
        stage
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.directory.path().join("root").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        std::fs::remove_file(self.directory.path().join("root").join(path)).unwrap();
    }

    pub(crate) async fn call(&self, input: Value) -> Envelope {
        self.run.call(Call::new("lsp", input)).await.unwrap()
    }

    /// Makes a call and formats its envelope: its code and message, or its data.
    pub(crate) async fn shown(&self, input: Value) -> String {
        let envelope = self.call(input).await;
        let root = self.directory.path().join("root").to_string_lossy().into_owned();
        let text = match (&envelope, envelope.code()) {
            (_, Some(code)) => format!("{code}: {}", envelope.text()),
            (Envelope::Output { data, .. }, None) => format!("{data:#}"),
            (Envelope::Error { .. }, None) => "an error without a code".to_owned(),
        };
        text.replace(&root, "…").replace(env!("CARGO_MANIFEST_DIR"), "(crate)")
    }

    /// Asks the fixture server for the messages that it received, and for its capabilities.
    pub(crate) async fn record(&self, path: &str) -> Value {
        let input = json!({ "operation": "hover", "path": path, "line": 1, "column": 1 });
        let envelope = self.call(input).await;
        let Envelope::Output { data, .. } = &envelope else { panic!("{}", envelope.text()) };
        serde_json::from_str(data["hover"].as_str().unwrap()).unwrap()
    }

    pub(crate) async fn end(self) {
        self.runtime.shut_down().await;
    }
}
