//! The table `[sandbox]` of a manifest: how much commands may use, what else they may read, and which names they may not
//! change. Only its own bounds are checked here; what they mean for a process is the sandbox's affair.

use std::path::PathBuf;

use haft_sandbox::{ProtectedNames, Resources};
use serde::Deserialize;

use crate::agents::WORKSPACE_AGENTS;

/// Least memory, in bytes: below it no interpreter starts.
pub(crate) const SANDBOX_MEMORY_BYTES_MIN: u64 = 16 * MIB;
/// Most memory, in bytes.
pub(crate) const SANDBOX_MEMORY_BYTES_MAX: u64 = TIB;
/// Fewest processes and threads: a shell and a short pipe.
pub(crate) const SANDBOX_PROCESSES_MIN: u64 = 8;
/// Most processes and threads.
pub(crate) const SANDBOX_PROCESSES_MAX: u64 = 65_536;
/// Least space for temporary files, in bytes.
pub(crate) const SANDBOX_TEMP_BYTES_MIN: u64 = MIB;
/// Most space for temporary files, in bytes.
pub(crate) const SANDBOX_TEMP_BYTES_MAX: u64 = TIB;
/// Smallest bound of one file, in bytes.
pub(crate) const SANDBOX_FILE_BYTES_MIN: u64 = MIB;
/// Largest bound of one file, in bytes.
pub(crate) const SANDBOX_FILE_BYTES_MAX: u64 = 16 * TIB;
/// Fewest open files of one process.
pub(crate) const SANDBOX_OPEN_FILES_MIN: u64 = 64;
/// Most open files of one process, which is as many as kernels allow by default.
pub(crate) const SANDBOX_OPEN_FILES_MAX: u64 = 1_048_576;

/// How a pattern ends that is about a directory with all that is beneath.
pub(crate) const BENEATH: &str = "/**";

const MIB: u64 = 1024 * 1024;
const TIB: u64 = MIB * MIB;

/// What the table says. Everything in it is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SandboxSection {
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) processes: Option<u64>,
    pub(crate) temp_bytes: Option<u64>,
    pub(crate) file_bytes: Option<u64>,
    pub(crate) open_files: Option<u64>,
    /// Whether each command gets a control group, which bounds its memory exactly and makes it start more slowly.
    pub(crate) control_groups: bool,
    /// Further directories and files that commands may read.
    pub(crate) readable: Vec<PathBuf>,
    /// Names that are protected beside the built-in ones.
    pub(crate) protect: Vec<String>,
    /// Built-in names, and those of Python tools, that are not protected.
    pub(crate) unprotect: Vec<String>,
}

/// A bound that the table sets, and what it may be.
struct Bound {
    key: &'static str,
    minimum: u64,
    maximum: u64,
    unit: &'static str,
    of: fn(&SandboxSection) -> Option<u64>,
    default: fn(&Resources) -> u64,
    unset: fn(&mut SandboxSection),
}

const BOUNDS: &[Bound] = &[
    Bound {
        key: "memory_bytes",
        minimum: SANDBOX_MEMORY_BYTES_MIN,
        maximum: SANDBOX_MEMORY_BYTES_MAX,
        unit: "bytes",
        of: |section| section.memory_bytes,
        default: |resources| resources.memory_bytes,
        unset: |section| section.memory_bytes = None,
    },
    Bound {
        key: "processes",
        minimum: SANDBOX_PROCESSES_MIN,
        maximum: SANDBOX_PROCESSES_MAX,
        unit: "processes",
        of: |section| section.processes,
        default: |resources| u64::from(resources.processes),
        unset: |section| section.processes = None,
    },
    Bound {
        key: "temp_bytes",
        minimum: SANDBOX_TEMP_BYTES_MIN,
        maximum: SANDBOX_TEMP_BYTES_MAX,
        unit: "bytes",
        of: |section| section.temp_bytes,
        default: |resources| resources.temp_bytes,
        unset: |section| section.temp_bytes = None,
    },
    Bound {
        key: "file_bytes",
        minimum: SANDBOX_FILE_BYTES_MIN,
        maximum: SANDBOX_FILE_BYTES_MAX,
        unit: "bytes",
        of: |section| section.file_bytes,
        default: |resources| resources.file_bytes,
        unset: |section| section.file_bytes = None,
    },
    Bound {
        key: "open_files",
        minimum: SANDBOX_OPEN_FILES_MIN,
        maximum: SANDBOX_OPEN_FILES_MAX,
        unit: "files",
        of: |section| section.open_files,
        default: |resources| u64::from(resources.open_files),
        unset: |section| section.open_files = None,
    },
];

impl SandboxSection {
    /// Returns the bounds that hold with this table.
    pub(crate) fn resources(&self) -> Resources {
        let defaults = Resources::default();
        // Both bounds are far below what the narrower type holds.
        let narrow = |value: Option<u64>| value.and_then(|value| u32::try_from(value).ok());
        Resources {
            memory_bytes: self.memory_bytes.unwrap_or(defaults.memory_bytes),
            processes: narrow(self.processes).unwrap_or(defaults.processes),
            temp_bytes: self.temp_bytes.unwrap_or(defaults.temp_bytes),
            file_bytes: self.file_bytes.unwrap_or(defaults.file_bytes),
            open_files: narrow(self.open_files).unwrap_or(defaults.open_files),
        }
    }

    /// Returns the names that are protected with this table. A pattern that is none, which [`Self::problems`] reports,
    /// leaves everything protected that is so by itself.
    pub(crate) fn protected(&self) -> ProtectedNames {
        let builtin = self.unprotect.iter().filter(|pattern| !may_be_of_workspace(pattern));
        let narrowed = ProtectedNames::builtin().without(builtin);
        let names = narrowed.and_then(|names| names.extended(&self.protect));
        names.unwrap_or_else(|_| ProtectedNames::builtin())
    }

    /// Returns the keys whose values cannot be used, and what is wrong with them.
    pub(super) fn problems(&self) -> Vec<(&'static str, String)> {
        let protect = self.protect.iter().filter_map(|pattern| {
            let err = ProtectedNames::none().extended([pattern]).err()?;
            Some(("protect", format!("protect: {err}")))
        });
        let builtin = self.unprotect.iter().filter(|pattern| !may_be_of_workspace(pattern));
        let unprotect = builtin.filter_map(|pattern| {
            let err = ProtectedNames::builtin().without([pattern]).err()?;
            Some(("unprotect", format!("unprotect: {err}")))
        });
        self.bound_problems().into_iter().chain(protect).chain(unprotect).collect()
    }

    fn bound_problems(&self) -> Vec<(&'static str, String)> {
        let outside = |bound: &&Bound| {
            (bound.of)(self).is_some_and(|value| value < bound.minimum || value > bound.maximum)
        };
        let problem = |bound: &Bound| {
            let Bound { key, minimum, maximum, unit, .. } = bound;
            let value = (bound.of)(self).unwrap_or_default();
            (*key, format!("{key}: expected {minimum} to {maximum} {unit}, found {value}"))
        };
        BOUNDS.iter().filter(outside).map(problem).collect()
    }

    /// Takes out the bounds that are larger than the defaults and returns them in the words of the manifest.
    pub(crate) fn take_larger_bounds(&mut self) -> Vec<String> {
        let defaults = Resources::default();
        let mut taken = Vec::new();
        for bound in BOUNDS {
            let larger = (bound.of)(self).filter(|value| *value > (bound.default)(&defaults));
            if let Some(value) = larger {
                taken.push(format!("sandbox.{} = {value}", bound.key));
                (bound.unset)(self);
            }
        }
        taken
    }
}

/// Returns whether a pattern is of the form in which directories of Python tools are protected, or that of a workspace's
/// agents, and no built-in one. Whether there are such files is known only where they are configured.
fn may_be_of_workspace(pattern: &str) -> bool {
    let is_built_in = || ProtectedNames::builtin().patterns().any(|it| it == pattern);
    pattern == WORKSPACE_AGENTS || (pattern.ends_with(BENEATH) && !is_built_in())
}
