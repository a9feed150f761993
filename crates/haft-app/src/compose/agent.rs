//! Puts agents together for front ends with a conversation: the models by name, the agents of the workspace, and the prompt
//! context of an agent. The agent crate runs the sessions.

use std::path::Path;
use std::sync::Arc;

use haft::{
    Asker, Call, Connection, HeadlessAsker, PLAN_FRONT_END, ProblemSeverity, Runtime, TaskAttempt,
    load_instructions,
};
use haft_agent::{
    AgentDefinition, AgentDirectories, AgentEventObserver, AgentHost, AgentHostParts,
    AgentPromptContext, AgentRegistry, GitPromptContext, ModelLookup, RandomSource, find_agents,
};
use haft_contract::{BoxFuture, Envelope, SkillSummary, SubagentSummary};
use haft_model::{Model, ModelAnswerStream, ModelError, ModelRequest};
use serde_json::json;

use crate::app_error::{AppError, NextStep};
use crate::host::AppHost;
use crate::settings::EffectiveSettings;
use crate::{agents, calendar, compose, id, skills};

pub use crate::records::AGENT_FRONT_END as FRONT_END;

/// The agent of a new session, unless the settings or the front end name another one.
const AGENT_DEFAULT: &str = "build";
/// The task of a run in which haft itself looks where an agent works.
const SURROUNDINGS_NODE: &str = "surroundings";
/// Longest look at a repository before a session, in milliseconds.
pub const GIT_LOOK_MS: u64 = 5_000;
/// Problems of agents that are said when a session begins; of more it is said how many.
pub const AGENT_PROBLEMS_SAID_MAX: usize = 3;

/// The parts of an agent host that a front end provides.
pub struct AgentFrontEnd<'a> {
    /// The models by their names.
    pub models: Arc<dyn ModelLookup>,
    /// The agent that the user named.
    pub agent: Option<&'a str>,
    /// Asks the person.
    pub asker: Arc<dyn Asker>,
    /// Receives the events of all sessions.
    pub watcher: Arc<dyn AgentEventObserver>,
}

/// A host of agents with its runtime. Close it before the program ends.
pub struct ComposedAgent {
    /// Runs the sessions.
    pub host: AgentHost,
    /// Executes the calls of the agents.
    pub runtime: Runtime,
    /// The agents that a session can have.
    pub agents: Arc<AgentRegistry>,
    /// The agent that a new session is begun with.
    pub agent: String,
}

impl ComposedAgent {
    /// Stops what is done, and returns once that is recorded and all processes are gone.
    pub async fn close(&self) {
        self.host.close().await;
        self.runtime.shut_down().await;
    }
}

/// Returns the directories in which haft looks for agents of a workspace.
pub fn agent_paths(settings: &EffectiveSettings, host: &AppHost) -> AgentDirectories {
    let whole = settings.manifest.as_deref().filter(|_| settings.is_trusted);
    AgentDirectories {
        root: Some(settings.root.clone()),
        trust: agents::trust(&settings.root, whole),
        user: host.config_directory().map(|config| config.join("haft/agents")),
    }
}

/// Puts a host of agents together, and notifies `host` of agents and skills that cannot be used.
///
/// # Errors
///
/// Fails as [`compose::runtime`] does.
pub async fn agent_host(
    front: AgentFrontEnd<'_>,
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<ComposedAgent, AppError> {
    let told = HostCallbacks { models: front.models, asker: front.asker, watcher: front.watcher };
    let agents = find_agents_with_warnings(settings, host);
    let work = compose_agent(told, agents, settings, host, SurroundingsLookup::Gather).await?;
    let agent = front.agent.map_or(work.agent, str::to_owned);
    Ok(ComposedAgent { agent, ..work })
}

/// Finds the agents of the workspace, and notifies the host of those that cannot be used.
pub(super) fn find_agents_with_warnings(
    settings: &EffectiveSettings,
    host: &AppHost,
) -> AgentRegistry {
    let agents = find_agents(&agent_paths(settings, host));
    for problem in agents.problems.iter().take(AGENT_PROBLEMS_SAID_MAX) {
        let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
        let left_out = match problem.severity {
            ProblemSeverity::Error => " (it is left out)",
            ProblemSeverity::Warning => "",
        };
        let place = problem.file.display();
        host.warn(format!("agent {place}{line}: {}{left_out}", problem.message));
    }
    if let Some(more @ 1..) = agents.problems.len().checked_sub(AGENT_PROBLEMS_SAID_MAX) {
        let problems = if more == 1 { "problem" } else { "problems" };
        host.warn_with(format!("and {more} more {problems} with agents"), NextStep::CheckAgents);
    }
    agents
}

/// Returns the agents that a plan may give tasks to, which are those that a person or an agent can use.
pub fn plan_agents(settings: &EffectiveSettings, host: &AppHost) -> Vec<SubagentSummary> {
    summaries(&find_agents(&agent_paths(settings, host)))
}

/// Returns whether each of these agents names its own model, so that no other model is needed.
pub fn all_name_models<'a>(
    mut names: impl Iterator<Item = &'a str>,
    settings: &EffectiveSettings,
    host: &AppHost,
) -> bool {
    let agents = find_agents(&agent_paths(settings, host));
    names.all(|name| agents.get(name).is_some_and(|agent| agent.model.is_some()))
}

fn summaries(agents: &AgentRegistry) -> Vec<SubagentSummary> {
    let summary = |agent: &AgentDefinition| SubagentSummary {
        name: agent.name.clone(),
        description: agent.description.clone(),
    };
    agents.iter().map(summary).collect()
}

/// Puts the agents of a plan together on the runtime that drives it, and notifies `host` of agents and skills that cannot be
/// used. Close the host before the runtime.
///
/// # Errors
///
/// Fails as [`compose::runtime`] does.
pub async fn plan_agent_host(
    models: Arc<dyn ModelLookup>,
    asker: Arc<dyn Asker>,
    runtime: &Runtime,
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<AgentHost, AppError> {
    let agents = Arc::new(find_agents_with_warnings(settings, host));
    let connection =
        compose::open_agent_connection(runtime, settings, host, &agents, PLAN_FRONT_END)?;
    connection.keep_outputs();
    // The look at the repository is no part of the plan.
    let prompt_context = look_around(runtime, settings, host, &agents).await?;
    let parts = host_parts((models, agents, prompt_context), connection, runtime, settings, host);
    Ok(AgentHost::new(AgentHostParts { asker, ..parts }))
}

/// Gathers the prompt context of agents on a connection that is only for that.
pub(super) async fn look_around(
    runtime: &Runtime,
    settings: &EffectiveSettings,
    host: &AppHost,
    agents: &AgentRegistry,
) -> Result<AgentPromptContext, AppError> {
    let outside = compose::open_agent_connection(runtime, settings, host, agents, FRONT_END)?;
    skills::warn_of_problems(&outside, host);
    surroundings(&outside, settings, host).await
}

/// Returns the parts of a host of agents that asks no person and whose sessions are not watched.
pub(super) fn host_parts(
    (models, agents, prompt_context): (
        Arc<dyn ModelLookup>,
        Arc<AgentRegistry>,
        AgentPromptContext,
    ),
    connection: Connection,
    runtime: &Runtime,
    settings: &EffectiveSettings,
    host: &AppHost,
) -> AgentHostParts {
    AgentHostParts {
        runtime: runtime.clone(),
        connection,
        models,
        agents,
        prompt_context,
        clock: host.clock(),
        random: Arc::new(SystemRandom),
        bounds: settings.agent.bounds(),
        asker: super::mcp_asker(settings),
        observer: Arc::new(()),
    }
}

/// Puts a host together that reads and changes sessions and asks no model.
///
/// # Errors
///
/// Fails like [`super::runtime`].
pub async fn silent_host(
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<ComposedAgent, AppError> {
    let told = HostCallbacks {
        models: Arc::new(NoModels),
        asker: Arc::new(HeadlessAsker),
        watcher: Arc::new(()),
    };
    let agents = find_agents(&agent_paths(settings, host));
    compose_agent(told, agents, settings, host, SurroundingsLookup::Skip).await
}

/// The parts of a host that ask and notify the front end.
struct HostCallbacks {
    /// The models by their names.
    models: Arc<dyn ModelLookup>,
    /// Asks the person.
    asker: Arc<dyn Asker>,
    /// Receives the events of all sessions.
    watcher: Arc<dyn AgentEventObserver>,
}

/// Whether haft gathers the prompt context of agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SurroundingsLookup {
    /// The prompt of an agent describes the workspace.
    Gather,
    /// No agent is asked, so no prompt is needed.
    Skip,
}

/// Starts a runtime, recovers runs of dead processes, and opens the connection of the agents.
async fn compose_agent(
    told: HostCallbacks,
    agents: AgentRegistry,
    settings: &EffectiveSettings,
    host: &AppHost,
    look: SurroundingsLookup,
) -> Result<ComposedAgent, AppError> {
    let agents = Arc::new(agents);
    let agent = settings.agent.name.as_deref().unwrap_or(AGENT_DEFAULT).to_owned();
    let runtime = compose::agent_runtime(settings, host).await?;
    compose::recover(&runtime, host).await?;
    let session = compose::open_agent_connection(&runtime, settings, host, &agents, FRONT_END)?;
    // The sidecars are all that is left of long outputs; old ones are swept away by later commands.
    session.keep_outputs();
    let surroundings = match look {
        SurroundingsLookup::Gather => {
            skills::warn_of_problems(&session, host);
            surroundings(&session, settings, host).await?
        }
        SurroundingsLookup::Skip => AgentPromptContext::default(),
    };
    let parts = AgentHostParts {
        runtime: runtime.clone(),
        connection: session,
        models: told.models,
        agents: Arc::clone(&agents),
        prompt_context: surroundings,
        clock: host.clock(),
        random: Arc::new(SystemRandom),
        bounds: settings.agent.bounds(),
        asker: told.asker,
        observer: told.watcher,
    };
    Ok(ComposedAgent { host: AgentHost::new(parts), runtime, agents, agent })
}

/// The names of models, and no models.
struct NoModels;

impl ModelLookup for NoModels {
    fn model(&self, name: Option<&str>) -> Result<(String, Arc<dyn Model>), ModelError> {
        Ok((name.unwrap_or_default().to_owned(), Arc::new(Self)))
    }
}

impl Model for NoModels {
    fn respond(&self, _: ModelRequest) -> BoxFuture<'_, Result<ModelAnswerStream, ModelError>> {
        Box::pin(async { Err(ModelError::Settings("no model is asked here".to_owned())) })
    }

    fn takes_images(&self) -> bool {
        false
    }
}

/// Chance as the system gives it.
struct SystemRandom;

impl RandomSource for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(16) {
            let random = id::random_bytes::<16>().expect("the system gave random bytes before");
            chunk.iter_mut().zip(random).for_each(|(byte, random)| *byte = random);
        }
    }
}

/// Gathers the prompt context of agents, once for all sessions of this process.
async fn surroundings(
    session: &Connection,
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<AgentPromptContext, AppError> {
    let told = load_instructions(&settings.root, host.absolute_home());
    for problem in &told.problems {
        host.warn(problem);
    }
    let found = haft::find_skills(&skills::skill_paths(settings, host)).skills.into_iter();
    let summary =
        |skill: haft::Skill| SkillSummary { name: skill.name, description: skill.description };
    let root = settings.root.canonicalize().unwrap_or_else(|_| settings.root.clone());
    Ok(AgentPromptContext {
        git: git(session, &root, host).await?,
        root,
        platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        date: calendar::day(host.now_ms()),
        instructions: told.text(),
        skills: found.map(summary).collect(),
    })
}

/// Asks git as an agent could, through the pipeline and confined: the configuration of a stranger's repository may name
/// programs. If the call is refused or fails, the prompt says nothing of git.
async fn git(
    session: &Connection,
    root: &Path,
    host: &AppHost,
) -> Result<Option<GitPromptContext>, AppError> {
    if !root.ancestors().any(|directory| directory.join(".git").symlink_metadata().is_ok()) {
        return Ok(None);
    }
    let run = session.run(compose::new_run(host.now_ms())?);
    let call = Call {
        task_attempt: TaskAttempt { node: SURROUNDINGS_NODE.to_owned(), ..TaskAttempt::default() },
        timeout_ms: Some(GIT_LOOK_MS),
        ..Call::new("bash", json!({"cmd": "git status --porcelain --branch"}))
    };
    let envelope = run.call(call).await?;
    let is_told = matches!(envelope, Envelope::Output { .. });
    let is_told = is_told && envelope.metadata().exit_code.is_none_or(|status| status == 0);
    Ok(is_told.then(|| envelope.text()).as_deref().and_then(state_of_git))
}

/// Returns what `git status --porcelain --branch` says.
fn state_of_git(text: &str) -> Option<GitPromptContext> {
    let (branch, status) = text.split_once('\n').unwrap_or((text, ""));
    let branch = branch.strip_prefix("## ")?.to_owned();
    Some(GitPromptContext { branch, status: status.trim_end().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_is_taken_apart() {
        let check = |text: &str, expect: Option<(&str, &str)>| {
            let found = state_of_git(text);
            let found = found.as_ref().map(|git| (git.branch.as_str(), git.status.as_str()));
            assert_eq!(found, expect, "{text}");
        };
        let ahead = "main...origin/main [ahead 1]";
        check(&format!("## {ahead}\n M a\n?? b\n"), Some((ahead, " M a\n?? b")));
        check("## No commits yet on main\n", Some(("No commits yet on main", "")));
        check("fatal: not a git repository", None);
        check("", None);
    }
}
