//! Options and results of a protected-path scan, as data.

use std::path::PathBuf;

use super::path_rules::RuledPaths;

/// The options of a scan: the means of protection, and where reverted files go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanOptions {
    /// How existing protected files are preserved.
    pub mode: ProtectionMode,
    /// Files and directories that the command must not read. Other names (hard links) of these
    /// files in a writable directory are found and hidden by a mount.
    pub hidden: Vec<PathBuf>,
    /// The directory, outside of every writable one, that reverted files are moved to. It is
    /// created when needed. Without one, reverted files are removed.
    pub quarantine: Option<PathBuf>,
    /// Rules about paths, and the directories in which they are looked for.
    pub ruled: RuledPaths,
}

/// How existing protected files are preserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProtectionMode {
    /// The confinement creates every protective mount, so mounted paths cannot be changed.
    ReadOnlyMounts,
    /// Without mounts: copies are kept, and changed files are restored afterwards.
    Copies,
}

/// A mount that must be in place while a command runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProtectiveMount {
    /// The path: absolute, without symbolic links.
    pub path: PathBuf,
    /// The kind of mount.
    pub kind: ProtectiveMountKind,
}

/// The kind of a protective mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProtectiveMountKind {
    /// A directory bound onto itself, still writable: it cannot be renamed, replaced or removed.
    Anchor,
    /// A file, or a directory with everything in it, bound onto itself read-only.
    ReadOnly,
    /// A file that is another name of a hidden file, covered by an empty one.
    Hidden,
}

/// A command's change to a protected path, and how it was reverted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevertedChange {
    /// The changed path.
    pub path: PathBuf,
    /// The pattern that protects the path. It is empty if the path lies beyond the limits of the scan.
    pub pattern: String,
    /// The result of reverting it.
    pub result: RevertResult,
}

/// The result of reverting a change to a protected path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RevertResult {
    /// The new file was moved here.
    Quarantined(PathBuf),
    /// The previous file was restored.
    Restored,
    /// The new file was removed.
    Removed,
    /// Reverting failed for this reason; the change is still there.
    Failed(String),
}

/// The writable directories could not be scanned, so the command must not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError {
    /// There are more directories than the scan reads.
    #[error(
        "{root:?} holds more than {max} directories, so protected names in it cannot be found; use a smaller directory \
         as the root"
    )]
    Directories {
        /// The writable directory.
        root: PathBuf,
        /// The maximum number of directories.
        max: usize,
    },
    /// Directories are nested more deeply than the scan reads.
    #[error(
        "{path:?} is nested more than {max} directories deep, so protected names in it cannot be found; remove it or move \
         it up"
    )]
    Depth {
        /// The first directory that is too deep.
        path: PathBuf,
        /// The maximum depth.
        max: usize,
    },
    /// There are more files under protected names than the scan reads.
    #[error(
        "more than {max} files lie under protected names, the latest found at {path:?}; take the pattern that matches it \
         out of the protected names, or use a smaller directory as the root"
    )]
    Entries {
        /// The first file beyond the maximum.
        path: PathBuf,
        /// The maximum number of files.
        max: usize,
    },
    /// Rules keep more paths from commands than can be found and covered.
    #[error(
        "rules keep more than {max} files from commands, the latest found at {path:?}; let the rules name directories \
         instead of files, or use a smaller directory as the root"
    )]
    Ruled {
        /// The first file beyond the maximum.
        path: PathBuf,
        /// The maximum number of files.
        max: usize,
    },
    /// Protected files have more content than the scan copies.
    #[error(
        "protected files hold more than {max} bytes, so no copies of them can be kept, the latest found at {path:?}; take \
         the pattern that matches it out of the protected names, or run where mount namespaces are available"
    )]
    Copies {
        /// The file that could not be copied.
        path: PathBuf,
        /// The maximum number of bytes.
        max: u64,
    },
    /// A directory or file cannot be read.
    #[error("cannot scan for protected names at {path:?}: {source}")]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
}

impl From<ScanError> for std::io::Error {
    fn from(error: ScanError) -> Self {
        std::io::Error::other(error)
    }
}
