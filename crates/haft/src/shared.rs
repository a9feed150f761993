//! The state that all calls of a runtime share: its parts, the current tools, and the conditions of the host. This
//! module does not know runs.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_contract::limits::{
    LISTED_TOOLS_DEFAULT, OUTPUT_BYTES_DEFAULT, OUTPUT_BYTES_MAX, TIMEOUT_MS_DEFAULT,
};
use haft_contract::{
    CallAddress, CallAddressError, Contract, OutputLimit, PatternVariables, RequirementSet,
    sha256_hex,
};
use haft_journal::{Journal, LeaseOwner};
use haft_policy::{
    Capabilities, Conditions, NetworkGuard, PathSubject, PatternError, ResolvedAccess, Rule,
    RuleErrors, RuleScope, RuleSet,
};
use haft_sandbox::{Launcher, Network};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::catalog::Catalog;
use crate::clock::Clock;
use crate::granted_places::GrantedPlaces;
use crate::limits::ANSWER_MS_DEFAULT;
use crate::network_settings::{NetworkSettings, TlsTrust};
use crate::process_registry::ProcessRegistry;
use crate::project::{AddedProjectRules, ProjectRules};
use crate::registry::Registry;
use crate::roots::WorkspaceRoots;
use crate::runtime_event::{RuntimeEvent, RuntimeEventObserver};
use crate::sandbox::{ConfineMode, Sandbox};
use crate::snapshots::Snapshots;
use crate::watchdog::Watchdog;

/// Everything that a runtime is made of. The library reads no configuration, environment or clock, so a front end passes
/// them here: `RuntimeParts { registry, rules, ..RuntimeParts::new(…) }`.
pub struct RuntimeParts {
    /// The first tools of the runtime. By default there are no tools.
    pub registry: Registry,
    /// Records the calls.
    pub journal: Arc<dyn Journal>,
    /// The directories that calls may reach.
    pub roots: WorkspaceRoots,
    /// The values of the variables in path patterns. By default, `workspace` stands for the roots.
    pub variables: PatternVariables,
    /// The requirements of the agent in addition to the requirements of its tools.
    pub requires: RequirementSet,
    /// Permission rules of the manifest, the project and the preset. By default there are no rules.
    pub rules: Vec<(RuleScope, Rule)>,
    /// The bounds of every call.
    pub limits: CallLimits,
    /// Whether commands use the network of the host. By default they do not.
    pub allow_network: bool,
    /// Which commands haft refuses by name while they have no network. By default, none where the sandbox keeps them from
    /// the network, and otherwise those of [`NetworkGuard::Standard`].
    pub network_guard: Option<NetworkGuard>,
    /// Stores rules that a person answered «always for this project». Without it, such a rule ends with the runtime.
    pub project_rules: Option<Arc<dyn ProjectRules>>,
    /// Hooks that see each call before its execution, in this order.
    pub watchdogs: Vec<Arc<dyn Watchdog>>,
    /// The manifest of the agent, which watchdogs see with each call. By default there is none.
    pub manifest: Value,
    /// Starts processes. The default launcher names no program, so every start of a process fails.
    pub launcher: Launcher,
    /// The resolver and the certificate authorities of tools that connect to servers themselves.
    pub networking: NetworkSettings,
    /// Confines the processes. Its hidden and protected paths apply to tools too. The default is [`Sandbox::system`],
    /// which hides no path inside the roots.
    pub sandbox: Sandbox,
    /// The environment of commands. A command gets only these variables and the keys of its call.
    pub environment: Vec<(OsString, OsString)>,
    /// The directory for the rest of truncated outputs.
    pub sidecars: PathBuf,
    /// Returns the current time.
    pub clock: Arc<dyn Clock>,
    /// The name of this process in the leases of its runs.
    pub owner: LeaseOwner,
    /// Returns whether another process is gone. By default this is unknown, so its leases must expire first.
    pub is_gone: Arc<OwnerGoneCheck>,
    /// Records the files before and after each effect. Without it, haft cannot show or undo effects.
    pub snapshots: Option<Arc<dyn Snapshots>>,
    /// The policy for a `once` call that an earlier attempt made as well.
    pub on_repeat: RepeatPolicy,
    /// Receives the events that a person who is elsewhere may want to know. By default no observer does.
    pub events: Option<Arc<dyn RuntimeEventObserver>>,
    /// The operator's settings that a reader of a run needs, as a JSON object. The journal stores them with each run.
    pub settings: String,
}

impl RuntimeParts {
    /// Returns the parts of a runtime without tools. No rule allows a call, commands have no network, and no process
    /// can start.
    #[must_use]
    pub fn new(
        journal: Arc<dyn Journal>,
        roots: WorkspaceRoots,
        sidecars: PathBuf,
        clock: Arc<dyn Clock>,
        owner: LeaseOwner,
    ) -> Self {
        Self {
            registry: Registry::default(),
            journal,
            variables: PatternVariables { workspace: roots.paths(), ..PatternVariables::default() },
            roots,
            requires: RequirementSet::default(),
            rules: Vec::new(),
            limits: CallLimits::default(),
            allow_network: false,
            network_guard: None,
            project_rules: None,
            watchdogs: Vec::new(),
            manifest: Value::Null,
            launcher: Launcher::new(PathBuf::new()),
            networking: NetworkSettings::default(),
            sandbox: Sandbox::system(),
            environment: Vec::new(),
            sidecars,
            clock,
            owner,
            is_gone: Arc::new(|_| None),
            snapshots: None,
            on_repeat: RepeatPolicy::default(),
            events: None,
            settings: "{}".to_owned(),
        }
    }

    /// Hands an event to the observer, if there is one.
    pub(crate) async fn report_event(&self, event: RuntimeEvent) {
        if let Some(observer) = &self.events {
            observer.on_event(event).await;
        }
    }
}

/// The policy for a `once` call that an earlier attempt made as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepeatPolicy {
    /// The driver gets a warning about earlier attempts, and the call executes.
    #[default]
    Warn,
    /// haft refuses the call.
    Refuse,
    /// haft returns the earlier answer.
    Recall,
}

/// Says of a process whether it is gone, `None` where that cannot be known.
pub type OwnerGoneCheck = dyn Fn(&LeaseOwner) -> Option<bool> + Send + Sync;

/// Bounds of every call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// Output, and files, contents and patches, in bytes.
    pub output_bytes: usize,
    /// Time, in milliseconds.
    pub timeout_ms: u64,
    /// Tools of Python files and MCP servers that a model is shown at once. It finds the others with `tool_search`.
    pub listed_tools: usize,
    /// Time for a person to answer whether a call may execute, in milliseconds. A front end can wait without it.
    pub answer_ms: u64,
}

impl CallLimits {
    /// Returns how many bytes of text an answer of this tool may have.
    pub(crate) fn output_bytes_of(&self, contract: &Contract) -> usize {
        let bytes = match contract.output_limit {
            OutputLimit::Configured | OutputLimit::Entries(_) => self.output_bytes,
            OutputLimit::Bytes(declared) => declared.min(self.output_bytes),
        };
        bytes.min(OUTPUT_BYTES_MAX)
    }
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            output_bytes: OUTPUT_BYTES_DEFAULT,
            timeout_ms: TIMEOUT_MS_DEFAULT,
            listed_tools: LISTED_TOOLS_DEFAULT,
            answer_ms: ANSWER_MS_DEFAULT,
        }
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
    ConnectionId(#[from] CallAddressError),
    /// The session's name begins with a dot.
    #[error("session {0:?} is not valid: expected a name that does not begin with a dot")]
    ConnectionName(String),
    /// A requirement is not usable.
    #[error(transparent)]
    Requirement(#[from] PatternError),
}

/// Digits in the name of an ask: 48 bits, so that two of a million asks hardly share one. An insert would fail then.
const ASK_ID_DIGITS: usize = 12;

/// The conditions of the host, known once a call runs a command.
#[derive(Clone, Copy, Debug, Default)]
struct HostConditions {
    /// The conditions that rules can depend on.
    rules: Conditions,
    /// Whether commands have their own mounts, which hold the rules about paths.
    holds_paths: bool,
}

/// The state that all calls share.
pub(crate) struct RuntimeShared {
    /// The parts that the front end chose.
    pub(crate) parts: RuntimeParts,
    /// The current tools. The initial tools are moved here from the parts.
    pub(crate) catalog: Catalog,
    /// Of the manifest alone: the hosts among it are for the tools that run commands.
    pub(crate) agent_capabilities: Capabilities,
    /// The project rules that persons added while the runtime runs.
    pub(crate) added_project_rules: AddedProjectRules,
    /// The number of asks that this process made: a part of their names.
    ask_count: AtomicU64,
    /// The conditions that rules can depend on. The first call that runs a command probes them, because most sessions
    /// run no command and should start quickly.
    conditions: OnceCell<HostConditions>,
    /// The places outside the roots that requirements name.
    pub(crate) granted: GrantedPlaces,
    /// Of the hidden places those that have something to do with the roots: walks compare every entry with them.
    hidden_within: Vec<PathBuf>,
    /// The background processes, which shutdown ends.
    pub(crate) processes: ProcessRegistry,
    /// The TLS settings, which are read with the first encrypted connection.
    pub(crate) tls_trust: TlsTrust,
}

impl RuntimeShared {
    /// Puts the parts together; rules and requirements are checked here, not at the first call.
    pub(crate) fn new(mut parts: RuntimeParts) -> Result<Self, RuntimeError> {
        RuleSet::compile(parts.rules.iter().cloned(), &parts.variables, Conditions::default())?;
        let agent = Capabilities::compile(&parts.requires, &parts.variables)?;
        let (requires, variables) = (parts.requires.clone(), parts.variables.clone());
        let catalog = Catalog::new(std::mem::take(&mut parts.registry), requires, variables)?;
        let hidden_within = parts.sandbox.hidden_within(&parts.roots.paths());
        let required = parts.requires.clone().union(&catalog.registry().requires());
        let granted = GrantedPlaces::open(&required, &parts.variables, &parts.roots.paths());
        Ok(Self {
            granted,
            hidden_within,
            parts,
            catalog,
            agent_capabilities: agent,
            added_project_rules: AddedProjectRules::default(),
            ask_count: AtomicU64::new(0),
            conditions: OnceCell::new(),
            processes: ProcessRegistry::default(),
            tls_trust: TlsTrust::default(),
        })
    }

    /// Returns a name for an ask that no other ask has. It is short, because people type it.
    pub(crate) fn new_ask_id(&self, call: &CallAddress, fencing_token: u64) -> String {
        let count = self.ask_count.fetch_add(1, Ordering::Relaxed);
        let of_process = format!("{}\n{call}\n{fencing_token}\n{count}", self.parts.owner.id);
        let digest = sha256_hex(of_process.as_bytes());
        format!("ask_{}", digest.get(..ASK_ID_DIGITS).unwrap_or(&digest))
    }

    /// Returns whether a place is kept from every call.
    pub(crate) fn is_hidden(&self, path: &PathSubject) -> bool {
        let hidden =
            if path.relative.is_some() { &self.hidden_within } else { &self.parts.sandbox.hidden };
        hidden.iter().any(|place| path.absolute.starts_with(place))
    }

    /// Returns what is known of the place where calls run.
    pub(crate) fn conditions(&self) -> Conditions {
        self.conditions.get().copied().unwrap_or_default().rules
    }

    /// Returns whether the kernel keeps denied paths from the commands of calls, as far as that is known.
    pub(crate) fn holds_paths(&self) -> bool {
        self.conditions.get().is_some_and(|conditions| conditions.holds_paths)
    }

    /// Returns which commands haft refuses by name.
    pub(crate) fn network_guard(&self) -> NetworkGuard {
        self.parts.network_guard.unwrap_or(match self.conditions().sandboxed {
            true => NetworkGuard::Kernel,
            false => NetworkGuard::Standard,
        })
    }

    /// Finds out what rules may depend on, if one of the accesses runs a command.
    pub(crate) async fn load_conditions(&self, accesses: &[ResolvedAccess]) {
        let runs_commands =
            |access: &ResolvedAccess| matches!(access, ResolvedAccess::Shell { .. });
        if accesses.iter().any(runs_commands) {
            let probe = || async {
                let RuntimeParts { sandbox, launcher, .. } = &self.parts;
                if sandbox.confine == ConfineMode::UnsafeNever {
                    return HostConditions::default();
                }
                // Where the user opened the network, that is the user's answer. The sandbox holds everything else.
                let network = Network::Loopback;
                let enforceable = launcher.probe_enforcement(network, sandbox.mechanisms).await;
                // A failed probe counts as no sandbox. Execution then refuses what cannot be enforced.
                let sandboxed = enforceable.is_ok_and(|enforced| enforced.is_full());
                let holds_paths = launcher.isolates_mounts(sandbox.mechanisms).await;
                HostConditions { rules: Conditions { sandboxed }, holds_paths }
            };
            self.conditions.get_or_init(probe).await;
        }
    }
}
