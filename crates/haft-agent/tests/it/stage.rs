//! A runtime with the real tools and tools for tests, and a host of sessions in it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use haft::{
    Asker, Clock, ConnectionOptions, HeadlessAsker, Registry, Runtime, RuntimeParts, WorkspaceRoots,
};
use haft_agent::{
    AgentBounds, AgentDirectories, AgentEvent, AgentEventObserver, AgentHost, AgentHostParts,
    AgentPromptContext, AgentSession, ModelLookup, NewSession, RandomSource, TurnEnd, TurnPrompt,
    WorkspaceTrust, find_agents, plan_exit_tool,
};
use haft_contract::{Cx, Effect, ErrorCode, Tool, ToolError};
use haft_journal::{Journal, LeaseOwner, MemoryJournal, MessagePart, SessionMessage};
use haft_model::{Model, ModelError};
use haft_policy::{Rule, RuleAction, RuleScope};
use haft_tools::{Profile, ToolOptions};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The actions of a test's tools.
#[derive(Default)]
pub(crate) struct World {
    /// Every execution, as `tool text`, in the order in which they began.
    pub(crate) done: Mutex<Vec<String>>,
    running: Mutex<(usize, usize)>,
    waiting: watch::Sender<u32>,
    open: watch::Sender<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Text {
    text: String,
}

impl World {
    pub(crate) fn done(&self) -> Vec<String> {
        self.done.lock().unwrap().clone()
    }

    /// Returns how many calls ran at the same time at most.
    pub(crate) fn at_once(&self) -> usize {
        self.running.lock().unwrap().1
    }

    pub(crate) async fn until_waiting(&self, count: u32) {
        self.waiting.subscribe().wait_for(|waiting| *waiting >= count).await.unwrap();
    }

    pub(crate) fn open(&self) {
        self.open.send_replace(true);
    }

    fn begin(&self, cx: &Cx, text: &str) {
        self.done.lock().unwrap().push(format!("{} {text}", cx.tool()));
        let mut running = self.running.lock().unwrap();
        running.0 += 1;
        running.1 = running.1.max(running.0);
    }

    fn end(&self) {
        self.running.lock().unwrap().0 -= 1;
    }

    async fn wait(&self, cx: &Cx) -> Result<(), ToolError> {
        self.waiting.send_modify(|waiting| *waiting += 1);
        let mut open = self.open.subscribe();
        tokio::select! {
            biased;
            () = cx.cancellation().cancelled() => {
                Err(ToolError::new(ErrorCode::ProcessAborted, "stopped while it waited"))
            }
            opened = open.wait_for(|open| *open) => {
                opened.map(|_| ()).map_err(|err| ToolError::new(ErrorCode::ToolFailed, err.to_string()))
            }
        }
    }
}

/// Returns tools of each effect: `look`, `put` and `order` answer at once, the others wait until the world is open.
fn made_tools(world: &Arc<World>) -> Vec<Tool> {
    let make = |id: &'static str, effect: Effect, waits: bool| {
        let world = Arc::clone(world);
        Tool::new(id).effect(effect).execute_with(move |args: Text, cx: Cx| {
            let world = Arc::clone(&world);
            async move {
                world.begin(&cx, &args.text);
                let waited = if waits { world.wait(&cx).await } else { Ok(()) };
                world.end();
                waited?;
                Ok::<_, ToolError>(json!({"done": args.text}))
            }
        })
    };
    let much = Tool::new("much").execute(|args: Text| async move {
        Ok::<_, ToolError>(format!("{}{}", "x".repeat(250_000), args.text))
    });
    vec![
        much,
        make("look", Effect::Read, false),
        make("put", Effect::Idempotent, false),
        make("order", Effect::Once, false),
        make("look_long", Effect::Read, true),
        make("order_long", Effect::Once, true),
        plan_exit_tool(),
    ]
}

/// A clock that advances by a second with each reading.
pub(crate) struct StepClock(AtomicU64);

impl Clock for StepClock {
    fn now_ms(&self) -> u64 {
        self.0.fetch_add(1_000, Ordering::Relaxed)
    }
}

/// Chance that is the same in each test.
struct Counted(AtomicU64);

impl RandomSource for Counted {
    fn fill(&self, bytes: &mut [u8]) {
        let count = self.0.fetch_add(1, Ordering::Relaxed);
        let last = bytes.len().saturating_sub(8);
        bytes.fill(0);
        bytes[last..].copy_from_slice(&count.to_be_bytes());
    }
}

/// The models of a test by their names. The first one is the configured one.
pub(crate) struct Cast(pub(crate) Vec<(&'static str, Arc<dyn Model>)>);

impl ModelLookup for Cast {
    fn model(&self, name: Option<&str>) -> Result<(String, Arc<dyn Model>), ModelError> {
        let is_it = |(known, _): &&(&str, _)| name.is_none_or(|name| name == *known);
        let found = self.0.iter().find(is_it);
        let unknown = || ModelError::Settings(format!("no model is called {name:?}"));
        found.map(|(name, model)| ((*name).to_owned(), Arc::clone(model))).ok_or_else(unknown)
    }
}

/// Keeps the events as JSON.
#[derive(Default)]
pub(crate) struct Noted(pub(crate) Mutex<Vec<Value>>);

impl AgentEventObserver for Noted {
    fn on_event(&self, event: AgentEvent) {
        self.0.lock().unwrap().push(json!(event));
    }
}

/// A directory, and what is in it of a test.
pub(crate) struct Place {
    pub(crate) world: Arc<World>,
    pub(crate) events: Arc<Noted>,
    pub(crate) journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn RandomSource>,
    directory: tempfile::TempDir,
    agents: HashMap<String, String>,
    processes: AtomicU64,
    pub(crate) bounds: AgentBounds,
    pub(crate) rules: Vec<Rule>,
    pub(crate) asker: Arc<dyn Asker>,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::with_journal(Arc::new(MemoryJournal::new()))
    }

    pub(crate) fn with_journal(journal: Arc<dyn Journal>) -> Self {
        let place = Self {
            world: Arc::default(),
            events: Arc::default(),
            journal,
            clock: Arc::new(StepClock(AtomicU64::new(1_700_000_000_000))),
            random: Arc::new(Counted(AtomicU64::new(0))),
            directory: tempfile::tempdir().unwrap(),
            agents: HashMap::new(),
            processes: AtomicU64::new(1),
            bounds: AgentBounds::default(),
            rules: vec![Rule::new("*", "*", RuleAction::Allow)],
            asker: Arc::new(HeadlessAsker),
        };
        std::fs::create_dir(place.root()).unwrap();
        place
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    /// Adds an agent that is written down like this.
    pub(crate) fn agent(mut self, name: &str, text: &str) -> Self {
        self.agents.insert(name.to_owned(), text.to_owned());
        self
    }

    /// Takes an agent away again that a process had.
    pub(crate) fn without_agent(mut self, name: &str) -> Self {
        self.agents.remove(name);
        std::fs::remove_file(self.root().join(format!("agents/{name}.md"))).unwrap();
        self
    }

    /// Has a process begin to work here, which takes all others for dead.
    pub(crate) fn process(&self, id: &str, journal: Arc<dyn Journal>, cast: Cast) -> AgentHost {
        self.host_of(self.runtime(id, journal, true), id, cast)
    }

    /// Has a process begin to work here, which knows that all others live.
    pub(crate) fn living(&self, id: &str, journal: Arc<dyn Journal>, cast: Cast) -> AgentHost {
        self.host_of(self.runtime(id, journal, false), id, cast)
    }

    fn host_of(&self, runtime: Runtime, id: &str, cast: Cast) -> AgentHost {
        let agents_directory = self.root().join("agents");
        std::fs::create_dir_all(&agents_directory).unwrap();
        for (name, text) in &self.agents {
            std::fs::write(agents_directory.join(format!("{name}.md")), text).unwrap();
        }
        let agents = find_agents(&places(&self.root()));
        assert_eq!(agents.problems, []);
        let mut options = ConnectionOptions::headless(format!("s-{id}"), "agent");
        options.subagents = agents.subagents();
        let session = runtime.open_connection(options).unwrap();
        session.keep_outputs();
        AgentHost::new(AgentHostParts {
            runtime,
            connection: session,
            models: Arc::new(cast),
            agents: Arc::new(agents),
            prompt_context: surroundings(&self.root()),
            clock: Arc::clone(&self.clock),
            random: Arc::clone(&self.random),
            bounds: self.bounds,
            asker: Arc::clone(&self.asker),
            observer: Arc::clone(&self.events) as Arc<dyn AgentEventObserver>,
        })
    }

    pub(crate) fn host(&self, model: Arc<dyn Model>) -> AgentHost {
        self.cast(vec![("openai/m1", model)])
    }

    pub(crate) fn cast(&self, cast: Vec<(&'static str, Arc<dyn Model>)>) -> AgentHost {
        let number = self.processes.fetch_add(1, Ordering::Relaxed);
        self.process(&format!("p{number}"), Arc::clone(&self.journal), Cast(cast))
    }

    fn runtime(&self, id: &str, journal: Arc<dyn Journal>, others_are_gone: bool) -> Runtime {
        let roots = WorkspaceRoots::open(&self.root(), &[]).unwrap();
        let real = haft_tools::tools(Profile::Contract, &ToolOptions::default());
        let rules = self.rules.iter().cloned().map(|rule| (RuleScope::Manifest, rule)).collect();
        Runtime::new(RuntimeParts {
            registry: Registry::new(real.into_iter().chain(made_tools(&self.world))).unwrap(),
            rules,
            is_gone: Arc::new(move |_| Some(others_are_gone)),
            ..RuntimeParts::new(
                journal,
                roots,
                self.directory.path().join("sidecars"),
                Arc::clone(&self.clock),
                LeaseOwner { id: id.to_owned(), location: format!("process {id}") },
            )
        })
        .unwrap()
    }

    /// Returns the events since the last time, of these types, one line each.
    pub(crate) fn told(&self, kinds: &[&str]) -> Vec<Value> {
        let events = std::mem::take(&mut *self.events.0.lock().unwrap());
        let is_wanted = |event: &Value| kinds.contains(&event["type"].as_str().unwrap());
        events.into_iter().filter(is_wanted).collect()
    }
}

fn places(root: &Path) -> AgentDirectories {
    AgentDirectories { root: Some(root.to_path_buf()), trust: WorkspaceTrust::Trusted, user: None }
}

fn surroundings(root: &Path) -> AgentPromptContext {
    AgentPromptContext {
        root: root.to_path_buf(),
        platform: "linux".to_owned(),
        date: "2023-11-14".to_owned(),
        git: None,
        instructions: String::new(),
        skills: Vec::new(),
    }
}

/// Begins a session with an agent.
pub(crate) async fn begin(host: &AgentHost, agent: &str) -> AgentSession {
    let new = NewSession { agent: agent.to_owned(), ..NewSession::default() };
    host.begin(new).await.unwrap()
}

/// Says something and waits for the end of the turn.
pub(crate) async fn say(chat: &mut AgentSession, text: &str) -> TurnEnd {
    chat.run_turn(TurnPrompt::Message(text.into()), CancellationToken::new()).await.unwrap()
}

pub(crate) async fn go_on(chat: &mut AgentSession) -> TurnEnd {
    chat.run_turn(TurnPrompt::Continue, CancellationToken::new()).await.unwrap()
}

pub(crate) fn done(text: &str) -> TurnEnd {
    TurnEnd::Done { text: text.to_owned() }
}

/// Returns a session as lines: the role and the finish of each message, and the content of each part.
pub(crate) async fn shown(chat: &AgentSession) -> String {
    let mut lines = String::new();
    for (message, parts) in chat.history().await.unwrap() {
        lines.push_str(&show(&message, &parts));
    }
    lines
}

fn show(message: &SessionMessage, parts: &[MessagePart]) -> String {
    let finish = message.finish.map(|finish| format!(" ({finish})")).unwrap_or_default();
    let mut lines = format!("{} {}{finish}\n", message.role, message.kind);
    for part in parts {
        let text = part.text.as_deref().map(|text| format!(" {text:?}")).unwrap_or_default();
        let output = part.output_json.as_deref().map(|output| {
            let envelope: haft_contract::Envelope = serde_json::from_str(output).unwrap();
            format!(" {:?}", envelope.text())
        });
        let call = match (&part.tool_call_id, &part.tool, part.state) {
            (Some(id), Some(tool), Some(state)) => format!(
                " {id} {tool} {} {state}{}",
                part.input_json.as_deref().unwrap_or("-"),
                output.unwrap_or_default()
            ),
            _ => String::new(),
        };
        lines.push_str(&format!("  {}{text}{call}\n", part.kind));
    }
    lines
}
