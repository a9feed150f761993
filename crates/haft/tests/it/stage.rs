//! A runtime with tools made for tests, and everything that happened in it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use haft::{
    Asker, Call, CallLimits, Clock, Connection, ConnectionOptions, HeadlessAsker, OwnerGoneCheck,
    ProjectRules, Registry, RepeatPolicy, Run, Runtime, RuntimeParts, Snapshots, Watchdog,
    WorkspaceRoots,
};
use haft_contract::{Envelope, RequirementSet, RunId, Tool};
use haft_journal::{CallQuery, CallRow, Journal, LeaseOwner, MemoryJournal};
use haft_policy::{NetworkGuard, Rule, RuleAction, RuleScope};
use haft_sandbox::Launcher;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// Counts how often something was executed.
#[derive(Clone, Default)]
pub(crate) struct Counter(Arc<AtomicU32>);

impl Counter {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Text {
    pub(crate) text: String,
}

/// The settings that a test can vary.
pub(crate) struct Setting {
    pub(crate) tools: Vec<Tool>,
    pub(crate) rules: Vec<(RuleScope, Rule)>,
    pub(crate) watchdogs: Vec<Arc<dyn Watchdog>>,
    pub(crate) manifest: Value,
    pub(crate) asker: Arc<dyn Asker>,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) limits: CallLimits,
    pub(crate) requires: RequirementSet,
    pub(crate) network_guard: NetworkGuard,
    pub(crate) project_rules: Option<Arc<dyn ProjectRules>>,
    pub(crate) snapshots: Option<Arc<dyn Snapshots>>,
    pub(crate) on_repeat: RepeatPolicy,
    /// Where the workspace and the sidecars are; a new place unless given.
    pub(crate) directory: Option<Arc<tempfile::TempDir>>,
    /// The workspace, if it is elsewhere.
    pub(crate) root: Option<PathBuf>,
    pub(crate) owner: &'static str,
    pub(crate) holds_repeats_back: bool,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) is_gone: Arc<OwnerGoneCheck>,
    /// The program that starts processes; most tests start none.
    pub(crate) helper: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) sandbox: haft::Sandbox,
    pub(crate) allow_network: bool,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            tools: Vec::new(),
            rules: vec![rule(RuleScope::Manifest, "*", "*", RuleAction::Allow)],
            watchdogs: Vec::new(),
            manifest: Value::Null,
            asker: Arc::new(HeadlessAsker),
            journal: Arc::new(MemoryJournal::new()),
            limits: CallLimits::default(),
            requires: RequirementSet::default(),
            network_guard: NetworkGuard::default(),
            project_rules: None,
            snapshots: None,
            on_repeat: RepeatPolicy::default(),
            directory: None,
            root: None,
            owner: "first",
            holds_repeats_back: false,
            clock: Arc::new(StoppedClock(0)),
            // Only processes with such a name are known to be dead. One more is known to be alive; the state of others
            // is unknown.
            is_gone: Arc::new(|owner: &LeaseOwner| match owner.id.as_str() {
                id if id.starts_with("dead") => Some(true),
                "alive" => Some(false),
                _ => None,
            }),
            helper: PathBuf::from("/nonexistent"),
            environment: Vec::new(),
            sandbox: haft::Sandbox::system(),
            allow_network: false,
        }
    }
}

pub(crate) fn rule(
    scope: RuleScope,
    permission: &str,
    pattern: &str,
    action: RuleAction,
) -> (RuleScope, Rule) {
    (scope, Rule::new(permission, pattern, action))
}

/// A clock that stands still, so many milliseconds after the tests began.
pub(crate) struct StoppedClock(pub(crate) u64);

impl Clock for StoppedClock {
    fn now_ms(&self) -> u64 {
        1_700_000_000_000 + self.0
    }
}

/// A session and its first run.
pub(crate) struct Stage {
    pub(crate) directory: Arc<tempfile::TempDir>,
    pub(crate) runtime: Runtime,
    pub(crate) session: Connection,
    pub(crate) run: Run,
}

impl Stage {
    pub(crate) async fn new(setting: Setting) -> Self {
        let directory = setting.directory.unwrap_or_else(|| Arc::new(tempfile::tempdir().unwrap()));
        let root = setting.root.unwrap_or_else(|| directory.path().join("root"));
        std::fs::create_dir_all(&root).unwrap();
        let roots = WorkspaceRoots::open(&root, &[]).unwrap();
        let runtime = Runtime::new(RuntimeParts {
            registry: Registry::new(setting.tools).unwrap(),
            requires: setting.requires,
            rules: setting.rules,
            limits: setting.limits,
            allow_network: setting.allow_network,
            network_guard: Some(setting.network_guard),
            sandbox: setting.sandbox,
            project_rules: setting.project_rules,
            watchdogs: setting.watchdogs,
            manifest: setting.manifest,
            launcher: Launcher::new(setting.helper),
            environment: setting.environment,
            is_gone: setting.is_gone,
            snapshots: setting.snapshots,
            on_repeat: setting.on_repeat,
            ..RuntimeParts::new(
                setting.journal,
                roots,
                directory.path().join("sidecars"),
                setting.clock,
                LeaseOwner {
                    id: setting.owner.to_owned(),
                    location: format!("test {}", setting.owner),
                },
            )
        })
        .unwrap();
        let options = ConnectionOptions {
            asker: setting.asker,
            holds_repeated_calls: setting.holds_repeats_back,
            ..ConnectionOptions::headless(
                if setting.owner == "first" { "s1" } else { setting.owner },
                "test",
            )
        };
        let session = runtime.open_connection(options).unwrap();
        let run = session.run(RunId::parse("r1").unwrap());
        Self { directory, runtime, session, run }
    }

    pub(crate) async fn call(&self, tool: &str, input: Value) -> Envelope {
        self.run.call(Call::new(tool, input)).await.unwrap()
    }

    pub(crate) async fn rows(&self) -> Vec<CallRow> {
        self.runtime.journal().calls(CallQuery::of_run(self.run.id().clone())).await.unwrap()
    }

    /// Writes each row as one line: number, tool, status, input.
    pub(crate) async fn journal(&self) -> String {
        let rows = self.rows().await;
        rows.iter()
            .map(|row| format!("{} {} {} {}\n", row.seq, row.tool, row.status, row.input))
            .collect()
    }
}

/// Writes an envelope with what varies between runs of a test left out.
pub(crate) fn shown(envelope: &Envelope) -> String {
    let mut value = serde_json::to_value(envelope).unwrap();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("duration_ms");
        metadata.remove("waits");
        if let Some(Value::String(path)) = metadata.get_mut("output_path") {
            let name = path.rsplit('/').next().unwrap_or_default().to_owned();
            *path = name;
        }
    }
    serde_json::to_string_pretty(&value).unwrap()
}
