//! A workspace in a temporary directory and a runtime over it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft::{
    Call, CallLimits, Clock, ConnectionOptions, Registry, Run, Runtime, RuntimeParts,
    SkillSearchPaths, WorkspaceRoots,
};
use haft_contract::{Envelope, RunId};
use haft_journal::{CallQuery, LeaseOwner, MemoryJournal};
use haft_policy::{Rule, RuleAction, RuleScope};
use haft_tools::Profile;
use serde_json::Value;
use tempfile::TempDir;

/// The paths that are protected from these calls, besides those that are always protected.
#[derive(Default)]
pub(crate) struct Keeping {
    pub(crate) rules: Vec<Rule>,
    pub(crate) hidden: Vec<PathBuf>,
}

/// A directory with files, and a run that calls tools in it.
pub(crate) struct Workspace {
    directory: TempDir,
    runtime: Runtime,
    run: Run,
}

struct StoppedClock;

impl Clock for StoppedClock {
    fn now_ms(&self) -> u64 {
        1_700_000_000_000
    }
}

impl Workspace {
    /// Makes a workspace with the tools of the contract.
    pub(crate) async fn new() -> Self {
        Self::with(Profile::Contract, CallLimits::default()).await
    }

    pub(crate) async fn with(profile: Profile, limits: CallLimits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self::of(directory, profile, limits, Keeping::default())
    }

    /// Makes a workspace whose user has these skills beside it, and keeps these things back.
    pub(crate) fn with_skills(directory: TempDir, keeping: Keeping) -> Self {
        Self::of(directory, Profile::Contract, CallLimits::default(), keeping)
    }

    fn of(directory: TempDir, profile: Profile, limits: CallLimits, keeping: Keeping) -> Self {
        let root = directory.path().join("root");
        fs::create_dir(&root).unwrap();
        let roots = WorkspaceRoots::open(&root, &[]).unwrap();
        let allow =
            |permission: &str| (RuleScope::Manifest, Rule::new(permission, "*", RuleAction::Allow));
        let allowed = ["fs.read", "fs.write", "todo", "question", "skill"].map(allow);
        let kept = keeping.rules.into_iter().map(|rule| (RuleScope::Manifest, rule));
        let runtime = Runtime::new(RuntimeParts {
            registry: Registry::new(haft_tools::tools(
                profile,
                &haft_tools::ToolOptions::default(),
            ))
            .unwrap(),
            rules: allowed.into_iter().chain(kept).collect(),
            limits,
            sandbox: haft::Sandbox { hidden: keeping.hidden, ..haft::Sandbox::system() },
            ..RuntimeParts::new(
                Arc::new(MemoryJournal::new()),
                roots,
                directory.path().join("sidecars"),
                Arc::new(StoppedClock),
                LeaseOwner { id: "test".to_owned(), location: "a test".to_owned() },
            )
        })
        .unwrap();
        let user = vec![directory.path().join("skills")];
        let skills = SkillSearchPaths { user, ..SkillSearchPaths::default() };
        let options = ConnectionOptions { skills, ..ConnectionOptions::headless("s1", "test") };
        let session = runtime.open_connection(options).unwrap();
        let run = session.run(RunId::parse("r1").unwrap());
        Self { directory, runtime, run }
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.directory.path().join("root").join(relative)
    }

    /// Returns a directory beside the root, which no call may reach.
    pub(crate) fn outside(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn file(&self, relative: &str, contents: impl AsRef<[u8]>) -> &Self {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
        self
    }

    pub(crate) fn contents(&self, relative: &str) -> Vec<u8> {
        fs::read(self.path(relative)).unwrap()
    }

    pub(crate) fn mode(&self, relative: &str) -> u32 {
        fs::metadata(self.path(relative)).unwrap().permissions().mode() & 0o7777
    }

    pub(crate) fn set_mode(&self, relative: &str, mode: u32) {
        fs::set_permissions(self.path(relative), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Names everything beneath the root, to show that nothing else was left.
    pub(crate) fn tree(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut open = vec![self.path("")];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                let is_directory = fs::symlink_metadata(&path).unwrap().is_dir();
                let name = path.strip_prefix(self.path("")).unwrap().to_string_lossy().into_owned();
                names.push(if is_directory { format!("{name}/") } else { name });
                if is_directory {
                    open.push(path);
                }
            }
        }
        names.sort();
        names
    }

    /// Returns everything that the journal holds, as JSON.
    pub(crate) async fn journal(&self) -> String {
        let query = CallQuery::of_run(self.run.id().clone());
        serde_json::to_string(&self.runtime.journal().calls(query).await.unwrap()).unwrap()
    }

    pub(crate) async fn call(&self, tool: &str, input: Value) -> Envelope {
        self.run.call(Call::new(tool, input)).await.unwrap()
    }

    /// Calls and returns the data, or the code and message of the error.
    pub(crate) async fn text(&self, tool: &str, input: Value) -> String {
        let envelope = self.call(tool, input).await;
        let text = match &envelope {
            Envelope::Output { data: Value::String(text), .. } => text.clone(),
            Envelope::Output { data, .. } => data.to_string(),
            Envelope::Error { error_text, metadata } => {
                format!("{}: {error_text}", metadata.code.map_or("no code", |code| code.as_str()))
            }
        };
        text.replace(&self.directory.path().to_string_lossy().into_owned(), "[tmp]")
    }
}
