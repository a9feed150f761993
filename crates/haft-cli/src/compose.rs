//! The composition root: the one place where tools, journal, rules, roots and launcher are put together. Everything that
//! the libraries must not read themselves is read here: the environment, the clock and this program's own path.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use haft::{Clock, Registry, Roots, Runtime, RuntimeParts, Session, SessionOptions, SystemClock};
use haft_contract::{RunId, Variables};
use haft_journal::{Journal, SqliteJournal};
use haft_policy::{Action, Rule, RuleScope};
use haft_sandbox::Launcher;

use crate::cli::SettingArgs;
use crate::error::CommandError;
use crate::own_files::OwnFiles;
use crate::settings::Settings;
use crate::state::{State, user_data};
use crate::{environment, id, permission_names};

/// Returns the tools that the settings offer.
pub(crate) fn registry(settings: &Settings) -> Result<Registry, CommandError> {
    let mut registry = Registry::new(haft_tools::tools(settings.profile))?;
    if let Some(tools) = &settings.tools {
        // A registry that refuses to be narrowed stays as it was.
        if let Err(unknown) = registry.keep_only(tools) {
            let names: Vec<String> =
                unknown.iter().map(|id| unknown_tool(&registry, id.as_str())).collect();
            return Err(CommandError::usage(format!("tools: {}", names.join("; "))));
        }
    }
    Ok(registry)
}

/// Says that there is no such tool, and which ones are nearly called so.
pub(crate) fn unknown_tool(registry: &Registry, name: &str) -> String {
    match registry.near_matches(name).as_slice() {
        [] => {
            let ids: Vec<&str> =
                registry.contracts().map(|contract| contract.id.as_str()).collect();
            format!("no tool is called {name:?}: expected one of {}", ids.join(", "))
        }
        names => format!("no tool is called {name:?}: did you mean {}?", names.join(" or ")),
    }
}

/// Opens the journal.
pub(crate) fn journal(args: &SettingArgs, state: &State) -> Result<SqliteJournal, CommandError> {
    let path = journal_path(args, state);
    SqliteJournal::open(&path).map_err(|err| {
        let err = CommandError::from(err);
        match args.db {
            Some(_) => err,
            None => err.hint("export HAFT_DB=/path/to/another/journal.sqlite"),
        }
    })
}

/// Returns where the journal is.
pub(crate) fn journal_path(args: &SettingArgs, state: &State) -> PathBuf {
    let named = args.db.clone().filter(|path| !path.as_os_str().is_empty());
    named.unwrap_or_else(|| state.journal())
}

/// Puts a runtime together.
pub(crate) fn runtime(
    args: &SettingArgs,
    settings: &Settings,
    state: &State,
) -> Result<Runtime, CommandError> {
    let registry = registry(settings)?;
    permission_names::check(&settings.rules, &settings.requires.capabilities)?;
    let roots = Roots::open(&settings.root, &settings.roots)?;
    let helper = std::env::current_exe().map_err(|err| {
        CommandError::failed(format!("haft does not find its own program: {err}"))
    })?;
    let journal = Arc::new(journal(args, state)?);
    let mut rules = settings.rules.clone();
    let own = OwnFiles {
        state,
        journal: journal_path(args, state),
        manifest: settings.manifest.as_deref(),
    };
    rules.extend(own.rules(&roots, &registry).into_iter().map(|rule| (RuleScope::Manifest, rule)));
    state.sweep_sessions(SystemTime::now());
    let parts = RuntimeParts {
        registry,
        variables: Variables {
            workspace: roots.paths(),
            ad_hoc: Vec::new(),
            user_data: user_data().into_iter().collect(),
        },
        roots,
        journal: journal as Arc<dyn Journal>,
        requires: settings.requires.clone(),
        rules,
        limits: settings.limits,
        allow_network: settings.allow_network,
        watchdogs: Vec::new(),
        launcher: Launcher::new(helper),
        environment: environment::allowed(std::env::vars_os()),
        sidecars: state.sessions(),
        clock: Arc::new(SystemClock),
    };
    Ok(Runtime::new(parts)?)
}

/// Opens a session for a front end without a person who could be asked.
pub(crate) fn session(
    runtime: &Runtime,
    settings: &Settings,
    front_end: &str,
) -> Result<Session, CommandError> {
    let rules = settings.allow.iter().map(|name| allow_tool(runtime.registry(), name));
    let options = SessionOptions {
        rules: rules.collect::<Result<_, _>>()?,
        ..SessionOptions::headless(id::new("session", SystemClock.now_ms())?, front_end)
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
