//! The composition root: the one place where tools, journal, rules, roots and launcher are put together. Everything that
//! the libraries must not read themselves is read here: the environment, the clock and this program's own path.

pub(crate) mod agent;
pub(crate) mod backlog;
mod lsp;
mod record;
pub(crate) mod snapshots;
mod tools;
mod watchdogs;
mod web;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use haft::{
    Clock, Confine, Listing, ReadablePlaces, Registry, Roots, Runtime, RuntimeParts, Sandbox,
    Session, SessionOptions, Snapshots, SystemClock,
};
use haft_agent::FoundAgents;
use haft_contract::{RunId, Variables};
use haft_journal::{Journal, MemoryJournal};
use haft_plan::drive::{PLAN_TOOL, plan_tool};
use haft_policy::{Action, Rule, RuleScope};
use haft_sandbox::{Launcher, Mechanisms};

pub(crate) use self::agent::agent_host;
pub(crate) use self::tools::{Tools, bridge, finder};
pub(crate) use self::web::search;
use crate::error::CommandError;
use crate::places::{Places, git_identity, outside};
use crate::settings::Settings;
use crate::state::{State, user_data};
use crate::{environment, id, output, own_files, owner, permission_names, sidecars, skills};

/// Returns the tools that the settings offer.
pub(crate) async fn registry(settings: &Settings, state: &State) -> Result<Registry, CommandError> {
    Ok(Tools::find(settings, state).await?.offered().clone())
}

/// Says that there is no such tool, and which ones are nearly called so.
pub(crate) fn unknown_tool(registry: &Registry, name: &str) -> String {
    // The tool that keeps plans is offered to nobody.
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

/// Puts a runtime together that records calls.
pub(crate) async fn runtime(settings: &Settings, state: &State) -> Result<Runtime, CommandError> {
    let tools = Tools::find(settings, state).await?;
    let runtime = Runtime::new(recording_parts(&tools, settings, state).await?)?;
    tools.follow(&runtime, settings);
    Ok(runtime)
}

/// Puts a runtime together that drives plans with these tools: it can keep them with their runs, too.
pub(crate) async fn plan_runtime(
    tools: &Tools,
    settings: &Settings,
    state: &State,
) -> Result<Runtime, CommandError> {
    let mut parts = recording_parts(tools, settings, state).await?;
    parts.registry.add(plan_tool())?;
    // No rule that denies everything may keep a plan from being kept: nothing is done by it.
    parts.rules.push((RuleScope::Manifest, Rule::new(PLAN_TOOL, "*", Action::Allow)));
    let runtime = Runtime::new(parts)?;
    tools.follow(&runtime, settings);
    Ok(runtime)
}

async fn recording_parts(
    tools: &Tools,
    settings: &Settings,
    state: &State,
) -> Result<RuntimeParts, CommandError> {
    let journal = settings.durability.journal.open().await?;
    sidecars::sweep(&state.sessions(), SystemTime::now(), settings.durability.keep_days);
    let hook = snapshots::hook(&journal, settings, state)?;
    let mut parts = parts(journal, hook, tools, settings, state)?;
    parts.launcher = parts.launcher.notes(state.underway());
    Ok(parts)
}

/// Puts a runtime together for looking at what it would do, which leaves nothing behind.
pub(crate) async fn unrecorded_runtime(
    settings: &Settings,
    state: &State,
) -> Result<Runtime, CommandError> {
    unrecorded_plan_runtime(&Tools::find(settings, state).await?, settings, state)
}

/// Puts a runtime together for looking at what a plan would do with these tools.
pub(crate) fn unrecorded_plan_runtime(
    tools: &Tools,
    settings: &Settings,
    state: &State,
) -> Result<Runtime, CommandError> {
    Ok(Runtime::new(parts(Arc::new(MemoryJournal::new()), None, tools, settings, state)?)?)
}

fn parts(
    journal: Arc<dyn Journal>,
    snapshots: Option<Arc<dyn Snapshots>>,
    tools: &Tools,
    settings: &Settings,
    state: &State,
) -> Result<RuntimeParts, CommandError> {
    permission_names::check(&settings.rules, &settings.requires.capabilities, tools.names())?;
    let registry = tools.offered().clone();
    let roots = roots(settings)?;
    let helper = helper()?;
    let rules = settings.rules.clone();
    let places = places(settings, state, &roots.paths());
    let sandbox = sandbox(settings, &places, &roots.paths())?;
    let watchdogs = watchdogs::watchdogs(settings, state, &roots.paths())?;
    Ok(RuntimeParts {
        registry,
        variables: variables(&roots),
        roots,
        journal,
        requires: settings.requires.clone(),
        rules,
        limits: settings.limits,
        allow_network: settings.allow_network,
        network_guard: settings.network_guard,
        project_rules: Some(Arc::new(settings.project.clone())),
        watchdogs,
        launcher: launcher(helper, settings, state),
        networking: haft::Networking::default(),
        sandbox,
        environment: command_environment(&places),
        sidecars: state.sessions(),
        clock: Arc::new(SystemClock),
        owner: owner::this_process(SystemClock.now_ms())?,
        is_gone: Arc::new(owner::find_out),
        snapshots,
        on_repeat: settings.durability.on_repeat,
        settings: record::of(settings),
    })
}

fn launcher(helper: PathBuf, settings: &Settings, state: &State) -> Launcher {
    let launcher = Launcher::new(helper).quarantine(state.quarantine());
    if settings.sandbox.control_groups { launcher.control_groups() } else { launcher }
}

/// Returns the program that starts and confines processes, which is this one.
pub(crate) fn helper() -> Result<PathBuf, CommandError> {
    std::env::current_exe()
        .map_err(|err| CommandError::failed(format!("haft does not find its own program: {err}")))
}

/// Opens the directories that calls may reach.
pub(crate) fn roots(settings: &Settings) -> Result<Roots, CommandError> {
    let roots = Roots::open(&settings.root, &settings.roots)?;
    if roots.paths().iter().any(|root| root == Path::new("/")) {
        let message =
            "root / cannot be used: commands cannot be confined to everything; name a directory";
        return Err(CommandError::usage(message).hint("haft --root /path/to/a/directory"));
    }
    Ok(roots)
}

/// Returns what the variables in path patterns stand for.
pub(crate) fn variables(roots: &Roots) -> Variables {
    Variables {
        workspace: roots.paths(),
        ad_hoc: Vec::new(),
        user_data: user_data().into_iter().collect(),
    }
}

/// Returns all rules that a call of the command line is judged by.
pub(crate) fn rules_in_force(
    settings: &Settings,
    registry: &Registry,
) -> Result<Vec<(RuleScope, Rule)>, CommandError> {
    let of_session = session_rules(settings, registry)?.into_iter();
    let of_session = of_session.map(|rule| (RuleScope::Session, rule));
    Ok(settings.rules.iter().cloned().chain(of_session).collect())
}

/// Returns what commands see beside the roots, and what is kept from them and from tools.
///
/// What the settings name and is not there is left out: a manifest may be shared by machines on which it lies elsewhere.
pub(crate) fn places(settings: &Settings, state: &State, roots: &[PathBuf]) -> Places {
    let home = std::env::home_dir().unwrap_or_else(|| PathBuf::from("/"));
    let mut places = Places::find(|name| std::env::var_os(name), &home, roots);
    let (found, named) = (places.readable.clone(), settings.sandbox.readable.clone());
    let roots = roots.to_vec();
    places.readable = ReadablePlaces::found_by(move || {
        let named = named.iter().filter_map(|place| outside(place, &roots).ok());
        found.iter().cloned().chain(named).collect()
    });
    places.hidden.extend(own_files::hidden(state.directory(), settings.durability.journal.file()));
    places
}

fn sandbox(
    settings: &Settings,
    places: &Places,
    roots: &[PathBuf],
) -> Result<Sandbox, CommandError> {
    let protected = settings.sandbox.protected.clone();
    let protected = match &settings.manifest {
        Some(manifest) => own_files::with_manifest(protected, manifest, roots)?,
        None => protected,
    };
    Ok(Sandbox {
        confine: if settings.sandbox.is_off { Confine::UnsafeNever } else { Confine::Always },
        readable: places.readable.clone(),
        hidden: places.hidden.clone(),
        protected,
        home: places.home.clone(),
        resources: settings.sandbox.resources,
        mechanisms: mechanisms(),
    })
}

/// Returns the mechanisms of the kernel to use, which are all of them.
#[cfg(not(debug_assertions))]
pub(crate) fn mechanisms() -> Mechanisms {
    Mechanisms::ALL
}

/// Returns the mechanisms of the kernel to use. The tests of what each of them stops leave one out; a released program
/// knows no such variable.
#[cfg(debug_assertions)]
pub(crate) fn mechanisms() -> Mechanisms {
    let Ok(named) = std::env::var("HAFT_TEST_MECHANISMS") else { return Mechanisms::ALL };
    let has = |name: &str| named.split(',').any(|one| one == name);
    Mechanisms { namespaces: has("namespaces"), landlock: has("landlock"), seccomp: has("seccomp") }
}

/// Returns what commands get of the environment, and who the user is to git, whose configuration they do not see.
fn command_environment(places: &Places) -> Vec<(OsString, OsString)> {
    let mut variables = environment::allowed(std::env::vars_os());
    for (_, path) in variables.iter_mut().filter(|(name, _)| name == "PATH") {
        *path = without_links(path);
    }
    variables.extend(git_identity(&|name| std::env::var_os(name), &places.home));
    variables
}

/// Returns a PATH whose directories are named without links: commands see toolchains where they are, and not the links
/// that lead there, such as `current`.
fn without_links(path: &OsStr) -> OsString {
    let real = |directory: PathBuf| directory.canonicalize().unwrap_or(directory);
    let joined = std::env::join_paths(std::env::split_paths(path).map(real));
    joined.unwrap_or_else(|_| path.to_owned())
}

/// Returns the rules that flags give to the session.
fn session_rules(settings: &Settings, registry: &Registry) -> Result<Vec<Rule>, CommandError> {
    let tools = settings.allow.iter().map(|name| allow_tool(registry, name));
    let hosts =
        settings.allow_hosts.iter().map(|host| Ok(Rule::new("net.fetch", host, Action::Allow)));
    tools.chain(hosts).collect()
}

/// Looks after runs of processes that are gone, and says what was put right and what is in doubt since.
pub(crate) async fn recover(runtime: &Runtime) -> Result<(), CommandError> {
    let recovered = runtime.recover().await?;
    for undone in &recovered.undone {
        let warning = format!("left by a command or tool whose haft was killed: {undone}");
        output::warning(&warning, None);
    }
    for problem in &recovered.not_looked_at {
        output::warning(problem, None);
    }
    for call in &recovered.in_doubt {
        output::aside(format_args!(
            "in doubt: call {call} was begun by a process that died; see haft runs show {}",
            call.scope.run
        ));
    }
    Ok(())
}

/// Opens a session for a front end without a person who could be asked.
pub(crate) fn session(
    runtime: &Runtime,
    settings: &Settings,
    front_end: &str,
) -> Result<Session, CommandError> {
    let options = SessionOptions {
        rules: session_rules(settings, &runtime.registry())?,
        // A client of `haft mcp` sees nothing before the answer to its first call.
        holds_repeats_back: front_end == "mcp",
        skills: skills::places(settings),
        // A client that speaks MCP lists the tools to a model.
        listing: if front_end == "mcp" { Listing::Searched } else { Listing::Whole },
        ..SessionOptions::headless(id::new("session", SystemClock.now_ms())?, front_end)
    };
    Ok(runtime.session(options)?)
}

/// Opens the session that agents are cut out of: what it may is the most that any of them may.
fn agent_session(
    runtime: &Runtime,
    settings: &Settings,
    agents: &FoundAgents,
) -> Result<Session, CommandError> {
    let options = SessionOptions {
        rules: session_rules(settings, &runtime.registry())?,
        skills: skills::places(settings),
        listing: Listing::Searched,
        subagents: agents.subagents(),
        ..SessionOptions::headless(id::new("session", SystemClock.now_ms())?, agent::FRONT_END)
    };
    Ok(runtime.session(options)?)
}

/// Returns the name of a run that begins now.
pub(crate) fn new_run() -> Result<RunId, CommandError> {
    RunId::parse(&id::new("run", SystemClock.now_ms())?).map_err(CommandError::usage)
}

fn allow_tool(registry: &Registry, name: &str) -> Result<Rule, CommandError> {
    let contract = registry.contract(name).ok_or_else(|| {
        CommandError::usage(format!("--allow: {}", unknown_tool(registry, name)))
            .hint("haft tools list")
    })?;
    Ok(Rule::new(contract.id.as_str(), "*", Action::Allow))
}
