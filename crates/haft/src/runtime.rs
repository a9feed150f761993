//! What all calls share: tools, roots, rules, journal.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use haft_contract::limits::{OUTPUT_BYTES_DEFAULT, TIMEOUT_MS_DEFAULT};
use haft_contract::{RequirementSet, RunId, ScopeError, Variables};
use haft_journal::{Journal, JournalError, Owner};
use haft_policy::{
    Canonical, Capabilities, Conditions, NetworkGuard, PathSubject, PatternError, Rule, RuleErrors,
    RuleScope,
};
use haft_sandbox::{Launcher, Network};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;

use crate::catalog::Catalog;
use crate::clock::Clock;
use crate::net::{Networking, Trusted};
use crate::project::{ProjectAdditions, ProjectRules};
use crate::recover::{self, Recovered};
use crate::registry::Registry;
use crate::resident::{Extensions, Living};
use crate::roots::Roots;
use crate::run::Attempts;
use crate::sandbox::{Confine, Sandbox};
use crate::session::{Session, SessionOptions};
use crate::snapshots::Snapshots;
use crate::watchdog::Watchdog;

/// Everything a runtime is made of. Front ends fill it in: the library reads no configuration, no environment and no
/// clock by itself.
pub struct RuntimeParts {
    /// The tools on offer to begin with.
    pub registry: Registry,
    /// Where calls are recorded.
    pub journal: Arc<dyn Journal>,
    /// The directories that calls may reach.
    pub roots: Roots,
    /// What path patterns' variables stand for.
    pub variables: Variables,
    /// What the agent requires beyond its tools.
    pub requires: RequirementSet,
    /// Permission rules of the manifest, the project and the preset.
    pub rules: Vec<(RuleScope, Rule)>,
    /// Bounds of every call.
    pub limits: Limits,
    /// Whether commands get the ordinary network.
    pub allow_network: bool,
    /// How long the list of names is that keeps commands from trying the network while it is off.
    pub network_guard: NetworkGuard,
    /// Keeps what is answered with «always for this project»; without it, such an answer holds
    /// as long as the runtime does.
    pub project_rules: Option<Arc<dyn ProjectRules>>,
    /// Hooks before execution, in order.
    pub watchdogs: Vec<Arc<dyn Watchdog>>,
    /// Starts processes.
    pub launcher: Launcher,
    /// How tools get to the network that use it by themselves.
    pub networking: Networking,
    /// What confines them, and what is kept from tools as well.
    pub sandbox: Sandbox,
    /// The environment of commands: exactly this and the call's keys.
    pub environment: Vec<(OsString, OsString)>,
    /// Where sessions keep what was cut out of long outputs.
    pub sidecars: PathBuf,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// This process, as other processes find it in the journal.
    pub owner: Owner,
    /// Says of another process whether it is gone; nothing where that cannot be known, and then its time has to run out.
    pub is_gone: Arc<IsGone>,
    /// Sees every effect before and after; without one, nothing is recorded by which effects could be shown or undone.
    pub snapshots: Option<Arc<dyn Snapshots>>,
    /// What is done about a `once` call that an earlier attempt made as well.
    pub on_repeat: OnRepeat,
    /// What the operator chose that a reader of a run must know, as a JSON object; recorded with every run.
    pub settings: String,
}

/// What is done about a `once` call that an earlier attempt made as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnRepeat {
    /// The driver is told what earlier attempts did, and the call executes.
    #[default]
    Warn,
    /// The call is refused.
    Refuse,
    /// The earlier answer is the answer.
    Recall,
}

/// Says of a process whether it is gone, `None` where that cannot be known.
pub type IsGone = dyn Fn(&Owner) -> Option<bool> + Send + Sync;

/// Bounds of every call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Output, and files, contents and patches, in bytes.
    pub output_bytes: usize,
    /// Time, in milliseconds.
    pub timeout_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { output_bytes: OUTPUT_BYTES_DEFAULT, timeout_ms: TIMEOUT_MS_DEFAULT }
    }
}

/// Says why a runtime or a session cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// Permission rules are not usable.
    #[error(transparent)]
    Rules(#[from] RuleErrors),
    /// The session's name is not usable.
    #[error(transparent)]
    Session(#[from] ScopeError),
    /// The session's name begins with a dot.
    #[error("session {0:?} is not valid: expected a name that does not begin with a dot")]
    SessionName(String),
    /// A requirement is not usable.
    #[error(transparent)]
    Requirement(#[from] PatternError),
}

/// What all calls share. Cloning is cheap.
#[derive(Clone)]
pub struct Runtime {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) parts: RuntimeParts,
    /// The tools as they are now. What the parts began with is taken out of them.
    pub(crate) catalog: Catalog,
    // Of the manifest alone: the hosts among it are for the tools that run commands.
    pub(crate) agent: Capabilities,
    pub(crate) project: ProjectAdditions,
    // What rules may depend on, found out with the first call that runs a command: most sessions start quickly and
    // run none.
    conditions: OnceCell<Conditions>,
    // Of the hidden places those that have something to do with the roots: walks compare every entry with them.
    hidden_within: Vec<PathBuf>,
    // What runs have counted so far, for as long as somebody makes calls in them: two who go on with the same run must
    // not give two calls one number. Written when a run is begun or gone on with.
    attempts: Mutex<HashMap<RunId, Weak<Attempts>>>,
    // Held while a run is taken or given back, so that the two never cross: both wait for the journal meanwhile.
    pub(crate) opening: tokio::sync::Mutex<()>,
    /// Programs that outlive calls, for whoever shuts down to end.
    pub(crate) living: Living,
    // Programs that the operator named, which end with the runtime: added to while it is put together.
    extensions: Mutex<Vec<Extensions>>,
    pub(crate) trusted: Trusted,
    // Runs on their way back, for whoever shuts down to wait for.
    pub(crate) returns: Mutex<JoinSet<()>>,
}

impl Shared {
    /// Returns whether a place is kept from every call.
    pub(crate) fn hides(&self, path: &PathSubject) -> bool {
        let hidden =
            if path.relative.is_some() { &self.hidden_within } else { &self.parts.sandbox.hidden };
        hidden.iter().any(|place| path.absolute.starts_with(place))
    }

    /// Returns what is known of the place where calls run.
    pub(crate) fn conditions(&self) -> Conditions {
        self.conditions.get().copied().unwrap_or_default()
    }

    /// Finds out what rules may depend on, if one of the accesses runs a command.
    pub(crate) async fn learn_conditions(&self, accesses: &[Canonical]) {
        let runs_commands = |access: &Canonical| matches!(access, Canonical::Shell { .. });
        if accesses.iter().any(runs_commands) {
            self.conditions.get_or_init(|| self.find_conditions()).await;
        }
    }

    async fn find_conditions(&self) -> Conditions {
        if self.parts.sandbox.confine == Confine::UnsafeNever {
            return Conditions::default();
        }
        let network = if self.parts.allow_network { Network::Host } else { Network::Loopback };
        let mechanisms = self.parts.sandbox.mechanisms;
        let enforceable = self.parts.launcher.enforceable(network, mechanisms).await;
        // What cannot be found out is refused when it is tried.
        Conditions { sandboxed: enforceable.is_ok_and(|enforced| enforced.is_full()) }
    }

    /// Returns the counters of a run, the same to everybody.
    pub(crate) fn attempts_of(&self, run: &RunId) -> Arc<Attempts> {
        let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = attempts.get(run).and_then(Weak::upgrade) {
            return shared;
        }
        attempts.retain(|_, counters| counters.strong_count() > 0);
        let counters = Arc::default();
        attempts.insert(run.clone(), Arc::downgrade(&counters));
        counters
    }

    /// Returns the runs that somebody in this process makes calls in.
    pub(crate) fn live_attempts(&self) -> Vec<(RunId, Arc<Attempts>)> {
        let attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        let live = |(run, attempts): (&RunId, &Weak<Attempts>)| {
            attempts.upgrade().map(|attempts| (run.clone(), attempts))
        };
        attempts.iter().filter_map(live).collect()
    }
}

impl Runtime {
    /// Returns a runtime of these parts; rules and requirements are checked here, not at the first call.
    pub fn new(mut parts: RuntimeParts) -> Result<Self, RuntimeError> {
        haft_policy::RuleSet::compile(
            parts.rules.iter().cloned(),
            &parts.variables,
            Conditions::default(),
        )?;
        let agent = Capabilities::compile(&parts.requires, &parts.variables)?;
        let (requires, variables) = (parts.requires.clone(), parts.variables.clone());
        let catalog = Catalog::new(std::mem::take(&mut parts.registry), requires, variables)?;
        let hidden_within = parts.sandbox.hidden_within(&parts.roots.paths());
        let shared = Shared {
            hidden_within,
            parts,
            catalog,
            agent,
            project: ProjectAdditions::default(),
            conditions: OnceCell::new(),
            attempts: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
            living: Living::default(),
            extensions: Mutex::default(),
            trusted: Trusted::default(),
            returns: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns the tools on offer now; they stay as they are for whoever holds them.
    pub fn registry(&self) -> Arc<Registry> {
        self.shared.catalog.registry()
    }

    /// Returns what the tools on offer are changed through, and what tells of changes.
    pub fn catalog(&self) -> &Catalog {
        &self.shared.catalog
    }

    /// Returns the journal.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.shared.parts.journal
    }

    /// Returns the directories that calls may reach.
    pub fn roots(&self) -> &Roots {
        &self.shared.parts.roots
    }

    /// Has programs that the operator named end with this runtime.
    pub fn adopt(&self, extensions: Extensions) {
        self.shared.extensions.lock().unwrap_or_else(PoisonError::into_inner).push(extensions);
    }

    /// Takes the runs of processes that are gone: what they left open is in doubt from then on, but for changes of
    /// files, of which the files tell whether they happened. What their programs left at protected places is put right.
    /// Front ends do this when they start.
    pub async fn recover(&self) -> Result<Recovered, JournalError> {
        recover::recover(&self.shared).await
    }

    /// Ends the programs that outlive calls, and gives back the runs that this process has, so that others can go on with
    /// them at once. Front ends do this when they end; without it, others wait until they know that this process is gone,
    /// and what such a program left at protected places may stay there until one recovers.
    pub async fn shut_down(&self) {
        self.shared.living.end_all().await;
        let extensions = std::mem::take(
            &mut *self.shared.extensions.lock().unwrap_or_else(PoisonError::into_inner),
        );
        for extensions in extensions {
            extensions.end_all().await;
        }
        self.shared.give_back_all().await;
        if let Some(snapshots) = &self.shared.parts.snapshots {
            snapshots.finish().await;
        }
    }

    /// Opens a session for one front end.
    pub fn session(&self, options: SessionOptions) -> Result<Session, RuntimeError> {
        Session::open(Arc::clone(&self.shared), options)
    }
}
