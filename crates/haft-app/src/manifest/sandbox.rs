//! The table `[sandbox]` of a manifest: how much commands may use, what else they may read, and which names they may not
//! change. Only its own bounds are checked here; what they mean for a process is the sandbox's affair.

use std::path::PathBuf;

use haft_sandbox::{ProtectedPaths, ResourceLimits};
use serde::Deserialize;

use super::problem::{KeyProblem, out_of_bounds};

/// Smallest `sandbox.memory_bytes`.
///
/// Limit (settings): the manifest is refused.
pub const SANDBOX_MEMORY_BYTES_MIN: u64 = 16 * MIB;
/// Largest `sandbox.memory_bytes`.
///
/// Limit (settings): the manifest is refused.
pub const SANDBOX_MEMORY_BYTES_MAX: u64 = TIB;
/// Smallest `sandbox.processes`.
///
/// Limit (settings): the manifest is refused.
pub const SANDBOX_PROCESSES_MIN: u64 = 8;
/// Largest `sandbox.processes`.
///
/// Limit (settings): the manifest is refused.
pub const SANDBOX_PROCESSES_MAX: u64 = 65_536;
/// Smallest `sandbox.temp_bytes`.
///
/// Limit (settings): the manifest is refused.
pub const SANDBOX_TEMP_BYTES_MIN: u64 = MIB;
/// Largest `sandbox.temp_bytes`.
///
/// Limit (settings): the manifest is refused.
pub const SANDBOX_TEMP_BYTES_MAX: u64 = TIB;
/// Smallest `sandbox.file_bytes`.
///
/// Limit (settings): the manifest is refused.
pub const SANDBOX_FILE_BYTES_MIN: u64 = MIB;
/// Largest `sandbox.file_bytes`.
///
/// Limit (settings): the manifest is refused.
pub const SANDBOX_FILE_BYTES_MAX: u64 = 16 * TIB;
/// Smallest `sandbox.open_files`.
///
/// Limit (settings): the manifest is refused.
pub const SANDBOX_OPEN_FILES_MIN: u64 = 64;
/// Largest `sandbox.open_files`.
///
/// Limit (settings): the manifest is refused.
pub const SANDBOX_OPEN_FILES_MAX: u64 = 1_048_576;

/// The agents of a workspace, beneath its root.
pub const WORKSPACE_AGENTS: &str = "agents/*.md";
/// How a pattern ends that is about a directory with all that is beneath.
pub const BENEATH: &str = "/**";

/// The bytes of a mebibyte.
const MIB: u64 = 1024 * 1024;
/// The bytes of a tebibyte.
const TIB: u64 = MIB * MIB;

/// The values of the table. Every key is optional; a missing key has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxSection {
    /// The memory of all processes of a call together, in bytes.
    pub memory_bytes: Option<u64>,
    /// The number of processes and threads of a call.
    pub processes: Option<u64>,
    /// The size of all temporary files of a call together, in bytes.
    pub temp_bytes: Option<u64>,
    /// The size of one file, in bytes.
    pub file_bytes: Option<u64>,
    /// The number of files that a process can have open.
    pub open_files: Option<u64>,
    /// Whether each command gets a control group, which bounds its memory exactly and makes it start more slowly.
    pub control_groups: bool,
    /// Further directories and files that commands may read.
    pub readable: Vec<PathBuf>,
    /// Names that are protected beside the built-in ones.
    pub protect: Vec<String>,
    /// Built-in names, and those of Python tools, that are not protected.
    pub unprotect: Vec<String>,
}

impl SandboxSection {
    /// Returns the bounds that hold with this table.
    pub fn resources(&self) -> ResourceLimits {
        let defaults = ResourceLimits::default();
        // Both bounds are far below what the narrower type holds.
        let narrow = |value: Option<u64>| value.and_then(|value| u32::try_from(value).ok());
        ResourceLimits {
            memory_bytes: self.memory_bytes.unwrap_or(defaults.memory_bytes),
            processes: narrow(self.processes).unwrap_or(defaults.processes),
            temp_bytes: self.temp_bytes.unwrap_or(defaults.temp_bytes),
            file_bytes: self.file_bytes.unwrap_or(defaults.file_bytes),
            open_files: narrow(self.open_files).unwrap_or(defaults.open_files),
        }
    }

    /// Returns the names that are protected with this table. A pattern that is none, which `problems` reports,
    /// leaves everything protected that is so by itself.
    pub fn protected(&self) -> ProtectedPaths {
        let builtin = self.unprotect.iter().filter(|pattern| !may_be_of_workspace(pattern));
        let narrowed = ProtectedPaths::builtin().without_patterns(builtin);
        let names = narrowed.and_then(|names| names.with_patterns(&self.protect));
        names.unwrap_or_else(|_| ProtectedPaths::builtin())
    }

    /// Returns the keys whose values cannot be used, and what is wrong with them.
    pub(super) fn problems(&self) -> Vec<KeyProblem> {
        let protect = self.protect.iter().filter_map(|pattern| {
            let err = ProtectedPaths::empty().with_patterns([pattern]).err()?;
            Some(("protect", format!("protect: {err}")))
        });
        let builtin = self.unprotect.iter().filter(|pattern| !may_be_of_workspace(pattern));
        let unprotect = builtin.filter_map(|pattern| {
            let err = ProtectedPaths::builtin().without_patterns([pattern]).err()?;
            Some(("unprotect", format!("unprotect: {err}")))
        });
        let memory = SANDBOX_MEMORY_BYTES_MIN..=SANDBOX_MEMORY_BYTES_MAX;
        let processes = SANDBOX_PROCESSES_MIN..=SANDBOX_PROCESSES_MAX;
        let temporary = SANDBOX_TEMP_BYTES_MIN..=SANDBOX_TEMP_BYTES_MAX;
        let file = SANDBOX_FILE_BYTES_MIN..=SANDBOX_FILE_BYTES_MAX;
        let open_files = SANDBOX_OPEN_FILES_MIN..=SANDBOX_OPEN_FILES_MAX;
        let outside = [
            out_of_bounds("memory_bytes", self.memory_bytes, memory, "bytes"),
            out_of_bounds("processes", self.processes, processes, "processes"),
            out_of_bounds("temp_bytes", self.temp_bytes, temporary, "bytes"),
            out_of_bounds("file_bytes", self.file_bytes, file, "bytes"),
            out_of_bounds("open_files", self.open_files, open_files, "files"),
        ];
        outside.into_iter().flatten().chain(protect).chain(unprotect).collect()
    }
}

/// Returns whether a pattern is of the form in which directories of Python tools are protected, or that of a workspace's
/// agents, and no built-in one. Whether there are such files is known only where they are configured.
fn may_be_of_workspace(pattern: &str) -> bool {
    let is_built_in = || ProtectedPaths::builtin().patterns().any(|it| it == pattern);
    pattern == WORKSPACE_AGENTS || (pattern.ends_with(BENEATH) && !is_built_in())
}
