//! A host of sessions with two tools that do nothing: `look` only reads, and `order` must not be repeated. Everything else is as for
//! people who allow everything.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft::{
    ConnectionOptions, HeadlessAsker, Registry, Runtime, RuntimeParts, SystemClock, WorkspaceRoots,
};
use haft_agent::{
    AgentBounds, AgentDirectories, AgentHost, AgentHostParts, AgentPromptContext, ModelLookup,
    NewSession, RandomSource, WorkspaceTrust, find_agents,
};
use haft_contract::{Cx, Effect, Tool, ToolError};
use haft_journal::{Journal, LeaseOwner};
use haft_model::{Model, ModelError};
use haft_policy::{Rule, RuleAction, RuleScope};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Failure, scripted};

/// The tools, each with how often it may happen.
pub(crate) const TOOLS: [(&str, Effect); 2] = [("look", Effect::Read), ("order", Effect::Once)];

#[derive(Deserialize, JsonSchema)]
struct Item {
    number: u32,
}

/// The only model there is.
struct TheModel(Arc<dyn Model>);

impl ModelLookup for TheModel {
    fn model(&self, _: Option<&str>) -> Result<(String, Arc<dyn Model>), ModelError> {
        Ok(("openai/scripted".to_owned(), Arc::clone(&self.0)))
    }
}

/// No chance at all: names need only differ within one millisecond of one process.
struct Counted(AtomicU64);

impl RandomSource for Counted {
    fn fill(&self, bytes: &mut [u8]) {
        let count = self.0.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        bytes.fill(0);
        let ends = bytes.iter_mut().rev().zip(count.iter().rev());
        ends.for_each(|(byte, digit)| *byte = *digit);
    }
}

/// A host of sessions, and its runtime.
pub(crate) struct Place {
    pub(crate) host: AgentHost,
    runtime: Runtime,
}

impl Place {
    pub(crate) fn open(
        directory: &Path,
        journal: Arc<dyn Journal>,
        model: Arc<dyn Model>,
    ) -> Result<Self, Failure> {
        let runtime = runtime(directory, journal)?;
        let agents = find_agents(&AgentDirectories {
            root: None,
            trust: WorkspaceTrust::Trusted,
            user: None,
        });
        let mut options = ConnectionOptions::headless("chats", "example");
        options.subagents = agents.subagents();
        let host = AgentHost::new(AgentHostParts {
            connection: runtime.open_connection(options)?,
            runtime: runtime.clone(),
            models: Arc::new(TheModel(model)),
            agents: Arc::new(agents),
            prompt_context: surroundings(directory),
            clock: Arc::new(SystemClock),
            random: Arc::new(Counted(AtomicU64::new(0))),
            bounds: AgentBounds { steps: u32::MAX, ..AgentBounds::default() },
            asker: Arc::new(HeadlessAsker),
            observer: Arc::new(()),
        });
        Ok(Self { host, runtime })
    }

    pub(crate) async fn close(self) {
        self.host.close().await;
        self.runtime.shut_down().await;
    }
}

/// Returns a new session with the agent that people talk to.
pub(crate) fn new_chat() -> NewSession {
    NewSession { agent: "build".to_owned(), ..NewSession::default() }
}

fn surroundings(directory: &Path) -> AgentPromptContext {
    AgentPromptContext {
        root: directory.to_owned(),
        platform: "linux".to_owned(),
        date: "2026-01-01".to_owned(),
        git: None,
        instructions: String::new(),
        skills: Vec::new(),
    }
}

fn tool((name, effect): (&'static str, Effect)) -> Tool {
    Tool::new(name).effect(effect).execute_with(move |item: Item, _: Cx| async move {
        Ok::<_, ToolError>(scripted::result(name, item.number))
    })
}

fn runtime(directory: &Path, journal: Arc<dyn Journal>) -> Result<Runtime, Failure> {
    let roots = WorkspaceRoots::open(directory, &[])?;
    Ok(Runtime::new(RuntimeParts {
        registry: Registry::new(TOOLS.map(tool))?,
        rules: vec![(RuleScope::Manifest, Rule::new("*", "*", RuleAction::Allow))],
        is_gone: Arc::new(|_| Some(true)),
        ..RuntimeParts::new(
            journal,
            roots,
            directory.join("sidecars"),
            Arc::new(SystemClock),
            LeaseOwner {
                id: format!("process-{}", std::process::id()),
                location: "a measurement".to_owned(),
            },
        )
    })?)
}
