//! `haft.toml`, the manifest: found upwards from the working directory, read once, checked whole. What of it holds is
//! decided elsewhere: flags come before it, and a manifest that nobody trusted may only narrow.

mod agent;
mod commands;
mod durability;
mod lsp;
mod mcp;
mod model;
mod plan;
mod problem;
mod python;
mod read;
mod sandbox;
mod scope;
mod skills;
mod snapshots;
mod watchdog;
mod web;

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use haft_contract::{RequirementSet, ToolId, sha256_hex};
use haft_policy::Rule;
use haft_tools::Profile;
use serde::Deserialize;

use crate::error::CommandError;
use crate::network_guard::Guard;
use crate::preset::Preset;

pub(crate) use agent::{
    AgentSection, CONTEXT_TOKENS_MAX, CONTEXT_TOKENS_MIN, OUTPUT_TOKENS_MAX, TURN_STEPS_MAX,
};
pub(crate) use commands::{COMMANDS_MAX, CommandEntry};
pub(crate) use durability::{DurabilitySection, KEEP_DAYS_MAX};
pub(crate) use lsp::{
    LSP_LANGUAGES_MAX, LSP_NAME_CHARS_MAX, LanguageEntry, name_problem as language_name_problem,
};
pub(crate) use mcp::{
    MCP_NAME_CHARS_MAX, MCP_SERVERS_MAX, ServerEntry, VariableValue, Variables as ServerVariables,
    name_problem as server_name_problem,
};
pub(crate) use model::{MODEL_MS_MAX, ModelSection};
pub(crate) use plan::PlanSection;
pub(crate) use problem::LINE_CHARS_MAX;
pub(crate) use python::{PYTHON_DIRECTORIES_MAX, PYTHON_IDLE_MS_MAX, PythonEntry};
pub(crate) use read::Examples;
pub(crate) use sandbox::{
    BENEATH, SANDBOX_FILE_BYTES_MAX, SANDBOX_FILE_BYTES_MIN, SANDBOX_MEMORY_BYTES_MAX,
    SANDBOX_MEMORY_BYTES_MIN, SANDBOX_OPEN_FILES_MAX, SANDBOX_OPEN_FILES_MIN,
    SANDBOX_PROCESSES_MAX, SANDBOX_PROCESSES_MIN, SANDBOX_TEMP_BYTES_MAX, SANDBOX_TEMP_BYTES_MIN,
    SandboxSection,
};
pub(crate) use scope::ScopeSection;
pub(crate) use skills::{SKILL_PATHS_MAX, SkillsSection};
pub(crate) use snapshots::{
    SNAPSHOT_FILE_BYTES_MAX, SNAPSHOT_FILES_MAX, SNAPSHOT_IGNORED_BYTES_MAX, SnapshotsSection,
};
pub(crate) use watchdog::{
    WATCHDOG_TIMEOUT_MS_DEFAULT, WATCHDOG_TIMEOUT_MS_MAX, WATCHDOGS_MAX, WatchdogEntry,
};
pub(crate) use web::{SEARCH_PROVIDERS_MAX, SEARCHES_MAX, WebSearchSection};

/// The manifest's file name.
pub(crate) const FILE_NAME: &str = "haft.toml";
/// Largest manifest, in bytes.
pub(crate) const MANIFEST_BYTES_MAX: u64 = 1024 * 1024;
/// Problems of a manifest that are listed at once.
pub(crate) const MANIFEST_PROBLEMS_MAX: usize = 20;

/// What a manifest says. Everything in it is optional.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Manifest {
    pub(crate) root: Option<PathBuf>,
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) profile: Option<Profile>,
    pub(crate) preset: Option<Preset>,
    pub(crate) tools: Option<Vec<ToolId>>,
    pub(crate) requires: RequirementSet,
    pub(crate) limits: ManifestLimits,
    pub(crate) durability: DurabilitySection,
    pub(crate) scope: ScopeSection,
    pub(crate) model: ModelSection,
    pub(crate) plan: PlanSection,
    pub(crate) agent: AgentSection,
    pub(crate) allow_network: Option<bool>,
    pub(crate) network_guard: Option<Guard>,
    pub(crate) sandbox: SandboxSection,
    pub(crate) skills: SkillsSection,
    pub(crate) snapshots: SnapshotsSection,
    pub(crate) python: Vec<PythonEntry>,
    pub(crate) lsp: BTreeMap<String, LanguageEntry>,
    pub(crate) mcp: BTreeMap<String, ServerEntry>,
    pub(crate) commands: Vec<CommandEntry>,
    pub(crate) watchdogs: Vec<WatchdogEntry>,
    pub(crate) web_search: WebSearchSection,
    pub(crate) reference_watchdog: Option<bool>,
    pub(crate) permissions: Vec<Rule>,
}

/// The bounds that a manifest sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct ManifestLimits {
    pub(crate) output_bytes: Option<usize>,
    pub(crate) timeout_ms: Option<u64>,
}

/// A manifest as it lies on disk. It is read once, so that what is judged, hashed and used is the same content.
#[derive(Clone, Debug)]
pub(crate) struct ManifestFile {
    path: PathBuf,
    text: String,
}

impl ManifestFile {
    /// Finds and reads the manifest that holds in `directory`: the nearest one, going up.
    pub(crate) fn discover(directory: &Path) -> Result<Option<Self>, CommandError> {
        let candidates = directory.ancestors().map(|ancestor| ancestor.join(FILE_NAME));
        candidates
            .into_iter()
            .find(|path| path.symlink_metadata().is_ok())
            .map(|path| Self::read(&path))
            .transpose()
    }

    /// Reads the manifest at `path`.
    pub(crate) fn read(path: &Path) -> Result<Self, CommandError> {
        let unusable = |why: &dyn std::fmt::Display| {
            CommandError::usage(format!("manifest {} cannot be read: {why}", path.display()))
        };
        let path = placed(path).map_err(|err| unusable(&err))?;
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
    pub(crate) fn of_text(path: PathBuf, text: String) -> Self {
        Self { path, text }
    }

    /// Returns the text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the path of the file in the canonical path of its directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the directory that the manifest is about; relative paths in it start there.
    pub(crate) fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Returns the SHA-256 of the content, in hexadecimal.
    pub(crate) fn sha256(&self) -> String {
        sha256_hex(self.text.as_bytes())
    }

    /// Returns the manifest as a watchdog's program is told it: without the journal, whose URL may hold a password.
    pub(crate) fn value(&self) -> Result<serde_json::Value, CommandError> {
        let unusable =
            |err: toml::de::Error| CommandError::usage(format!("{}: {err}", self.path.display()));
        let mut value: serde_json::Value = toml::from_str(&self.text).map_err(unusable)?;
        if let Some(section) =
            value.get_mut("durability").and_then(|section| section.as_object_mut())
        {
            section.remove("journal");
        }
        Ok(value)
    }

    /// Returns what the manifest says, or everything that is wrong with it.
    pub(crate) fn parse(&self) -> Result<Manifest, CommandError> {
        self.parse_with(Examples::Checked)
    }

    /// Returns what the manifest says, and leaves it to the caller whether the examples of its rules hold.
    pub(crate) fn parse_with(&self, examples: Examples) -> Result<Manifest, CommandError> {
        read::read(&self.text, examples).map_err(|problems| {
            CommandError::usage(problem::report("manifest", &self.path, &self.text, problems))
        })
    }
}

/// What a file of rules says that is kept for one project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProjectText {
    /// The directory that the rules are about, as it was written down.
    pub(crate) root: Option<String>,
    /// The rules.
    pub(crate) permissions: Vec<Rule>,
}

/// Returns what a file of rules for a project says, or everything that is wrong with it.
pub(crate) fn parse_project(
    path: &Path,
    text: &str,
    examples: Examples,
) -> Result<ProjectText, CommandError> {
    read::read_project(text, examples).map_err(|problems| {
        CommandError::usage(problem::report("project rules", path, text, problems))
    })
}

/// Returns where a manifest lies. The file itself may be a link: that lends it a content but no other place, or else a
/// stranger's link to a manifest that is trusted elsewhere would hold with all that is trusted there.
fn placed(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    Ok(directory.unwrap_or(Path::new(".")).canonicalize()?.join(name))
}

#[cfg(test)]
mod tests;
