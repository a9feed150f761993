//! Agents put together for the front ends that people talk to them through: models by name, the agents there are, and what
//! an agent is told of where it works. What happens in a session is the agent crate's business.

use std::path::Path;
use std::sync::Arc;

use haft::{
    Asker, Call, Clock as _, Headless, Place, ProblemSeverity, Runtime, Session, SystemClock,
    instructions,
};
use haft_agent::{
    AgentHost, FoundAgents, GitSurroundings, HostParts, Models, Random, Surroundings, Watcher,
    find_agents,
};
use haft_contract::{BoxFuture, Envelope, SkillSummary};
use haft_model::{Model, ModelError, Request, Responding};
use serde_json::json;

use super::backlog::Backlog;
use crate::error::CommandError;
use crate::manifest::ModelSection;
use crate::model::{ModelArgs, provider};
use crate::settings::Settings;
use crate::state::State;
use crate::{compose, id, output, skills, time};

/// The agent that is talked to unless somebody names another one.
const AGENT_DEFAULT: &str = "build";
/// The kind of front end that runs of agents are recorded with.
pub(crate) const FRONT_END: &str = "agent";
/// The task of a run in which haft itself looks where an agent works.
const SURROUNDINGS_NODE: &str = "surroundings";
/// Longest look at a repository before a session, in milliseconds.
pub(crate) const GIT_LOOK_MS: u64 = 5_000;
/// Problems of agents that are said when a session begins; of more it is said how many.
pub(crate) const AGENT_PROBLEMS_SAID_MAX: usize = 3;

/// What a front end brings.
pub(crate) struct AgentFront<'a> {
    /// Which model is asked.
    pub(crate) model: &'a ModelArgs,
    /// The agent that somebody named.
    pub(crate) agent: Option<&'a str>,
    /// Asks the person.
    pub(crate) asker: Arc<dyn Asker>,
    /// Is told what happens.
    pub(crate) watcher: Arc<dyn Watcher>,
    /// What waits to be shown, where models are to be read no faster than that.
    pub(crate) backlog: Option<Arc<Backlog>>,
}

/// A host of agents, and what it stands on.
pub(crate) struct AgentWork {
    pub(crate) host: AgentHost,
    pub(crate) runtime: Runtime,
    pub(crate) agents: Arc<FoundAgents>,
    /// The agent that a new session is begun with.
    pub(crate) agent: String,
}

impl AgentWork {
    /// Stops what is done, and returns once that is recorded and all processes are gone.
    pub(crate) async fn close(&self) {
        self.host.close().await;
        self.runtime.shut_down().await;
    }
}

/// Puts a host of agents together.
pub(crate) async fn agent_host(
    front: AgentFront<'_>,
    settings: &Settings,
    state: &State,
) -> Result<AgentWork, CommandError> {
    let models = NamedModels { args: front.model.clone(), section: settings.model.clone() };
    let models: Arc<dyn Models> = match front.backlog {
        Some(backlog) => backlog.paced(Arc::new(models)),
        None => Arc::new(models),
    };
    let told = Told { models, asker: front.asker, watcher: front.watcher };
    let agents = find_agents(&crate::agents::places(settings));
    warn_of_problems(&agents);
    let work = put_together(told, agents, settings, state, Look::Around).await?;
    let agent = front.agent.map_or(work.agent, str::to_owned);
    Ok(AgentWork { agent, ..work })
}

/// Puts a host together that looks after sessions and asks no model.
pub(crate) async fn silent_host(
    settings: &Settings,
    state: &State,
) -> Result<AgentWork, CommandError> {
    let told =
        Told { models: Arc::new(NoModels), asker: Arc::new(Headless), watcher: Arc::new(()) };
    let agents = find_agents(&crate::agents::places(settings));
    put_together(told, agents, settings, state, Look::Nowhere).await
}

/// Whom a host asks and tells.
struct Told {
    models: Arc<dyn Models>,
    asker: Arc<dyn Asker>,
    watcher: Arc<dyn Watcher>,
}

/// Whether it is found out where agents work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Around,
    Nowhere,
}

async fn put_together(
    told: Told,
    agents: FoundAgents,
    settings: &Settings,
    state: &State,
    look: Look,
) -> Result<AgentWork, CommandError> {
    let agents = Arc::new(agents);
    let agent = settings.agent.name.as_deref().unwrap_or(AGENT_DEFAULT).to_owned();
    let runtime = compose::runtime(settings, state).await?;
    compose::recover(&runtime).await?;
    let session = compose::agent_session(&runtime, settings, &agents)?;
    // The sidecars are all that is left of long outputs; old ones are swept away by later commands.
    session.keep_outputs();
    let surroundings = match look {
        Look::Around => {
            skills::warn_of_problems(&session);
            surroundings(&session, settings).await?
        }
        Look::Nowhere => Surroundings::default(),
    };
    let parts = HostParts {
        runtime: runtime.clone(),
        session,
        models: told.models,
        agents: Arc::clone(&agents),
        surroundings,
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        bounds: settings.agent.bounds(),
        asker: told.asker,
        watcher: told.watcher,
    };
    Ok(AgentWork { host: AgentHost::new(parts), runtime, agents, agent })
}

/// Models by the names that agents and sessions have for them.
struct NamedModels {
    args: ModelArgs,
    section: ModelSection,
}

impl Models for NamedModels {
    fn model(&self, name: Option<&str>) -> Result<(String, Arc<dyn Model>), ModelError> {
        let settings = match name {
            Some(name) => self.args.settings_named(name, &self.section),
            None => self.args.settings(&self.section),
        };
        let provider = provider(settings.map_err(|err| ModelError::Settings(err.message))?)?;
        Ok((provider.name(), Arc::new(provider)))
    }
}

/// The names of models, and no models.
struct NoModels;

impl Models for NoModels {
    fn model(&self, name: Option<&str>) -> Result<(String, Arc<dyn Model>), ModelError> {
        Ok((name.unwrap_or_default().to_owned(), Arc::new(Self)))
    }
}

impl Model for NoModels {
    fn respond(&self, _: Request) -> BoxFuture<'_, Result<Responding, ModelError>> {
        Box::pin(async { Err(ModelError::Settings("no model is asked here".to_owned())) })
    }
}

/// Chance as the system gives it.
struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(16) {
            let random = id::random_bytes::<16>().expect("the system gave random bytes before");
            chunk.iter_mut().zip(random).for_each(|(byte, random)| *byte = random);
        }
    }
}

fn warn_of_problems(agents: &FoundAgents) {
    let problems = &agents.problems;
    for problem in problems.iter().take(AGENT_PROBLEMS_SAID_MAX) {
        let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
        let left_out = match problem.severity {
            ProblemSeverity::Error => " (it is left out)",
            ProblemSeverity::Warning => "",
        };
        let place = problem.file.display();
        output::warning(&format!("agent {place}{line}: {}{left_out}", problem.message), None);
    }
    if let Some(more) = problems.len().checked_sub(AGENT_PROBLEMS_SAID_MAX).filter(|more| *more > 0)
    {
        let problems = if more == 1 { "problem" } else { "problems" };
        output::warning(
            &format!("and {more} more {problems} with agents: haft agents check"),
            None,
        );
    }
}

/// Looks where agents work, once for all sessions of this process.
async fn surroundings(
    session: &Session,
    settings: &Settings,
) -> Result<Surroundings, CommandError> {
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    let told = instructions(&settings.root, home.as_deref());
    for problem in &told.problems {
        output::warning(problem, None);
    }
    let found = haft::find_skills(&skills::places(settings)).skills.into_iter();
    let summary =
        |skill: haft::Skill| SkillSummary { name: skill.name, description: skill.description };
    let root = settings.root.canonicalize().unwrap_or_else(|_| settings.root.clone());
    Ok(Surroundings {
        git: git(session, &root).await?,
        root,
        platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        date: time::day(SystemClock.now_ms()),
        instructions: told.text(),
        skills: found.map(summary).collect(),
    })
}

/// Asks git as an agent could, through the pipeline and confined: a repository is a stranger's, and its configuration names
/// programs. Where that is refused or fails, nothing is known of it.
async fn git(session: &Session, root: &Path) -> Result<Option<GitSurroundings>, CommandError> {
    if !root.ancestors().any(|directory| directory.join(".git").symlink_metadata().is_ok()) {
        return Ok(None);
    }
    let run = session.run(compose::new_run()?);
    let call = Call {
        place: Place { node: SURROUNDINGS_NODE.to_owned(), ..Place::default() },
        timeout_ms: Some(GIT_LOOK_MS),
        ..Call::new("bash", json!({"cmd": "git status --porcelain --branch"}))
    };
    let envelope = run.call(call).await?;
    let is_told = matches!(envelope, Envelope::Output { .. });
    let is_told = is_told && envelope.metadata().exit_code.is_none_or(|status| status == 0);
    Ok(is_told.then(|| envelope.text()).as_deref().and_then(state_of_git))
}

/// Returns what `git status --porcelain --branch` says.
fn state_of_git(text: &str) -> Option<GitSurroundings> {
    let (branch, status) = text.split_once('\n').unwrap_or((text, ""));
    let branch = branch.strip_prefix("## ")?.to_owned();
    Some(GitSurroundings { branch, status: status.trim_end().to_owned() })
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
