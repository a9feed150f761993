//! The settings of one process: flags and environment before the manifest, the manifest before the defaults, and of a
//! manifest that nobody trusted only what narrows.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use haft::{Limits, OnRepeat};
use haft_contract::{RequirementSet, ToolId};
use haft_policy::{Action, NetworkGuard, Rule, RuleScope};
use haft_sandbox::{ProtectedNames, Resources};
use haft_tools::Profile;

use crate::agents;
use crate::cli::SettingArgs;
use crate::error::CommandError;
use crate::journal_place::JournalPlace;
use crate::manifest::{
    AgentSection, CommandEntry, DurabilitySection, Examples, FILE_NAME, LanguageEntry, Manifest,
    ManifestFile, ModelSection, PlanSection, SandboxSection, ScopeSection, SnapshotsSection,
    WatchdogEntry, WebSearchSection,
};
use crate::mcp_servers::McpSettings;
use crate::output;
use crate::preset::Preset;
use crate::project::Project;
use crate::python::{PythonDirectories, directories};
use crate::state::State;
use crate::trust::Trust;
use crate::widening::part;

/// What holds for this process.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Where relative paths start.
    pub(crate) root: PathBuf,
    /// Further directories that calls may reach.
    pub(crate) roots: Vec<PathBuf>,
    /// The shapes of the tools.
    pub(crate) profile: Profile,
    /// The tools to offer, all of the profile unless named.
    pub(crate) tools: Option<Vec<ToolId>>,
    /// Directories of Python tools.
    pub(crate) python: PythonDirectories,
    /// Commands that are declared as tools.
    pub(crate) commands: DeclaredCommands,
    /// Language servers that are not the usual ones.
    pub(crate) lsp: BTreeMap<String, LanguageEntry>,
    /// MCP servers.
    pub(crate) mcp: McpSettings,
    /// What the agent requires beyond its tools.
    pub(crate) requires: RequirementSet,
    /// Rules of the preset, the manifest and the project.
    pub(crate) rules: Vec<(RuleScope, Rule)>,
    /// Where the rules of the preset come from.
    pub(crate) preset: Preset,
    /// Where the rules for this project are kept.
    pub(crate) project: Project,
    /// Tools whose every call is allowed.
    pub(crate) allow: Vec<String>,
    /// Hosts that commands may reach.
    pub(crate) allow_hosts: Vec<String>,
    /// Bounds of every call.
    pub(crate) limits: Limits,
    /// Whether commands get the ordinary network.
    pub(crate) allow_network: bool,
    /// What is refused by name while commands have no network.
    pub(crate) network_guard: NetworkGuard,
    /// Where calls belong that do not say so.
    pub(crate) scope: ScopeSection,
    /// Which model is asked.
    pub(crate) model: ModelSection,
    /// Who is asked by web_search.
    pub(crate) web_search: WebSearchSection,
    /// How much of a plan happens at the same time.
    pub(crate) plan: PlanSection,
    /// Which agent is talked to, and how far it goes.
    pub(crate) agent: AgentSection,
    /// Where calls are recorded, and for how long.
    pub(crate) durability: Durability,
    /// How commands are confined.
    pub(crate) sandbox: SandboxSettings,
    /// How much of workspaces is recorded around effects; nothing if there is no value.
    pub(crate) snapshots: Option<haft_snapshot::Options>,
    /// Further directories of skills.
    pub(crate) skill_paths: Vec<PathBuf>,
    /// Programs that see every call before it executes.
    pub(crate) watchdogs: Vec<WatchdogEntry>,
    /// Whether the built-in watchdog sees every call, too.
    pub(crate) reference_watchdog: bool,
    /// The manifest that was used.
    pub(crate) manifest: Option<PathBuf>,
    /// Whether somebody trusted it, and so this workspace; nobody did where there is none.
    pub(crate) is_trusted: bool,
    /// What of it does not hold because nobody trusted it, in words, and the command that has it hold.
    pub(crate) withheld: Option<Withheld>,
}

/// What of a manifest does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Withheld {
    /// Which manifest it is, and what of it, a line each.
    pub(crate) message: String,
    /// The command that trusts it.
    pub(crate) hint: String,
}

/// Where calls are recorded, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Durability {
    /// The journal.
    pub(crate) journal: JournalPlace,
    /// What is done about a `once` call that an earlier attempt made as well.
    pub(crate) on_repeat: OnRepeat,
    /// How long records are kept, in days.
    pub(crate) keep_days: Option<u64>,
    /// How much is kept.
    pub(crate) keep_bytes: Option<u64>,
}

/// How commands are confined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SandboxSettings {
    /// They are not, because the user said so.
    pub(crate) is_off: bool,
    /// How much they can use.
    pub(crate) resources: Resources,
    /// Whether a control group of their own bounds them, too.
    pub(crate) control_groups: bool,
    /// Further directories and files that they can read: absolute, and as they are spelled.
    pub(crate) readable: Vec<PathBuf>,
    /// Names that nobody changes.
    pub(crate) protected: ProtectedNames,
    /// Names that are protected by themselves, and here are not.
    pub(crate) unprotect: Vec<String>,
}

/// The commands of a manifest that are tools.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeclaredCommands {
    /// Those that hold.
    pub(crate) entries: Vec<CommandEntry>,
    /// Whether there are others, which nobody trusted.
    pub(crate) has_untrusted: bool,
}

/// A manifest as far as it holds.
struct Layer {
    manifest: Manifest,
    file: Option<ManifestFile>,
    is_trusted: bool,
    /// Whether it names directories of Python tools that do not hold.
    has_untrusted_python: bool,
    /// Whether it declares commands that do not hold.
    has_untrusted_commands: bool,
    /// Whether it names MCP servers that do not hold.
    has_untrusted_servers: bool,
    withheld: Option<Withheld>,
}

impl Layer {
    fn trusted(manifest: Manifest, file: Option<ManifestFile>) -> Self {
        Self {
            manifest,
            file,
            is_trusted: true,
            has_untrusted_python: false,
            has_untrusted_commands: false,
            has_untrusted_servers: false,
            withheld: None,
        }
    }
}

/// Finds out what holds. What of the manifest does not is said on standard error.
pub(crate) fn resolve(args: &SettingArgs, state: &State) -> Result<Settings, CommandError> {
    resolve_with(args, state, Examples::Checked)
}

/// Finds out what holds, also where the examples of rules are left to the caller.
pub(crate) fn resolve_with(
    args: &SettingArgs,
    state: &State,
    examples: Examples,
) -> Result<Settings, CommandError> {
    let working_directory = working_directory()?;
    let Layer {
        manifest,
        file,
        is_trusted,
        has_untrusted_python,
        has_untrusted_commands,
        has_untrusted_servers,
        withheld,
    } = layer(args, state, &working_directory, examples)?;
    let directory = file.as_ref().map_or(working_directory.as_path(), ManifestFile::directory);
    let preset = args.preset.or(manifest.preset).unwrap_or_default();
    let root = root(args, &manifest, directory, &working_directory);
    let permissions = if is_trusted {
        manifest.permissions
    } else {
        without_asks_for_denied(manifest.permissions, preset)
    };
    let project = Project::of(state, &root);
    let rules = scoped(preset, permissions, project.rules(examples)?);
    let durability = durability(args, manifest.durability, directory, state)?;
    let mut sandbox = sandbox(args, manifest.sandbox, directory);
    warn_of_less(&sandbox);
    warn_of_missing(&sandbox);
    let placed = |entry: WatchdogEntry| entry.placed(directory);
    let roots: Vec<PathBuf> = manifest.roots.iter().map(|root| directory.join(root)).collect();
    let python = PythonDirectories {
        entries: directories::named(manifest.python, directory, &args.python, &working_directory)?,
        has_untrusted: has_untrusted_python,
    };
    let mcp = McpSettings::placed(manifest.mcp, directory, has_untrusted_servers);
    sandbox.protected = protected(&sandbox, &root, &roots, &python, &mcp)?;
    let whole = file.as_ref().filter(|_| is_trusted).map(ManifestFile::path);
    sandbox.protected = agents::protected(sandbox.protected, &root, whole, &sandbox.unprotect)?;
    Ok(Settings {
        root,
        roots,
        profile: args.profile.map(Profile::from).or(manifest.profile).unwrap_or_default(),
        tools: named_tools(args)?.or(manifest.tools),
        python,
        lsp: manifest.lsp,
        mcp,
        commands: DeclaredCommands {
            entries: manifest.commands,
            has_untrusted: has_untrusted_commands,
        },
        requires: requires(manifest.requires, &args.allow_host),
        rules,
        preset,
        project,
        allow: args.allow.clone(),
        allow_hosts: args.allow_host.clone(),
        limits: limits(args, manifest.limits.output_bytes, manifest.limits.timeout_ms),
        allow_network: args.allow_network.or(manifest.allow_network).unwrap_or(false),
        network_guard: args.network_guard.or(manifest.network_guard).unwrap_or_default().into(),
        scope: manifest.scope,
        model: manifest.model,
        web_search: manifest.web_search,
        plan: manifest.plan,
        agent: manifest.agent,
        durability,
        sandbox,
        snapshots: snapshots(args, &manifest.snapshots),
        skill_paths: manifest.skills.paths.iter().map(|path| directory.join(path)).collect(),
        watchdogs: manifest.watchdogs.into_iter().map(placed).collect(),
        reference_watchdog: manifest.reference_watchdog.unwrap_or(true),
        is_trusted: is_trusted && file.is_some(),
        withheld,
        manifest: file.map(|file| file.path().to_owned()),
    })
}

/// Returns rules with the scopes that they come from.
fn scoped(preset: Preset, of_manifest: Vec<Rule>, of_project: Vec<Rule>) -> Vec<(RuleScope, Rule)> {
    let of_preset = preset.rules().into_iter().map(|rule| (RuleScope::Preset, rule));
    let of_manifest = of_manifest.into_iter().map(|rule| (RuleScope::Manifest, rule));
    let of_project = of_project.into_iter().map(|rule| (RuleScope::Project, rule));
    of_preset.chain(of_manifest).chain(of_project).collect()
}

fn root(
    args: &SettingArgs,
    manifest: &Manifest,
    directory: &Path,
    working_directory: &Path,
) -> PathBuf {
    let given = args.root.as_deref().filter(|root| !root.as_os_str().is_empty());
    match (given, &manifest.root) {
        (Some(root), _) => working_directory.join(root),
        (None, Some(root)) => directory.join(root),
        (None, None) => directory.to_owned(),
    }
}

/// Returns the directories that calls may reach with a manifest that lies in `directory`, if all of it holds.
pub(crate) fn roots(
    args: &SettingArgs,
    manifest: &Manifest,
    directory: &Path,
) -> Result<Vec<PathBuf>, CommandError> {
    let further = manifest.roots.iter().map(|root| directory.join(root));
    let root = root(args, manifest, directory, &working_directory()?);
    Ok(std::iter::once(root).chain(further).collect())
}

/// Hosts are required as well as allowed: without a requirement, a rule for all hosts would grant none.
fn requires(mut requires: RequirementSet, hosts: &[String]) -> RequirementSet {
    for host in hosts {
        if !requires.net.hosts.contains(host) {
            requires.net.hosts.push(host.clone());
        }
    }
    requires
}

/// Finds out where calls are recorded and for how long, for commands to which nothing else matters.
pub(crate) fn resolve_durability(
    args: &SettingArgs,
    state: &State,
) -> Result<Durability, CommandError> {
    let working_directory = working_directory()?;
    let Layer { manifest, file, .. } = layer(args, state, &working_directory, Examples::Left)?;
    let directory = file.as_ref().map_or(working_directory.as_path(), ManifestFile::directory);
    durability(args, manifest.durability, directory, state)
}

fn durability(
    args: &SettingArgs,
    section: DurabilitySection,
    directory: &Path,
    state: &State,
) -> Result<Durability, CommandError> {
    let named = args.db.as_deref().filter(|name| !name.is_empty());
    if let Some(problem) = named.and_then(OsStr::to_str).and_then(JournalPlace::problem_of) {
        return Err(CommandError::usage(format!("journal of --db or HAFT_DB: {problem}")));
    }
    let journal = match (named, section.journal) {
        (Some(name), _) => JournalPlace::named(name, Path::new("")),
        (None, Some(name)) => JournalPlace::named(OsStr::new(&name), directory),
        (None, None) => JournalPlace::of_state(state),
    };
    Ok(Durability {
        journal,
        on_repeat: section.on_repeat.map(OnRepeat::from).unwrap_or_default(),
        keep_days: section.keep_days,
        keep_bytes: section.keep_bytes,
    })
}

fn snapshots(args: &SettingArgs, section: &SnapshotsSection) -> Option<haft_snapshot::Options> {
    let is_on = !args.no_snapshots && section.enabled.unwrap_or(true);
    is_on.then(|| section.options())
}

fn sandbox(args: &SettingArgs, section: SandboxSection, directory: &Path) -> SandboxSettings {
    let (resources, protected) = (section.resources(), section.protected());
    let SandboxSection { readable, unprotect, control_groups, .. } = section;
    let readable = readable.iter().map(|path| directory.join(path));
    SandboxSettings {
        is_off: args.unsafe_no_sandbox,
        resources,
        control_groups,
        readable: readable.collect(),
        protected,
        unprotect,
    }
}

/// Says at every start what is less confined than it is by itself.
fn warn_of_less(sandbox: &SandboxSettings) {
    if sandbox.is_off {
        let message =
            "commands run without the sandbox (--unsafe-no-sandbox) and can do whatever you can";
        output::warning(message, None);
    }
    if !sandbox.unprotect.is_empty() {
        let names = sandbox.unprotect.join(", ");
        output::warning(&format!("not protected any more (sandbox.unprotect): {names}"), None);
    }
}

/// Returns the protected names with what of Python tools and MCP servers lies in the roots.
fn protected(
    sandbox: &SandboxSettings,
    root: &PathBuf,
    roots: &[PathBuf],
    python: &PythonDirectories,
    mcp: &McpSettings,
) -> Result<ProtectedNames, CommandError> {
    let places = || std::iter::once(root).chain(roots);
    let protection = python.protection(places(), &sandbox.unprotect)?;
    warn_of_unknown(&protection.unknown);
    let protected = sandbox.protected.clone().extended(&protection.patterns);
    mcp.protected(protected.map_err(CommandError::usage)?, places())
}

/// Says which names were to be unprotected and are protected by nothing. It is no error: with other roots they may be.
fn warn_of_unknown(unknown: &[String]) {
    for name in unknown.iter().filter(|name| *name != agents::WORKSPACE_AGENTS) {
        let message =
            format!("nothing protects {name:?}, which is to be unprotected (sandbox.unprotect)");
        output::warning(&message, None);
    }
}

/// Says which places commands do not see although they were meant to. A manifest may be shared by machines on which they
/// lie elsewhere, so this is no error.
fn warn_of_missing(sandbox: &SandboxSettings) {
    for place in sandbox.readable.iter().filter(|place| !place.exists()) {
        let place = place.display();
        output::warning(
            &format!("commands cannot read {place}, which is not there (sandbox.readable)"),
            None,
        );
    }
}

/// Returns the directory that this process works in.
pub(crate) fn working_directory() -> Result<PathBuf, CommandError> {
    std::env::current_dir()
        .map_err(|err| CommandError::usage(format!("there is no working directory: {err}")))
}

/// Returns the manifest that is named, or the one that holds in the working directory.
pub(crate) fn find_manifest(args: &SettingArgs) -> Result<Option<ManifestFile>, CommandError> {
    match named_manifest(args) {
        Some(path) => ManifestFile::read(path).map(Some),
        None => ManifestFile::discover(&working_directory()?),
    }
}

fn named_manifest(args: &SettingArgs) -> Option<&Path> {
    args.config.as_deref().filter(|path| !path.as_os_str().is_empty())
}

fn layer(
    args: &SettingArgs,
    state: &State,
    directory: &Path,
    examples: Examples,
) -> Result<Layer, CommandError> {
    if let Some(path) = named_manifest(args) {
        let file = ManifestFile::read(path)?;
        let manifest = file.parse_with(examples)?;
        return Ok(Layer::trusted(manifest, Some(file)));
    }
    let Some(file) = ManifestFile::discover(directory)? else {
        return Ok(Layer::trusted(Manifest::default(), None));
    };
    let manifest = file.parse_with(examples)?;
    if Trust::new(state.trust()).holds(&file) {
        return Ok(Layer::trusted(manifest, Some(file)));
    }
    let has_untrusted_python = !manifest.python.is_empty();
    let has_untrusted_commands = !manifest.commands.is_empty();
    let has_untrusted_servers = !manifest.mcp.is_empty();
    let parted = part(manifest, file.directory());
    let withheld = (!parted.widenings.is_empty()).then(|| Withheld {
        message: format!(
            "{} is not trusted, so this of it does not hold:\n  {}",
            file.path().display(),
            parted.widenings.join("\n  ")
        ),
        hint: trust_hint(&file),
    });
    if let Some(Withheld { message, hint }) = &withheld {
        output::warning(message, Some(hint));
    }
    Ok(Layer {
        manifest: parted.narrow,
        file: Some(file),
        is_trusted: false,
        has_untrusted_python,
        has_untrusted_commands,
        has_untrusted_servers,
        withheld,
    })
}

fn trust_hint(file: &ManifestFile) -> String {
    format!("haft trust {}", crate::quote::shell(&file.path().to_string_lossy()))
}

/// Rules of a manifest come before those of a preset, so that an ask of a manifest would weaken what the preset denies.
fn without_asks_for_denied(rules: Vec<Rule>, preset: Preset) -> Vec<Rule> {
    let denies = preset.rules().iter().any(|rule| rule.action == Action::Deny);
    if !denies {
        return rules;
    }
    let (asks, kept): (Vec<_>, Vec<_>) =
        rules.into_iter().partition(|rule| rule.action == Action::Ask);
    for rule in asks {
        let message = format!(
            "the preset {} denies, so `{rule}` of a manifest that is not trusted does not hold",
            preset.name()
        );
        output::warning(&message, None);
    }
    kept
}

/// Returns the tools that flags or environment name. An empty name is that of a variable that is set to nothing.
fn named_tools(args: &SettingArgs) -> Result<Option<Vec<ToolId>>, CommandError> {
    let names = args.tools.iter().filter(|name| !name.is_empty());
    let ids: Vec<ToolId> = names
        .map(|name| ToolId::parse(name).map_err(CommandError::usage))
        .collect::<Result<_, _>>()?;
    Ok((!ids.is_empty()).then_some(ids))
}

fn limits(args: &SettingArgs, output_bytes: Option<usize>, timeout_ms: Option<u64>) -> Limits {
    let defaults = Limits::default();
    // The flag's own bound fits into every address space.
    let flagged = args.output_bytes.and_then(|bytes| usize::try_from(bytes).ok());
    Limits {
        output_bytes: flagged.or(output_bytes).unwrap_or(defaults.output_bytes),
        timeout_ms: args.timeout_ms.or(timeout_ms).unwrap_or(defaults.timeout_ms),
    }
}

/// Returns the error for a place without a manifest.
pub(crate) fn no_manifest(directory: &Path) -> CommandError {
    CommandError::usage(format!("there is no {FILE_NAME} in {} or above it", directory.display()))
        .hint("haft init")
}
