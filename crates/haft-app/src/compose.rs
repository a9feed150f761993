//! The composition root: the one place where tools, journal, rules, roots and launcher are put together. The libraries read
//! neither the environment nor the clock nor the path of this program; this module passes them in.

pub mod agent;
mod lsp;
mod record;
pub mod snapshots;
pub mod task_agents;
mod tools;
mod watchdogs;
mod web;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use haft::{
    AD_HOC_PATTERN, Asker, ConfineMode, Connection, ConnectionOptions, HeadlessAsker, ModelView,
    PLAN_FRONT_END, ReadablePaths, Registry, Runtime, RuntimeParts, Sandbox, ToolListing,
    WaitingAsker, WorkspaceRoots,
};
use haft_agent::{AgentRegistry, plan_exit_tool};
use haft_contract::{PatternVariables, RunId, SubagentSummary};
use haft_journal::{Journal, MemoryJournal};
use haft_mcp::{AskPageFinder, ServerDiscovery};
use haft_plan::drive::{AGENT_NODE_TOOL, PERSON_NODE_TOOL, PLAN_TOOL, plan_tools};
use haft_policy::{Rule, RuleAction, RuleScope};
use haft_sandbox::{Enforcement, Launcher, Mechanisms, Network};
use haft_tools::Profile;

pub use self::agent::{agent_host, agent_paths};
pub use self::tools::{AvailableTools, bridge, finder};
pub use self::web::search;
use crate::app_error::{AppError, NextStep};
use crate::host::AppHost;
use crate::host_paths::{HostPaths, canonical_outside_roots, git_identity};
use crate::manifest::AskPolicy;
use crate::preset::Preset;
use crate::running_inspector::{RunningInspector, ask_page};
use crate::settings::EffectiveSettings;
use crate::{
    environment, haft_files, id, notify, permission_names, process_identity, sidecars, skills,
};

/// The front end of MCP clients.
const MCP: &str = "mcp";

/// Returns the tools that the settings offer.
///
/// # Errors
///
/// Fails if the settings name tools that do not exist, or if two sources bring tools of one id.
pub async fn registry(settings: &EffectiveSettings, host: &AppHost) -> Result<Registry, AppError> {
    Ok(AvailableTools::find(settings, host).await?.offered().clone())
}

/// Returns the message that there is no such tool, with the names that are nearly the same.
pub fn unknown_tool(registry: &Registry, name: &str) -> String {
    if registry.is_untrusted(name) {
        return format!("tool {name:?} is not trusted yet");
    }
    // No agent is offered the tool that keeps plans.
    let is_offered = |id: &&str| *id != PLAN_TOOL;
    let near = registry.near_matches(name).into_iter().filter(is_offered).collect::<Vec<_>>();
    match near.as_slice() {
        [] => {
            let ids = registry.contracts().map(|contract| contract.id.as_str()).filter(is_offered);
            let ids: Vec<&str> = ids.collect();
            format!("no tool is called {name:?}: expected one of {}", ids.join(", "))
        }
        names => format!("no tool is called {name:?}: did you mean {}?", names.join(" or ")),
    }
}

/// Returns a runtime that records calls in the journal of the settings.
///
/// It reads Python tools and the lists of MCP servers, and removes outputs that are older than they are kept.
///
/// # Errors
///
/// Fails if the journal cannot be opened, or if a rule or a list of tools names something unknown.
pub async fn runtime(settings: &EffectiveSettings, host: &AppHost) -> Result<Runtime, AppError> {
    let journal = open_journal(settings, host);
    runtime_opening(journal, &AvailableTools::find(settings, host).await?, settings, host).await
}

/// Returns a runtime like [`runtime`], for calls of one tool. It starts no MCP server that cannot have that tool.
///
/// # Errors
///
/// Fails as [`runtime`] does.
pub async fn tool_runtime(
    settings: &EffectiveSettings,
    host: &AppHost,
    tool: &str,
) -> Result<Runtime, AppError> {
    let journal = open_journal(settings, host);
    let tools = AvailableTools::find_with(settings, host, ServerDiscovery::Tool(tool)).await?;
    runtime_opening(journal, &tools, settings, host).await
}

/// Returns a runtime like [`runtime`], for a front end that lists tools again when they change. It waits only briefly for MCP
/// servers that never listed their tools.
///
/// # Errors
///
/// Fails as [`runtime`] does.
pub async fn serving_runtime(
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<Runtime, AppError> {
    let journal = open_journal(settings, host);
    let tools = AvailableTools::find_with(settings, host, ServerDiscovery::Serving).await?;
    runtime_opening(journal, &tools, settings, host).await
}

/// Returns a runtime like [`serving_runtime`], for agents that a person talks to. They have a further tool, by which one agent hands
/// over to another.
async fn agent_runtime(settings: &EffectiveSettings, host: &AppHost) -> Result<Runtime, AppError> {
    let journal = open_journal(settings, host);
    let mut tools = AvailableTools::find_with(settings, host, ServerDiscovery::Serving).await?;
    tools.add(plan_exit_tool())?;
    runtime_opening(journal, &tools, settings, host).await
}

/// Returns a runtime that records calls of these tools in the journal of the settings.
///
/// # Errors
///
/// Fails if the journal cannot be opened, if a rule names something unknown, if a root cannot be used, and if a protected
/// path cannot be protected.
pub async fn runtime_of(
    tools: &AvailableTools,
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<Runtime, AppError> {
    runtime_opening(open_journal(settings, host), tools, settings, host).await
}

/// Returns a runtime that records calls in a journal that is being opened.
async fn runtime_opening(
    journal: impl Future<Output = Result<Arc<dyn Journal>, AppError>>,
    tools: &AvailableTools,
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<Runtime, AppError> {
    let runtime = Runtime::new(recording_parts(journal, tools, settings, host).await?)?;
    tools.watch_server_changes(&runtime, settings);
    Ok(runtime)
}

/// Returns a runtime that records calls of these tools in an open journal, without snapshots.
///
/// # Errors
///
/// Fails like [`runtime_of`], except that the journal is open already.
pub fn runtime_on(
    journal: Arc<dyn Journal>,
    tools: &AvailableTools,
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<Runtime, AppError> {
    let process = process_parts(settings, host)?;
    let mut parts = runtime_parts(journal, process, tools, settings, host)?;
    parts.events = notify::observer(&parts, settings, host);
    let runtime = Runtime::new(parts)?;
    tools.watch_server_changes(&runtime, settings);
    Ok(runtime)
}

/// Returns a runtime that drives plans with these tools. It can record the plans with their runs, too.
///
/// # Errors
///
/// Fails like [`runtime_of`].
pub async fn plan_runtime(
    tools: &AvailableTools,
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<Runtime, AppError> {
    let journal = open_journal(settings, host);
    let mut parts = recording_parts(journal, tools, settings, host).await?;
    add_plan_tools(&mut parts, settings)?;
    let runtime = Runtime::new(parts)?;
    tools.watch_server_changes(&runtime, settings);
    Ok(runtime)
}

/// Adds the tools that a driver of plans calls for its own purposes, and the rules that it needs for them.
fn add_plan_tools(parts: &mut RuntimeParts, settings: &EffectiveSettings) -> Result<(), AppError> {
    for tool in plan_tools() {
        parts.registry.add(tool)?;
    }
    let allow = |tool: &str| Rule::new(tool, "*", RuleAction::Allow);
    // A question is the person's own.
    parts.rules.push((RuleScope::Preset, allow(PERSON_NODE_TOOL)));
    // Every call of an agent is judged by itself. The rules of the other presets say what becomes of an agent.
    if settings.preset == Preset::Workspace {
        parts.rules.push((RuleScope::Preset, allow(AGENT_NODE_TOOL)));
    }
    // A rule that denies everything must not keep a plan from being recorded: recording it has no effect outside.
    parts.rules.push((RuleScope::Manifest, allow(PLAN_TOOL)));
    Ok(())
}

/// Returns the parts of a runtime that records calls and snapshots. It also removes old outputs of sessions.
async fn recording_parts(
    journal: impl Future<Output = Result<Arc<dyn Journal>, AppError>>,
    tools: &AvailableTools,
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<RuntimeParts, AppError> {
    let process = process_parts(settings, host)?;
    let journal = journal.await?;
    sidecars::remove_old_sidecars(
        &host.state().sidecars(),
        UNIX_EPOCH + Duration::from_millis(host.now_ms()),
        settings.durability.keep_days,
    );
    let mut parts = runtime_parts(Arc::clone(&journal), process, tools, settings, host)?;
    parts.launcher = parts.launcher.with_recovery_log(host.state().concurrent_scans());
    parts.snapshots = snapshots::hook(&journal, settings, host, &parts)?;
    parts.events = notify::observer(&parts, settings, host);
    Ok(parts)
}

/// Returns a runtime that shows what calls would do. Its journal is in memory, so nothing of it remains.
///
/// # Errors
///
/// Fails like [`registry`], and like [`runtime_of`] for everything but the journal.
pub async fn unrecorded_runtime(
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<Runtime, AppError> {
    let tools = AvailableTools::find(settings, host).await?;
    let (journal, process) = (Arc::new(MemoryJournal::new()), process_parts(settings, host)?);
    Ok(Runtime::new(runtime_parts(journal, process, &tools, settings, host)?)?)
}

/// Returns a runtime that shows what a plan would do with these tools. Its journal is in memory.
///
/// # Errors
///
/// Fails like [`runtime_of`] for everything but the journal.
pub fn unrecorded_plan_runtime(
    tools: &AvailableTools,
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<Runtime, AppError> {
    let (journal, process) = (Arc::new(MemoryJournal::new()), process_parts(settings, host)?);
    let mut parts = runtime_parts(journal, process, tools, settings, host)?;
    add_plan_tools(&mut parts, settings)?;
    Ok(Runtime::new(parts)?)
}

/// Returns the parts of a runtime without snapshots. Fails if a rule names a tool or a capability that does not exist.
fn runtime_parts(
    journal: Arc<dyn Journal>,
    process: ProcessParts,
    tools: &AvailableTools,
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<RuntimeParts, AppError> {
    permission_names::check(&settings.rules, &settings.requires.capabilities, tools.names(), host)?;
    let ProcessParts { roots, launcher, sandbox, environment } = process;
    Ok(RuntimeParts {
        registry: tools.offered().clone(),
        variables: variables(&roots, settings, host),
        journal,
        requires: settings.requires.clone(),
        rules: settings.rules.clone(),
        limits: settings.limits,
        allow_network: settings.allow_network,
        network_guard: settings.network_guard,
        project_rules: Some(Arc::new(settings.project.clone())),
        watchdogs: watchdogs::watchdogs(settings, host, &roots.paths())?,
        manifest: watchdogs::manifest(settings)?,
        roots,
        launcher,
        networking: haft::NetworkSettings::default(),
        sandbox,
        environment,
        sidecars: host.state().sidecars(),
        clock: host.clock(),
        owner: process_identity::this_process(host.now_ms())?,
        is_gone: Arc::new(process_identity::check_gone),
        snapshots: None,
        on_repeat: settings.durability.on_repeat,
        events: None,
        settings: record::settings_record(settings),
    })
}

/// Begins to open the journal of the settings. Mentions a journal that is new, because its owner may have expected another one.
fn open_journal(
    settings: &EffectiveSettings,
    host: &AppHost,
) -> impl Future<Output = Result<Arc<dyn Journal>, AppError>> + Send + use<> {
    let journal = &settings.durability.journal;
    if journal.is_missing() {
        host.mention(format!("this begins a new journal, {journal}"));
    }
    journal.open()
}

/// The parts from which a confined process is started.
struct ProcessParts {
    /// The directories that calls may reach.
    roots: WorkspaceRoots,
    /// Starts the processes.
    launcher: Launcher,
    /// Confines the processes.
    sandbox: Sandbox,
    /// The variables that a process gets.
    environment: Vec<(OsString, OsString)>,
}

/// Puts together what starts confined processes. Fails if a root cannot be opened or a protected path is not valid.
fn process_parts(settings: &EffectiveSettings, host: &AppHost) -> Result<ProcessParts, AppError> {
    let roots = roots(settings)?;
    let launcher = Launcher::new(host.program()?).with_quarantine(host.state().quarantine());
    let launcher = match settings.sandbox.control_groups {
        true => launcher.with_control_groups(),
        false => launcher,
    };
    let places = host_paths(settings, host, &roots.paths());
    let protected = settings.sandbox.protected.clone();
    let mut files = settings.manifest.iter().chain(&settings.user_configuration);
    let protected = files.try_fold(protected, |protected, file| {
        haft_files::protect_manifest(protected, file, &roots.paths())
    })?;
    let mut environment = environment::allowed(host.variables());
    for (_, path) in environment.iter_mut().filter(|(name, _)| name == "PATH") {
        // Commands see toolchains at their real place, and not the links that lead there, such as `current`.
        let real = |directory: PathBuf| directory.canonicalize().unwrap_or(directory);
        let joined = std::env::join_paths(std::env::split_paths(path).map(real));
        *path = joined.unwrap_or_else(|_| path.clone());
    }
    // Commands do not see the configuration of git, so they get the user's name and address from there.
    environment.extend(git_identity(&|name| host.variable(name), &places.home));
    let sandbox = Sandbox {
        confine: match settings.sandbox.is_off {
            true => ConfineMode::UnsafeNever,
            false => ConfineMode::Always,
        },
        readable: places.readable,
        hidden: places.hidden,
        protected,
        home: places.home,
        resources: settings.sandbox.resources,
        upstream: settings.proxy.clone(),
        mechanisms: mechanisms(host),
    };
    Ok(ProcessParts { roots, launcher, sandbox, environment })
}

/// Opens the directories that calls may reach.
///
/// # Errors
///
/// Fails if a root does not exist or is no directory, and if one of them is `/`: the sandbox cannot confine commands to
/// everything.
pub fn roots(settings: &EffectiveSettings) -> Result<WorkspaceRoots, AppError> {
    let roots = WorkspaceRoots::open(&settings.root, &settings.roots)?;
    if roots.paths().iter().any(|root| root == Path::new("/")) {
        let message =
            "root / cannot be used: commands cannot be confined to everything; name a directory";
        return Err(AppError::configuration(message).next(NextStep::NameRoot));
    }
    Ok(roots)
}

/// Returns the values of the variables in path patterns, such as `{workspace}` and `{user-data}`.
pub fn variables(
    roots: &WorkspaceRoots,
    settings: &EffectiveSettings,
    host: &AppHost,
) -> PatternVariables {
    PatternVariables {
        workspace: roots.paths(),
        ad_hoc: settings.ad_hoc.clone(),
        user_data: host.user_data().into_iter().collect(),
    }
}

/// Returns all rules that a call of the command line is judged by.
///
/// # Errors
///
/// Fails if the settings allow the calls of a tool that does not exist.
pub fn rules_in_force(
    settings: &EffectiveSettings,
    registry: &Registry,
) -> Result<Vec<(RuleScope, Rule)>, AppError> {
    let of_session = connection_rules(settings, registry)?.into_iter();
    let of_session = of_session.map(|rule| (RuleScope::Session, rule));
    Ok(settings.rules.iter().cloned().chain(of_session).collect())
}

/// Returns the places that commands see beside the roots, and those that are hidden from commands and tools.
///
/// Named places that do not exist are left out: a manifest may be shared by machines on which these places differ.
pub fn host_paths(settings: &EffectiveSettings, host: &AppHost, roots: &[PathBuf]) -> HostPaths {
    let home = host.home().unwrap_or(Path::new("/"));
    let of_host = host.clone();
    let mut places = HostPaths::discover(move |name| of_host.variable(name), home, roots);
    let (found, named) = (places.readable.clone(), settings.sandbox.readable.clone());
    let roots = roots.to_vec();
    places.readable = ReadablePaths::from_search(move || {
        let named = named.iter().filter_map(|place| canonical_outside_roots(place, &roots).ok());
        found.iter().cloned().chain(named).collect()
    });
    places.hidden.extend(haft_files::hidden_paths(
        host.state().directory(),
        settings.durability.journal.file(),
    ));
    places
}

/// Returns what holds around commands with these settings, or `None` if they are not confined.
///
/// # Errors
///
/// Fails if the program that starts confined processes does not work.
pub async fn enforcement(
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<Option<Enforcement>, AppError> {
    if settings.sandbox.is_off {
        return Ok(None);
    }
    let network = if settings.allow_network { Network::Host } else { Network::Loopback };
    let launcher = Launcher::new(host.program()?);
    launcher.probe_enforcement(network, mechanisms(host)).await.map(Some).map_err(|err| {
        AppError::failed(format!("haft cannot find out what the kernel enforces here: {err}"))
    })
}

/// Returns the mechanisms of the kernel to use, which are all of them.
#[cfg(not(debug_assertions))]
pub fn mechanisms(_: &AppHost) -> Mechanisms {
    Mechanisms::ALL
}

/// Returns the mechanisms of the kernel to use. The tests of what each of them stops leave one out; a released program
/// knows no such variable.
#[cfg(debug_assertions)]
pub fn mechanisms(host: &AppHost) -> Mechanisms {
    let Some(named) = host.variable_text("HAFT_TEST_MECHANISMS") else { return Mechanisms::ALL };
    let has = |name: &str| named.split(',').any(|one| one == name);
    Mechanisms { namespaces: has("namespaces"), landlock: has("landlock"), seccomp: has("seccomp") }
}

/// Returns the rules that flags give to the session.
fn connection_rules(
    settings: &EffectiveSettings,
    registry: &Registry,
) -> Result<Vec<Rule>, AppError> {
    let tools = settings.allow.iter().map(|name| {
        let contract = registry.contract(name).ok_or_else(|| {
            let step = match settings.untrusted.first().filter(|_| registry.is_untrusted(name)) {
                Some(untrusted) => untrusted.next(),
                None => NextStep::ListTools,
            };
            AppError::configuration(format!("allow: {}", unknown_tool(registry, name))).next(step)
        })?;
        Ok(Rule::new(contract.id.as_str(), "*", RuleAction::Allow))
    });
    let hosts =
        settings.allow_hosts.iter().map(|host| Ok(Rule::new("net.fetch", host, RuleAction::Allow)));
    let is_named = !settings.ad_hoc.is_empty();
    let files = is_named.then(|| Ok(Rule::new("fs.read", AD_HOC_PATTERN, RuleAction::Allow)));
    tools.chain(hosts).chain(files).collect()
}

/// Takes care of the runs of processes that died, and notifies the host of what it repaired and which calls are in doubt.
///
/// # Errors
///
/// Fails if the journal cannot be read or written.
pub async fn recover(runtime: &Runtime, host: &AppHost) -> Result<(), AppError> {
    report_recovery(&runtime.recover().await?, host);
    Ok(())
}

/// Recovers like [`recover`] in a task, while the front end goes on. From this call on, calls wait for the end of the task. If the
/// journal fails, the calls say so as well.
pub fn recover_meanwhile(
    runtime: &Runtime,
    host: &AppHost,
) -> impl Future<Output = ()> + Send + use<> {
    let (recovery, host) = (runtime.recover(), host.clone());
    async move {
        match recovery.await {
            Ok(recovered) => report_recovery(&recovered, &host),
            Err(err) => host.warn(err.to_string()),
        }
    }
}

fn report_recovery(recovered: &haft::RunRecovery, host: &AppHost) {
    for undone in &recovered.undone {
        host.warn(format!("left by a command or tool whose haft was killed: {undone}"));
    }
    for problem in &recovered.not_looked_at {
        host.warn(problem);
    }
    for call in &recovered.in_doubt {
        let message = format!("in doubt: call {call} was begun by a process that died");
        host.mention_with(message, NextStep::ShowRun(call.scope.run.clone()));
    }
}

/// Opens a connection for a front end at which haft can ask no person. `front_end` is its kind, such as `mcp`.
///
/// # Errors
///
/// Fails if the rules of the connection cannot be compiled, or if the system gives no random bytes for its name.
pub fn open_connection(
    runtime: &Runtime,
    settings: &EffectiveSettings,
    host: &AppHost,
    front_end: &str,
) -> Result<Connection, AppError> {
    if front_end == MCP {
        return open_mcp_connection(runtime, settings, host, Vec::new());
    }
    Ok(runtime.open_connection(ConnectionOptions {
        // A caller of `haft call` sees nothing before the answer to its first call.
        holds_repeated_calls: front_end == "cli",
        listing: ToolListing::All,
        ..connection_options(runtime, settings, host, front_end)?
    })?)
}

/// Opens a connection for an MCP client, which can give tasks to these agents. Without agents, it has no tool `task`.
pub fn open_mcp_connection(
    runtime: &Runtime,
    settings: &EffectiveSettings,
    host: &AppHost,
    subagents: Vec<SubagentSummary>,
) -> Result<Connection, AppError> {
    Ok(runtime.open_connection(ConnectionOptions {
        // A client sees nothing before the answer to its first call.
        holds_repeated_calls: true,
        // A client that speaks MCP lists the tools to a model.
        listing: ToolListing::Searched,
        model_view: model_view(settings),
        subagents,
        asker: mcp_asker(settings),
        ..connection_options(runtime, settings, host, MCP)?
    })?)
}

/// Returns what asks for calls whose client shows no forms.
pub fn mcp_asker(settings: &EffectiveSettings) -> Arc<dyn Asker> {
    match settings.asks {
        AskPolicy::Deny => Arc::new(HeadlessAsker),
        AskPolicy::Wait => Arc::new(WaitingAsker),
    }
}

/// Returns what finds the page on which a person answers an ask: that of a running inspector of the journal.
pub fn ask_page_finder(settings: &EffectiveSettings, host: &AppHost) -> AskPageFinder {
    let (journal, host) = (settings.durability.journal.clone(), host.clone());
    Arc::new(move |ask| Some(RunningInspector::find(&host, &journal)?.page(&ask_page(ask))))
}

/// Opens the connection of agents. The sessions of agents may do at most what this connection may do. `front_end` is that of
/// the runs that their calls belong to.
fn open_agent_connection(
    runtime: &Runtime,
    settings: &EffectiveSettings,
    host: &AppHost,
    agents: &AgentRegistry,
    front_end: &str,
) -> Result<Connection, AppError> {
    Ok(runtime.open_connection(ConnectionOptions {
        listing: ToolListing::Searched,
        model_view: model_view(settings),
        subagents: agents.subagents(),
        ..connection_options(runtime, settings, host, front_end)?
    })?)
}

/// Returns how answers are shown to a model. The profile `smithers` promises the whole output within its own limits.
fn model_view(settings: &EffectiveSettings) -> Option<ModelView> {
    match settings.profile {
        Profile::Contract => Some(ModelView { shown_chars_max: settings.shown_chars }),
        Profile::Smithers => None,
    }
}

/// Opens the connection that drives a plan whose nodes may give tasks to these agents. The rules hold for the calls of the
/// nodes and not for those of the agents.
pub fn open_plan_connection(
    runtime: &Runtime,
    settings: &EffectiveSettings,
    host: &AppHost,
    agents: Vec<SubagentSummary>,
    preset_rules: Vec<Rule>,
) -> Result<Connection, AppError> {
    Ok(runtime.open_connection(ConnectionOptions {
        subagents: agents,
        preset_rules,
        ..connection_options(runtime, settings, host, PLAN_FRONT_END)?
    })?)
}

/// Returns the options of a connection with the rules of the user's flags.
fn connection_options(
    runtime: &Runtime,
    settings: &EffectiveSettings,
    host: &AppHost,
    front_end: &str,
) -> Result<ConnectionOptions, AppError> {
    Ok(ConnectionOptions {
        rules: connection_rules(settings, &runtime.registry())?,
        skills: skills::skill_paths(settings, host),
        ..ConnectionOptions::headless(id::new("session", host.now_ms())?, front_end)
    })
}

/// Returns a new name for a run: `run_` with the time and random digits.
///
/// # Errors
///
/// Fails if the system gives no random bytes.
pub fn new_run(now_ms: u64) -> Result<RunId, AppError> {
    RunId::parse(&id::new("run", now_ms)?).map_err(AppError::configuration)
}
