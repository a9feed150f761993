//! A process that has the conversation of a world until everything is done, or it is killed. It says on its standard output
//! which orders were answered, one line each, and only after that.

use std::sync::{Arc, Mutex, PoisonError};

use haft::{
    ConnectionOptions, HeadlessAsker, Registry, Runtime, RuntimeParts, SystemClock, WorkspaceRoots,
};
use haft_agent::{
    AgentBounds, AgentDirectories, AgentEvent, AgentEventKind, AgentEventObserver, AgentHost,
    AgentHostParts, AgentPromptContext, AgentSession, NewSession, RandomSource as Chance,
    ToolResultStatus, TurnEnd, TurnPrompt, WorkspaceTrust, find_agents,
};
use haft_contract::Envelope;
use haft_faults::SeededRandom;
use haft_faults::crash::{CrashTestError, print_line, report_ready};
use haft_journal::{Journal, LeaseOwner, SessionQuery, SqliteJournal};
use haft_policy::{Rule, RuleAction, RuleScope};
use haft_sandbox::Launcher;
use haft_tools::{Profile, ToolOptions};
use tokio_util::sync::CancellationToken;

use crate::model::Careful;
use crate::script::{OWN, World, prompt, tools};

/// Has the conversation of a world until everything is done.
pub(crate) async fn work(world: World, life: u64) -> Result<(), CrashTestError> {
    std::fs::create_dir_all(world.root())?;
    let journal: Arc<dyn Journal> = Arc::new(SqliteJournal::open(world.journal())?);
    let runtime = runtime(&world, &journal, life)?;
    runtime.recover().await?;
    report_ready()?;
    let host = host(&world, runtime.clone(), life)?;
    let mut chat = chat(&host, &*journal).await?;
    let is_empty = chat.history().await?.is_empty();
    let mut next =
        if is_empty { TurnPrompt::Message(prompt(&OWN).into()) } else { TurnPrompt::Continue };
    loop {
        let end = chat.run_turn(next, CancellationToken::new()).await?;
        if !matches!(end, TurnEnd::Done { .. }) {
            return Err(format!("the turn ended with {end:?}").into());
        }
        if !chat.wait_for_background().await {
            break;
        }
        next = TurnPrompt::Continue;
    }
    drop(chat);
    host.close().await;
    runtime.shut_down().await;
    Ok(())
}

/// Goes on with the conversation of the world, or begins it.
async fn chat(host: &AgentHost, journal: &dyn Journal) -> Result<AgentSession, CrashTestError> {
    let query = SessionQuery { only_top: true, ..SessionQuery::default() };
    Ok(match journal.sessions(query).await?.first() {
        Some(row) => host.open(&row.id).await?,
        None => {
            host.begin(NewSession { agent: "build".to_owned(), ..NewSession::default() }).await?
        }
    })
}

/// Says which orders were answered.
struct Answers;

impl AgentEventObserver for Answers {
    fn on_event(&self, event: AgentEvent) {
        let AgentEventKind::ToolResult { tool, status, envelope, .. } = event.kind else { return };
        if tool == "order"
            && status == ToolResultStatus::OutputAvailable
            && let Envelope::Output { data, .. } = &envelope
        {
            // A driver that does not listen any longer has killed this process.
            let _ = print_line(data.as_str().unwrap_or_default());
        }
    }
}

/// Chance that no other life has.
struct OfLife(Mutex<SeededRandom>);

impl Chance for OfLife {
    fn fill(&self, bytes: &mut [u8]) {
        let mut random = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for chunk in bytes.chunks_mut(8) {
            let number = random.number().to_le_bytes();
            chunk.iter_mut().zip(number).for_each(|(byte, random)| *byte = random);
        }
    }
}

fn host(world: &World, runtime: Runtime, life: u64) -> Result<AgentHost, CrashTestError> {
    let agents =
        find_agents(&AgentDirectories { root: None, trust: WorkspaceTrust::Trusted, user: None });
    let mut options = ConnectionOptions::headless(format!("life{life}"), "crash");
    options.subagents = agents.subagents();
    let session = runtime.open_connection(options)?;
    Ok(AgentHost::new(AgentHostParts {
        runtime,
        connection: session,
        models: Arc::new(Careful),
        agents: Arc::new(agents),
        prompt_context: AgentPromptContext { root: world.root(), ..AgentPromptContext::default() },
        clock: Arc::new(SystemClock),
        random: Arc::new(OfLife(Mutex::new(SeededRandom::new(life)))),
        bounds: AgentBounds::default(),
        asker: Arc::new(HeadlessAsker),
        observer: Arc::new(Answers),
    }))
}

fn runtime(
    world: &World,
    journal: &Arc<dyn Journal>,
    life: u64,
) -> Result<Runtime, CrashTestError> {
    let roots = WorkspaceRoots::open(&world.root(), &[])?;
    let real = haft_tools::tools(Profile::Contract, &ToolOptions::default());
    Ok(Runtime::new(RuntimeParts {
        registry: Registry::new(real.into_iter().chain(tools(world)))?,
        rules: vec![(RuleScope::Manifest, Rule::new("*", "*", RuleAction::Allow))],
        launcher: Launcher::new(std::env::current_exe()?),
        // There is one process at a time, and the driver starts none before the one before is gone.
        is_gone: Arc::new(move |owner: &LeaseOwner| {
            owner.id.parse().ok().map(|other: u64| other < life)
        }),
        ..RuntimeParts::new(
            Arc::clone(journal),
            roots,
            world.0.join("sidecars"),
            Arc::new(SystemClock),
            LeaseOwner { id: life.to_string(), location: format!("life {life}") },
        )
    })?)
}
