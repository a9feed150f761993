//! Finds, reads and checks `haft.toml`, the manifest. haft searches upwards from the working directory, reads the file
//! once and checks all of it. Other modules decide which values hold: flags come first, and an untrusted manifest can
//! only restrict.

mod agent;
mod asks;
mod commands;
mod durability;
mod lsp;
mod mcp;
mod model;
mod network;
mod notify;
mod plan;
mod problem;
mod python;
mod read;
mod rule_lines;
mod sandbox;
mod scope;
pub mod setting;
mod skills;
mod snapshots;
mod watchdog;
mod web;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use haft_contract::{RequirementSet, ToolId, sha256_hex};
use haft_policy::Rule;
use haft_tools::Profile;
use serde::Deserialize;

use crate::app_error::AppError;
use crate::network_guard::NetworkGuardName;
use crate::preset::Preset;

pub use agent::AgentSection;
pub use asks::AskPolicy;
pub use commands::{COMMANDS_MAX, CommandEntry};
pub use durability::DurabilitySection;
pub use lsp::{LSP_LANGUAGES_MAX, LanguageEntry, name_problem as language_name_problem};
pub use mcp::{
    MCP_SERVERS_MAX, ServerEntry, ServerVariables, VariableValue,
    name_problem as server_name_problem,
};
pub use model::{ModelPrices, ModelSection};
pub use network::NetworkSection;
pub use notify::{NOTIFY_MAX, NOTIFY_TIMEOUT_MS_DEFAULT, NotifyEntry, NotifyEvent, WebhookFormat};
pub use plan::PlanSection;
pub use problem::LINE_CHARS_MAX;
pub use python::{PYTHON_DIRECTORIES_MAX, PythonEntry};
pub use read::ExampleChecks;
pub use rule_lines::rule_lines;
pub use sandbox::{
    BENEATH, SANDBOX_FILE_BYTES_MAX, SANDBOX_FILE_BYTES_MIN, SANDBOX_MEMORY_BYTES_MAX,
    SANDBOX_MEMORY_BYTES_MIN, SANDBOX_OPEN_FILES_MAX, SANDBOX_OPEN_FILES_MIN,
    SANDBOX_PROCESSES_MAX, SANDBOX_PROCESSES_MIN, SANDBOX_TEMP_BYTES_MAX, SANDBOX_TEMP_BYTES_MIN,
    SandboxSection, WORKSPACE_AGENTS,
};
pub use scope::ScopeSection;
pub use skills::{SKILL_PATHS_MAX, SkillsSection};
pub use snapshots::SnapshotsSection;
pub use watchdog::{WATCHDOG_TIMEOUT_MS_DEFAULT, WATCHDOGS_MAX, WatchdogEntry};
pub use web::{SEARCH_PROVIDERS_MAX, SEARCHES_MAX, WebSearchSection};

/// The manifest's file name.
pub const FILE_NAME: &str = "haft.toml";
/// Largest `haft.toml`, in bytes.
///
/// Limit (settings): the manifest is refused.
pub const MANIFEST_BYTES_MAX: u64 = 1024 * 1024;
/// Problems of a manifest that are listed at once.
pub const MANIFEST_PROBLEMS_MAX: usize = 20;

/// The values of a manifest, as they are written there. Every key is optional.
///
/// A value that is written here does not always hold: a front end may set another value, and an untrusted manifest cannot
/// widen what an agent may do. [`crate::settings::resolve`] returns the values that hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manifest {
    /// Where relative paths of calls start.
    pub root: Option<PathBuf>,
    /// Further directories that calls may reach.
    pub roots: Vec<PathBuf>,
    /// The shapes of the tools.
    pub profile: Option<Profile>,
    /// The rules that hold where no other rule does.
    pub preset: Option<Preset>,
    /// How a call that needs an answer goes on if its client cannot ask a person.
    pub asks: Option<AskPolicy>,
    /// The tools to offer. Without the key, all tools of the profile are offered.
    pub tools: Option<Vec<ToolId>>,
    /// The accesses of the agent in addition to those of its tools.
    pub requires: RequirementSet,
    /// The bounds of every call.
    pub limits: ManifestLimits,
    /// Where calls are recorded, and for how long.
    pub durability: DurabilitySection,
    /// The task and attempt of calls that name none.
    pub scope: ScopeSection,
    /// The model to ask.
    pub model: ModelSection,
    /// How many nodes of a plan are executed at the same time.
    pub plan: PlanSection,
    /// The agent of new sessions, and the bounds of sessions.
    pub agent: AgentSection,
    /// Whether commands use the network of the host.
    pub allow_network: Option<bool>,
    /// The proxy through which granted hosts are reached.
    pub network: NetworkSection,
    /// Which commands are refused while commands have no network.
    pub network_guard: Option<NetworkGuardName>,
    /// How commands are confined.
    pub sandbox: SandboxSection,
    /// Further directories of skills.
    pub skills: SkillsSection,
    /// The amount that haft records of workspaces around effects.
    pub snapshots: SnapshotsSection,
    /// Directories of Python tools.
    pub python: Vec<PythonEntry>,
    /// Language servers by name, in addition to the built-in ones or in place of them.
    pub lsp: BTreeMap<String, LanguageEntry>,
    /// MCP servers by name.
    pub mcp: BTreeMap<String, ServerEntry>,
    /// Commands that are declared as tools.
    pub commands: Vec<CommandEntry>,
    /// Programs that see every call before it executes.
    pub watchdogs: Vec<WatchdogEntry>,
    /// Programs and webhooks that are notified.
    pub notify: Vec<NotifyEntry>,
    /// The providers that `web_search` asks.
    pub web_search: WebSearchSection,
    /// Whether the built-in watchdog sees every call.
    pub reference_watchdog: Option<bool>,
    /// Permission rules, in the order in which they are written.
    pub permissions: Vec<Rule>,
}

/// The bounds that a manifest sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ManifestLimits {
    /// The largest output that is not cut, in bytes.
    pub output_bytes: Option<usize>,
    /// The time limit of a call that names none, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// The tools of Python files and MCP servers that a model is shown at once.
    pub listed_tools: Option<usize>,
    /// The longest answer that a model is shown, in characters.
    pub shown_chars: Option<usize>,
    /// The time for a person to answer whether a call may execute, in milliseconds.
    pub answer_ms: Option<u64>,
}

/// A manifest as it lies on disk. It is read once, so that what is judged, hashed and used is the same content.
#[derive(Clone, Debug)]
pub struct ManifestFile {
    /// The absolute path of the file.
    path: PathBuf,
    /// The content of the file.
    text: String,
}

impl ManifestFile {
    /// Finds and reads the manifest that holds in `directory`: the nearest one, going up.
    ///
    /// # Errors
    ///
    /// Fails like [`Self::read`] if there is a manifest. A directory without one is no error.
    pub fn discover(directory: &Path) -> Result<Option<Self>, AppError> {
        let candidates = directory.ancestors().map(|ancestor| ancestor.join(FILE_NAME));
        candidates
            .into_iter()
            .find(|path| path.symlink_metadata().is_ok())
            .map(|path| Self::read(&path))
            .transpose()
    }

    /// Reads the manifest at `path`.
    ///
    /// # Errors
    ///
    /// Fails if the path names no file, if the file cannot be read or is not UTF-8, and if it is too long.
    pub fn read(path: &Path) -> Result<Self, AppError> {
        let unusable = |why: &dyn std::fmt::Display| {
            AppError::configuration(format!("manifest {} cannot be read: {why}", path.display()))
        };
        // The file itself may be a link. The link gives the manifest its content and not its place: otherwise a link to a
        // trusted manifest in a stranger's directory would be trusted there too.
        let name = path.file_name().ok_or_else(|| unusable(&"it is a directory"))?;
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new(".")).canonicalize();
        let path = directory.map_err(|err| unusable(&err))?.join(name);
        // Opening something else than a file, such as a FIFO, could wait for ever.
        if !path.metadata().map_err(|err| unusable(&err))?.is_file() {
            return Err(unusable(&"it is not a file"));
        }
        let file = std::fs::File::open(&path).map_err(|err| unusable(&err))?;
        let mut text = String::new();
        file.take(MANIFEST_BYTES_MAX + 1)
            .read_to_string(&mut text)
            .map_err(|err| unusable(&err))?;
        if u64::try_from(text.len()).is_ok_and(|bytes| bytes > MANIFEST_BYTES_MAX) {
            return Err(unusable(&format!("it has more than {MANIFEST_BYTES_MAX} bytes")));
        }
        Ok(Self { path, text })
    }

    /// Returns the manifest that a path and a text would be; whether it is one is seen when it is parsed.
    pub fn of_text(path: PathBuf, text: String) -> Self {
        Self { path, text }
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the path of the file in the canonical path of its directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the directory that the manifest is about; relative paths in it start there.
    pub fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Returns the SHA-256 of the content, in hexadecimal.
    pub fn sha256(&self) -> String {
        sha256_hex(self.text.as_bytes())
    }

    /// Returns the manifest as a watchdog's program is told it: without the journal, the proxy and the webhooks, whose URLs may
    /// hold secrets.
    ///
    /// # Errors
    ///
    /// Fails if the text is not TOML.
    pub fn value(&self) -> Result<serde_json::Value, AppError> {
        let unusable = |err: toml::de::Error| {
            AppError::configuration(format!("{}: {err}", self.path.display()))
        };
        let mut value: serde_json::Value = toml::from_str(&self.text).map_err(unusable)?;
        if let Some(manifest) = value.as_object_mut() {
            manifest.remove("notify");
        }
        for (section, key) in [("durability", "journal"), ("network", "proxy")] {
            if let Some(section) =
                value.get_mut(section).and_then(|section| section.as_object_mut())
            {
                section.remove(key);
            }
        }
        Ok(value)
    }

    /// Returns a manifest with another text at the same place.
    pub fn with_text(&self, text: String) -> Self {
        Self::of_text(self.path.clone(), text)
    }

    /// Returns the error of a manifest that cannot be taken apart.
    pub(crate) fn unusable(&self, why: &dyn std::fmt::Display) -> AppError {
        AppError::configuration(format!("manifest {}: {why}", self.path.display()))
    }

    /// Returns what the manifest says, without a look at the examples of its rules.
    pub(crate) fn parse_unchecked(&self) -> Result<Manifest, AppError> {
        self.parse_with(ExampleChecks::Unchecked)
    }

    /// Returns what the manifest says, or everything that is wrong with it.
    ///
    /// # Errors
    ///
    /// Fails with all problems of the manifest: what is not TOML, unknown keys, values of a wrong type or out of range, rules
    /// whose examples do not hold. Each has its line.
    pub fn parse(&self) -> Result<Manifest, AppError> {
        self.parse_with(ExampleChecks::Checked)
    }

    /// Returns what the manifest says, and leaves it to the caller whether the examples of its rules hold.
    ///
    /// # Errors
    ///
    /// Fails like [`Self::parse`], but for the examples only if they are checked.
    pub fn parse_with(&self, examples: ExampleChecks) -> Result<Manifest, AppError> {
        read::read(&self.text, examples).map_err(|problems| {
            AppError::configuration(problem::report("manifest", &self.path, &self.text, problems))
        })
    }
}

/// The content of a file of rules for one project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectText {
    /// The directory that the rules are about, as it was written down.
    pub root: Option<String>,
    /// The rules.
    pub permissions: Vec<Rule>,
}

/// Returns what a file of rules for a project says, or everything that is wrong with it.
///
/// # Errors
///
/// Fails like [`ManifestFile::parse`]; a file of project rules may hold rules only.
pub fn parse_project(
    path: &Path,
    text: &str,
    examples: ExampleChecks,
) -> Result<ProjectText, AppError> {
    read::read_project(text, examples).map_err(|problems| {
        AppError::configuration(problem::report("project rules", path, text, problems))
    })
}

#[cfg(test)]
mod tests;
