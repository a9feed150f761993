//! Decides which directories of Python tools hold: those of the manifest, and those that flags name. Another module reads
//! them.

use std::path::{Path, PathBuf};

use super::protection;
use crate::app_error::AppError;
use crate::loaded_paths::RootProtection;
use crate::manifest::PythonEntry;

/// Directories of Python tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonDirectories {
    /// Those that hold, with absolute paths, each directory once.
    pub entries: Vec<PythonEntry>,
}

impl PythonDirectories {
    /// Returns which names in the roots are to be protected, because they decide what the tools are and do; an error where
    /// that is not possible.
    ///
    /// # Errors
    ///
    /// Fails if one of the names cannot be protected, because it is a root or lies above one.
    pub fn protection<'a>(
        &self,
        roots: impl Iterator<Item = &'a PathBuf>,
        unprotected: &[String],
    ) -> Result<RootProtection, AppError> {
        let paths: Vec<_> = self.entries.iter().flat_map(protection::loaded_paths).collect();
        RootProtection::of(&paths, roots, unprotected)
    }
}

/// Returns the directories that a manifest in `directory` and flags name, each once: what the manifest says of one that a
/// flag names as well holds. One that a flag names must be there.
///
/// # Errors
///
/// Fails if a flag names something that is no directory.
pub fn effective_entries(
    of_manifest: Vec<PythonEntry>,
    directory: &Path,
    of_flags: &[PathBuf],
    working_directory: &Path,
) -> Result<Vec<PythonEntry>, AppError> {
    let mut entries: Vec<PythonEntry> = Vec::new();
    let mut add = |entry: PythonEntry| {
        if !entries.iter().any(|known| known.is_at(&entry.dir)) {
            entries.push(entry);
        }
    };
    of_manifest.into_iter().map(|entry| entry.resolve_paths(directory)).for_each(&mut add);
    for path in of_flags.iter().filter(|path| !path.as_os_str().is_empty()) {
        let path = working_directory.join(path);
        if !path.is_dir() {
            return Err(AppError::configuration(format!(
                "python: {} is no directory: expected one that holds Python tools",
                path.display()
            )));
        }
        add(PythonEntry::of_directory(path));
    }
    Ok(entries)
}
