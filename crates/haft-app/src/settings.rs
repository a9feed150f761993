//! Computes the settings of one process. Flags and environment come before the manifest, and the manifest before the
//! defaults. Of an untrusted manifest, only values that do not widen hold.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use haft::{AD_HOC_PATTERN, CallLimits, RepeatPolicy, SHOWN_CHARS_DEFAULT};
use haft_contract::{RequirementSet, ToolId};
use haft_policy::{NetworkGuard, Rule, RuleAction, RuleScope, is_local_host};
use haft_sandbox::proxy::UpstreamProxy;
use haft_sandbox::{ProtectedPaths, ResourceLimits};
use haft_tools::Profile;

use crate::agents;
use crate::app_error::{AppError, NextStep};
use crate::host::AppHost;
use crate::journal_location::JournalLocation;
use crate::layers::{
    SettingLayer, UntrustedSettings, discovered_manifest, named_manifest, user_layer,
    workspace_layer,
};
use crate::loaded_paths::RootProtection;
use crate::manifest::{
    AgentSection, AskPolicy, CommandEntry, DurabilitySection, ExampleChecks, FILE_NAME,
    LanguageEntry, Manifest, ManifestFile, ManifestLimits, ModelSection, NotifyEntry, PlanSection,
    SandboxSection, ScopeSection, WORKSPACE_AGENTS, WatchdogEntry, WebSearchSection,
};
use crate::mcp_servers::McpSettings;
use crate::network_guard::NetworkGuardName;
use crate::overrides::SettingOverrides;
use crate::preset::Preset;
use crate::program_files::{MOVE_SCRIPT, ProgramFiles, ProgramLine};
use crate::project_rules::ProjectRuleFile;
use crate::python::{PythonDirectories, directories};

/// The settings that hold for this process. All paths are absolute, or start in the directory that named them.
#[derive(Clone, Debug)]
pub struct EffectiveSettings {
    /// Where relative paths start.
    pub root: PathBuf,
    /// Further directories that calls may reach.
    pub roots: Vec<PathBuf>,
    /// The shapes of the tools.
    pub profile: Profile,
    /// The tools to offer, all of the profile unless named.
    pub tools: Option<Vec<ToolId>>,
    /// Directories of Python tools.
    pub python: PythonDirectories,
    /// Commands that are declared as tools.
    pub commands: Vec<CommandEntry>,
    /// Language servers that are not the usual ones.
    pub lsp: BTreeMap<String, LanguageEntry>,
    /// MCP servers.
    pub mcp: McpSettings,
    /// The requirements of the agent beyond those of its tools.
    pub requires: RequirementSet,
    /// Rules of the preset, the manifest, the user's own configuration and the project.
    pub rules: Vec<(RuleScope, Rule)>,
    /// Where the rules of the preset come from.
    pub preset: Preset,
    /// How a call that needs an answer goes on if its client cannot ask a person.
    pub asks: AskPolicy,
    /// Where the rules for this project are kept.
    pub project: ProjectRuleFile,
    /// Tools whose every call is allowed.
    pub allow: Vec<String>,
    /// Hosts that commands may reach.
    pub allow_hosts: Vec<String>,
    /// Files and directories outside the roots that calls may read: the value of `{ad-hoc}`, as canonical paths.
    pub ad_hoc: Vec<PathBuf>,
    /// Bounds of every call.
    pub limits: CallLimits,
    /// The longest answer that a model is shown, in characters.
    pub shown_chars: usize,
    /// Whether commands get the ordinary network.
    pub allow_network: bool,
    /// The proxy through which granted hosts are reached.
    pub proxy: Option<UpstreamProxy>,
    /// How many commands are refused by name while commands have no network.
    pub network_guard: Option<NetworkGuard>,
    /// Where calls belong that do not say so.
    pub scope: ScopeSection,
    /// Which model is asked.
    pub model: ModelSection,
    /// Who is asked by web_search.
    pub web_search: WebSearchSection,
    /// How much of a plan happens at the same time.
    pub plan: PlanSection,
    /// Which agent is talked to, and how far it goes.
    pub agent: AgentSection,
    /// Where calls are recorded, and for how long.
    pub durability: DurabilitySettings,
    /// How commands are confined.
    pub sandbox: SandboxSettings,
    /// How much of workspaces is recorded around effects; nothing if there is no value.
    pub snapshots: Option<haft_snapshot::RecordOptions>,
    /// Whether the refs and the index of repositories are recorded with each command.
    pub records_repositories: bool,
    /// Further directories of skills.
    pub skill_paths: Vec<PathBuf>,
    /// Programs that see every call before it executes.
    pub watchdogs: Vec<WatchdogEntry>,
    /// Programs and webhooks that are notified: those of the user, and those of the manifest.
    pub notify: Vec<NotifyEntry>,
    /// Whether the built-in watchdog sees every call, too.
    pub reference_watchdog: bool,
    /// The manifest that was used.
    pub manifest: Option<PathBuf>,
    /// Whether the user trusted the manifest, and so this workspace; false without a manifest.
    pub is_trusted: bool,
    /// The user's own configuration, if there is one.
    pub user_configuration: Option<PathBuf>,
    /// The parts of both files that do not hold because the user has not trusted them yet.
    pub untrusted: Vec<UntrustedSettings>,
}

/// Where calls are recorded, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DurabilitySettings {
    /// The journal.
    pub journal: JournalLocation,
    /// The treatment of a `once` call that an earlier attempt made as well.
    pub on_repeat: RepeatPolicy,
    /// How long records are kept, in days.
    pub keep_days: Option<u64>,
    /// How much is kept.
    pub keep_bytes: Option<u64>,
}

/// How commands are confined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSettings {
    /// They are not, because the user said so.
    pub is_off: bool,
    /// How much they can use.
    pub resources: ResourceLimits,
    /// Whether a control group of their own bounds them, too.
    pub control_groups: bool,
    /// Further directories and files that they can read: absolute, and as they are spelled.
    pub readable: Vec<PathBuf>,
    /// Names that neither tools nor commands change.
    pub protected: ProtectedPaths,
    /// Names that are protected by themselves, and here are not.
    pub unprotect: Vec<String>,
}

/// Variables that name the proxy of a machine, the first one that is set counts.
const PROXY_VARIABLES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// Returns the proxy of the manifest, or else the one that the environment names. A variable that haft cannot use is left
/// out with a warning, because other programs may understand it.
fn upstream(manifest: Option<&str>, host: &AppHost) -> Result<Option<UpstreamProxy>, AppError> {
    let direct = host.variable_text("NO_PROXY").or_else(|| host.variable_text("no_proxy"));
    let direct = direct.unwrap_or_default();
    if let Some(url) = manifest {
        let proxy = UpstreamProxy::parse(url, &direct);
        return proxy.map(Some).map_err(AppError::configuration);
    }
    let named = PROXY_VARIABLES
        .iter()
        .find_map(|name| Some((name, host.variable_text(name).filter(|url| !url.is_empty())?)));
    let Some((name, url)) = named else { return Ok(None) };
    match UpstreamProxy::parse(&url, &direct) {
        Ok(proxy) => Ok(Some(proxy)),
        Err(err) => {
            host.warn(format!("granted hosts are reached without the proxy in {name}: {err}"));
            Ok(None)
        }
    }
}

/// Returns the settings that hold. It notifies `host` of the parts of an untrusted manifest that do not hold.
///
/// # Errors
///
/// Fails if the manifest or a rule in it cannot be read, or if an override names something that does not exist.
pub fn resolve(
    overrides: &SettingOverrides,
    host: &AppHost,
) -> Result<EffectiveSettings, AppError> {
    resolve_with(overrides, host, ExampleChecks::Checked)
}

/// Finds out what holds, also where the examples of rules are left to the caller.
///
/// # Errors
///
/// Fails like [`resolve`], but for the examples of rules only if they are checked.
pub fn resolve_with(
    overrides: &SettingOverrides,
    host: &AppHost,
    examples: ExampleChecks,
) -> Result<EffectiveSettings, AppError> {
    let working_directory = host.working_directory()?;
    let user = user_layer(host, examples)?;
    let workspace = workspace_layer(overrides, host, &working_directory, examples)?;
    let untrusted = user.untrusted.into_iter().chain(workspace.untrusted).collect();
    let (manifest, file, is_trusted) = (workspace.manifest, workspace.file, workspace.is_trusted);
    let directory = file.as_ref().map_or(working_directory.as_path(), ManifestFile::directory);
    let preset = overrides.preset.or(preset(&manifest, &user.manifest)).unwrap_or_default();
    let root = root(overrides, &manifest, directory, &working_directory);
    let permissions = match is_trusted {
        true => manifest.permissions,
        false => {
            without_asks_for_denied(manifest.permissions, preset, &user.manifest.permissions, host)
        }
    };
    let project = ProjectRuleFile::for_root(host, &root);
    let mut of_preset = preset.rules();
    of_preset.extend(required_hosts(preset, &manifest.requires));
    let of_preset = of_preset.into_iter().map(|rule| (RuleScope::Preset, rule));
    let of_manifest = permissions.into_iter().map(|rule| (RuleScope::Manifest, rule));
    let of_user = user.manifest.permissions.into_iter().map(|rule| (RuleScope::User, rule));
    let of_project = project.rules(examples)?.into_iter().map(|rule| (RuleScope::Project, rule));
    let rules = of_preset.chain(of_manifest).chain(of_user).chain(of_project).collect();
    let watchdogs = manifest.watchdogs.into_iter().map(|entry| entry.resolve_paths(directory));
    let profile = overrides.profile.or(manifest.profile).unwrap_or_default();
    let guard = overrides.network_guard.or(manifest.network_guard);
    // The texts of that profile say which commands are refused by name.
    let by_profile = (profile == Profile::Smithers).then_some(NetworkGuardName::Standard);
    let proxy = upstream(manifest.network.proxy.as_deref(), host)?;
    let durability = durability(overrides, manifest.durability, directory, host)?;
    let mut sandbox = sandbox(overrides, manifest.sandbox, directory, host);
    let roots = join_all(directory, &manifest.roots);
    let entries = directories::effective_entries(
        manifest.python,
        directory,
        &overrides.python,
        &working_directory,
    )?;
    let python = PythonDirectories { entries };
    let user_configuration = user.file;
    let user_directory = user_configuration.as_ref().map_or(directory, ManifestFile::directory);
    let of_user = McpSettings::resolve_entries(user.manifest.mcp, user_directory, host);
    let mut mcp =
        McpSettings::resolve_entries(manifest.mcp, directory, host).overridden_by(of_user, host);
    let notify_of_user =
        user.manifest.notify.into_iter().map(|it| it.resolve_paths(user_directory));
    let notify_of_workspace = manifest.notify.into_iter().map(|it| it.resolve_paths(directory));
    let places = [std::slice::from_ref(&root), &roots].concat();
    let mut protection = python.protection(places.iter(), &sandbox.unprotect)?;
    protection.extend(mcp.protect(&places, &sandbox.unprotect, host));
    protection.extend(command_files(&manifest.commands, &places, &sandbox.unprotect, host)?);
    sandbox.protected = protected(&sandbox, &protection, host)?;
    let whole = file.as_ref().filter(|_| is_trusted).map(ManifestFile::path);
    sandbox.protected = agents::protected(sandbox.protected, &root, whole, &sandbox.unprotect)?;
    // An empty name is that of a variable that is set to nothing.
    let names = overrides.tools.iter().filter(|name| !name.is_empty());
    let tools = names.map(|name| ToolId::parse(name).map_err(AppError::configuration));
    let tools: Vec<ToolId> = tools.collect::<Result<_, _>>()?;
    let ad_hoc = ad_hoc(&overrides.ad_hoc, &working_directory)?;
    let records_snapshots = !overrides.no_snapshots && manifest.snapshots.enabled.unwrap_or(true);
    Ok(EffectiveSettings {
        root,
        roots,
        profile,
        tools: if tools.is_empty() { manifest.tools } else { Some(tools) },
        python,
        lsp: manifest.lsp,
        mcp,
        commands: manifest.commands,
        requires: requires(manifest.requires, &overrides.allow_host, &ad_hoc),
        rules,
        preset,
        asks: manifest.asks.or(user.manifest.asks).unwrap_or_default(),
        project,
        allow: overrides.allow.clone(),
        allow_hosts: overrides.allow_host.clone(),
        ad_hoc,
        limits: limits(overrides, &manifest.limits),
        shown_chars: manifest.limits.shown_chars.unwrap_or(SHOWN_CHARS_DEFAULT),
        allow_network: overrides.allow_network.or(manifest.allow_network).unwrap_or(false),
        proxy,
        network_guard: guard.or(by_profile).map(NetworkGuard::from),
        scope: manifest.scope,
        model: manifest.model.overridden_by(user.manifest.model),
        web_search: manifest.web_search,
        plan: manifest.plan,
        agent: manifest.agent,
        durability,
        sandbox,
        records_repositories: manifest.snapshots.repositories.unwrap_or(false),
        snapshots: records_snapshots.then(|| manifest.snapshots.options()),
        skill_paths: join_all(directory, &manifest.skills.paths),
        watchdogs: watchdogs.collect(),
        notify: notify_of_user.chain(notify_of_workspace).collect(),
        reference_watchdog: manifest.reference_watchdog.unwrap_or(true),
        is_trusted: is_trusted && file.is_some(),
        untrusted,
        user_configuration: user_configuration.map(|file| file.path().to_owned()),
        manifest: file.map(|file| file.path().to_owned()),
    })
}

/// Returns the paths relative to a directory.
fn join_all(directory: &Path, paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().map(|path| directory.join(path)).collect()
}

/// Returns where relative paths of calls start: the directory of a flag, of the manifest, or of the process.
fn root(
    overrides: &SettingOverrides,
    manifest: &Manifest,
    directory: &Path,
    working_directory: &Path,
) -> PathBuf {
    let given = overrides.root.as_deref().filter(|root| !root.as_os_str().is_empty());
    match (given, &manifest.root) {
        (Some(root), _) => working_directory.join(root),
        (None, Some(root)) => directory.join(root),
        (None, None) => directory.to_owned(),
    }
}

/// Returns the directories that calls may reach with a manifest that lies in `directory`, if all of it holds.
///
/// # Errors
///
/// Fails if the host has no working directory.
pub fn roots(
    overrides: &SettingOverrides,
    manifest: &Manifest,
    directory: &Path,
    host: &AppHost,
) -> Result<Vec<PathBuf>, AppError> {
    let further = manifest.roots.iter().map(|root| directory.join(root));
    let root = root(overrides, manifest, directory, &host.working_directory()?);
    Ok(std::iter::once(root).chain(further).collect())
}

/// Returns the rules for the hosts that the manifest requires. Commands reach such a host without a question, and so do tools.
/// The rules belong to the preset, so that every rule that a person wrote comes before them.
fn required_hosts(preset: Preset, requires: &RequirementSet) -> Vec<Rule> {
    match preset {
        Preset::ReadOnly | Preset::Ask | Preset::Full => Vec::new(),
        Preset::Workspace => {
            // A host of a private network needs an answer about its very address.
            let hosts = requires.net.hosts.iter().filter(|host| !is_local_host(host));
            hosts.map(|host| Rule::new("net.fetch", host, RuleAction::Allow)).collect()
        }
    }
}

/// Hosts and files are required as well as allowed: without a requirement, a rule for all hosts would grant none.
fn requires(mut requires: RequirementSet, hosts: &[String], ad_hoc: &[PathBuf]) -> RequirementSet {
    if !ad_hoc.is_empty() && !requires.fs.read.iter().any(|pattern| pattern == AD_HOC_PATTERN) {
        requires.fs.read.push(AD_HOC_PATTERN.to_owned());
    }
    for host in hosts {
        if !requires.net.hosts.contains(host) {
            requires.net.hosts.push(host.clone());
        }
    }
    requires
}

/// Returns the canonical paths of the files and directories that calls may read by hand.
fn ad_hoc(paths: &[PathBuf], working_directory: &Path) -> Result<Vec<PathBuf>, AppError> {
    let canonical = |path: &PathBuf| {
        working_directory.join(path).canonicalize().map_err(|err| {
            let path = path.display();
            AppError::configuration(format!("ad-hoc file {path} cannot be used: {err}"))
        })
    };
    paths.iter().map(canonical).collect()
}

/// Finds out where calls are recorded and for how long, for commands to which nothing else matters.
///
/// # Errors
///
/// Fails if the manifest cannot be read, or if the name of the journal is no path and no URL that haft knows.
pub fn resolve_durability(
    overrides: &SettingOverrides,
    host: &AppHost,
) -> Result<DurabilitySettings, AppError> {
    let working_directory = host.working_directory()?;
    let SettingLayer { manifest, file, .. } =
        workspace_layer(overrides, host, &working_directory, ExampleChecks::Unchecked)?;
    let directory = file.as_ref().map_or(working_directory.as_path(), ManifestFile::directory);
    durability(overrides, manifest.durability, directory, host)
}

/// Returns where calls are recorded. Fails if the named journal is not valid.
fn durability(
    overrides: &SettingOverrides,
    section: DurabilitySection,
    directory: &Path,
    host: &AppHost,
) -> Result<DurabilitySettings, AppError> {
    let named = overrides.db.as_deref().filter(|name| !name.is_empty());
    if let Some(problem) = named.and_then(OsStr::to_str).and_then(JournalLocation::problem_of) {
        return Err(AppError::configuration(format!("durability.journal: {problem}")));
    }
    let journal = match (named, section.journal) {
        (Some(name), _) => JournalLocation::named(name, Path::new("")),
        (None, Some(name)) => JournalLocation::named(OsStr::new(&name), directory),
        (None, None) => JournalLocation::of_state(host),
    };
    Ok(DurabilitySettings {
        journal,
        on_repeat: section.on_repeat.map(RepeatPolicy::from).unwrap_or_default(),
        keep_days: section.keep_days,
        keep_bytes: section.keep_bytes,
    })
}

/// Returns how commands are confined. It warns of settings that confine them less than the defaults.
fn sandbox(
    overrides: &SettingOverrides,
    section: SandboxSection,
    directory: &Path,
    host: &AppHost,
) -> SandboxSettings {
    let (resources, protected) = (section.resources(), section.protected());
    let SandboxSection { readable, unprotect, control_groups, .. } = section;
    let readable = join_all(directory, &readable);
    // haft says at every start what confines commands less than the defaults do.
    if overrides.unsafe_no_sandbox {
        host.warn(
            "commands run without the sandbox (unsafe_no_sandbox) and can do whatever you can",
        );
    }
    if !unprotect.is_empty() {
        let names = unprotect.join(", ");
        host.warn(format!("not protected any more (sandbox.unprotect): {names}"));
    }
    // A manifest may be shared by machines on which these places differ, so a missing place is no error.
    for place in readable.iter().filter(|place| !place.exists()) {
        let place = place.display();
        host.warn(format!("commands cannot read {place}, which is not there (sandbox.readable)"));
    }
    let is_off = overrides.unsafe_no_sandbox;
    SandboxSettings { is_off, resources, control_groups, readable, protected, unprotect }
}

/// Returns the names of the files in the roots that declared commands load: a changed file would change the command.
fn command_files(
    commands: &[CommandEntry],
    roots: &[PathBuf],
    unprotected: &[String],
    host: &AppHost,
) -> Result<RootProtection, AppError> {
    let canonical: Vec<PathBuf> =
        roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
    let mut protection = RootProtection::default();
    for entry in commands {
        let start = canonical.first().map(|root| root.join(entry.cwd.as_deref().unwrap_or("")));
        let line = ProgramLine {
            what: format!("the command {}", entry.id),
            words: entry.fixed_words(),
            start,
            search_path: host.variable("PATH").unwrap_or_default(),
            reads_roots: true,
        };
        let ProgramFiles { paths, alone, .. } = line.files(&canonical);
        let has_hosts =
            entry.requires.as_ref().is_some_and(|requires| !requires.net.hosts.is_empty());
        if let Some(program) = alone.filter(|_| has_hosts) {
            return Err(AppError::configuration(format!(
                "commands: {} reaches hosts, and its program {} lies in a root itself, so the files beside it that it may \
                 load cannot be protected: {MOVE_SCRIPT}",
                entry.id,
                program.path.display()
            )));
        }
        protection.extend(RootProtection::of(&paths, roots.iter(), unprotected)?);
    }
    Ok(protection)
}

/// Returns the protected names with those of files that programs of the configuration load from the roots.
fn protected(
    sandbox: &SandboxSettings,
    protection: &RootProtection,
    host: &AppHost,
) -> Result<ProtectedPaths, AppError> {
    // With other roots there may be something to unprotect, so an unknown name is no error.
    let unknown = protection.unknown(&sandbox.unprotect);
    for name in unknown.into_iter().filter(|name| *name != WORKSPACE_AGENTS) {
        host.warn(format!(
            "nothing protects {name:?}, which is to be unprotected (sandbox.unprotect)"
        ));
    }
    let protected = sandbox.protected.clone().with_patterns(&protection.patterns);
    protected.map_err(AppError::configuration)
}

/// Returns the manifest that is named, or the one that holds in the working directory.
///
/// # Errors
///
/// Fails if the named or the found manifest cannot be read, and if the host has no working directory.
pub fn find_manifest(
    overrides: &SettingOverrides,
    host: &AppHost,
) -> Result<Option<ManifestFile>, AppError> {
    match named_manifest(overrides) {
        Some(path) => ManifestFile::read(path).map(Some),
        None => discovered_manifest(&host.working_directory()?, host),
    }
}

/// Returns the preset that the files name. Where both name one, the narrower one holds: a workspace may narrow what the user
/// allows elsewhere, and widens nothing that the user narrowed.
fn preset(manifest: &Manifest, user: &Manifest) -> Option<Preset> {
    match (manifest.preset, user.preset) {
        (Some(of_manifest), Some(of_user)) => Some(of_manifest.min(of_user)),
        (of_manifest, of_user) => of_manifest.or(of_user),
    }
}

/// Leaves out the asks of an untrusted manifest if the preset or the user denies something: a rule of a manifest can come
/// before theirs, so that an ask would weaken what they deny.
fn without_asks_for_denied(
    rules: Vec<Rule>,
    preset: Preset,
    of_user: &[Rule],
    host: &AppHost,
) -> Vec<Rule> {
    let denies = |rules: &[Rule]| rules.iter().any(|rule| rule.action == RuleAction::Deny);
    let denying = match (denies(&preset.rules()), denies(of_user)) {
        (true, _) => format!("the preset {} denies", preset.name()),
        (false, true) => "your own configuration denies".to_owned(),
        (false, false) => return rules,
    };
    let (asks, kept): (Vec<_>, Vec<_>) =
        rules.into_iter().partition(|rule| rule.action == RuleAction::Ask);
    for rule in asks {
        host.warn(format!(
            "{denying}, so `{rule}` of a manifest that is not trusted does not hold"
        ));
    }
    kept
}

/// Returns the bounds of calls: those of the user, of the manifest, or the defaults.
fn limits(overrides: &SettingOverrides, written: &ManifestLimits) -> CallLimits {
    let defaults = CallLimits::default();
    // The flag's own bound fits into every address space.
    let flagged = overrides.output_bytes.and_then(|bytes| usize::try_from(bytes).ok());
    CallLimits {
        output_bytes: flagged.or(written.output_bytes).unwrap_or(defaults.output_bytes),
        timeout_ms: overrides.timeout_ms.or(written.timeout_ms).unwrap_or(defaults.timeout_ms),
        listed_tools: written.listed_tools.unwrap_or(defaults.listed_tools),
        answer_ms: written.answer_ms.unwrap_or(defaults.answer_ms),
    }
}

/// Returns the error for a place without a manifest.
pub fn no_manifest(directory: &Path) -> AppError {
    AppError::configuration(format!(
        "there is no {FILE_NAME} in {} or above it",
        directory.display()
    ))
    .next(NextStep::MakeManifest)
}
