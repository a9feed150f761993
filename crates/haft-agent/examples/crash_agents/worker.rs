//! A process that has the conversation of a world until everything is done, or it is killed. It says on its standard output
//! which orders were answered, one line each, and only after that.

use std::sync::{Arc, Mutex, PoisonError};

use haft::{
    Headless, Limits, OnRepeat, Registry, Roots, Runtime, RuntimeParts, Sandbox, SessionOptions,
    SystemClock,
};
use haft_agent::{
    AgentBounds, AgentEvent, AgentHost, AgentPlaces, Chat, Happened, HostParts, NewChat, Prompt,
    Random as Chance, Surroundings, ToolResultStatus, TurnEnd, Watcher, WorkspaceTrust,
    find_agents,
};
use haft_contract::{Envelope, RequirementSet, Variables};
use haft_faults::Random;
use haft_faults::crash::{Failure, ready, say};
use haft_journal::{ChatQuery, Journal, Owner, SqliteJournal};
use haft_policy::{Action, NetworkGuard, Rule, RuleScope};
use haft_sandbox::Launcher;
use haft_tools::{Profile, ToolOptions};
use tokio_util::sync::CancellationToken;

use crate::model::Careful;
use crate::script::{OWN, World, prompt, tools};

/// Has the conversation of a world until everything is done.
pub(crate) async fn work(world: World, life: u64) -> Result<(), Failure> {
    std::fs::create_dir_all(world.root())?;
    let journal: Arc<dyn Journal> = Arc::new(SqliteJournal::open(world.journal())?);
    let runtime = runtime(&world, &journal, life)?;
    runtime.recover().await?;
    ready()?;
    let host = host(&world, runtime.clone(), life)?;
    let mut chat = chat(&host, &*journal).await?;
    let is_empty = chat.history().await?.is_empty();
    let mut next = if is_empty { Prompt::Say(prompt(&OWN)) } else { Prompt::GoOn };
    loop {
        let end = chat.turn(next, CancellationToken::new()).await?;
        if !matches!(end, TurnEnd::Done { .. }) {
            return Err(format!("the turn ended with {end:?}").into());
        }
        if !chat.next_background().await {
            break;
        }
        next = Prompt::GoOn;
    }
    drop(chat);
    host.close().await;
    runtime.shut_down().await;
    Ok(())
}

/// Goes on with the conversation of the world, or begins it.
async fn chat(host: &AgentHost, journal: &dyn Journal) -> Result<Chat, Failure> {
    let query = ChatQuery { only_top: true, ..ChatQuery::default() };
    Ok(match journal.chats(query).await?.first() {
        Some(row) => host.open(&row.id).await?,
        None => host.begin(NewChat { agent: "build".to_owned(), ..NewChat::default() }).await?,
    })
}

/// Says which orders were answered.
struct Answers;

impl Watcher for Answers {
    fn event(&self, event: AgentEvent) {
        let Happened::ToolResult { tool, status, envelope, .. } = event.happened else { return };
        if tool == "order"
            && status == ToolResultStatus::OutputAvailable
            && let Envelope::Output { data, .. } = &envelope
        {
            // A driver that does not listen any longer has killed this process.
            let _ = say(data.as_str().unwrap_or_default());
        }
    }
}

/// Chance that no other life has.
struct OfLife(Mutex<Random>);

impl Chance for OfLife {
    fn fill(&self, bytes: &mut [u8]) {
        let mut random = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for chunk in bytes.chunks_mut(8) {
            let number = random.number().to_le_bytes();
            chunk.iter_mut().zip(number).for_each(|(byte, random)| *byte = random);
        }
    }
}

fn host(world: &World, runtime: Runtime, life: u64) -> Result<AgentHost, Failure> {
    let agents =
        find_agents(&AgentPlaces { root: None, trust: WorkspaceTrust::Trusted, user: None });
    let mut options = SessionOptions::headless(format!("life{life}"), "crash");
    options.subagents = agents.subagents();
    let session = runtime.session(options)?;
    Ok(AgentHost::new(HostParts {
        runtime,
        session,
        models: Arc::new(Careful),
        agents: Arc::new(agents),
        surroundings: Surroundings { root: world.root(), ..Surroundings::default() },
        clock: Arc::new(SystemClock),
        random: Arc::new(OfLife(Mutex::new(Random::new(life)))),
        bounds: AgentBounds::default(),
        asker: Arc::new(Headless),
        watcher: Arc::new(Answers),
    }))
}

fn runtime(world: &World, journal: &Arc<dyn Journal>, life: u64) -> Result<Runtime, Failure> {
    let roots = Roots::open(&world.root(), &[])?;
    let real = haft_tools::tools(Profile::Contract, &ToolOptions::default());
    Ok(Runtime::new(RuntimeParts {
        registry: Registry::new(real.into_iter().chain(tools(world)))?,
        journal: Arc::clone(journal),
        variables: Variables { workspace: roots.paths(), ..Variables::default() },
        roots,
        requires: RequirementSet::default(),
        rules: vec![(RuleScope::Manifest, Rule::new("*", "*", Action::Allow))],
        limits: Limits::default(),
        allow_network: false,
        network_guard: NetworkGuard::default(),
        project_rules: None,
        watchdogs: Vec::new(),
        launcher: Launcher::new(std::env::current_exe()?),
        networking: haft::Networking::default(),
        sandbox: Sandbox::system(),
        environment: Vec::new(),
        sidecars: world.0.join("sidecars"),
        clock: Arc::new(SystemClock),
        owner: Owner { id: life.to_string(), place: format!("life {life}") },
        // There is one process at a time, and the driver starts none before the one before is gone.
        is_gone: Arc::new(move |owner: &Owner| {
            owner.id.parse().ok().map(|other: u64| other < life)
        }),
        snapshots: None,
        on_repeat: OnRepeat::default(),
        settings: "{}".to_owned(),
    })?)
}
