//! What a survey is asked and what it answers, as data.

use std::path::PathBuf;

/// What a survey may count on, and where it puts what it takes away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Means {
    /// How what exists is kept.
    pub holding: Holding,
    /// Files and directories whose content the command must not read: a second name that one of them has in a writable
    /// directory is found and pinned.
    pub hidden: Vec<PathBuf>,
    /// The directory, outside of every writable one, that what is undone is moved to. It is made when it is needed.
    /// Without one, what is undone is removed.
    pub quarantine: Option<PathBuf>,
}

/// How protected files that exist are kept as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Holding {
    /// Whoever confines the command mounts every pin: what is pinned cannot be changed.
    Pinning,
    /// Nothing is mounted. Copies are kept, and what was changed is restored afterwards.
    Comparing,
}

/// Something that a mount has to hold while a command runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pin {
    /// Where it is, absolute and without any link.
    pub path: PathBuf,
    /// How it is held.
    pub kind: PinKind,
}

/// How something is held while a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PinKind {
    /// A directory bound onto itself as writable as it was: it cannot be renamed, replaced or removed.
    Anchor,
    /// A file, or a directory with all that is in it, bound onto itself read-only.
    ReadOnly,
    /// A file that is another name of a hidden one, covered by an empty one.
    Hidden,
}

/// Something that a command did to a protected name, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// Where it was.
    pub path: PathBuf,
    /// The pattern that protects the path.
    pub pattern: String,
    /// What was done about it.
    pub how: Remedy,
}

/// What was done about a change to a protected name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// It was moved here.
    Quarantined(PathBuf),
    /// What was there before is there again.
    Restored,
    /// It was removed.
    Removed,
    /// Nothing could be done, for this reason: it is still there.
    Failed(String),
}

/// Why the writable directories could not be surveyed: the command must not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SurveyError {
    /// There are more directories than are looked at.
    #[error(
        "{root:?} holds more than {max} directories, so protected names in it cannot be found; use a smaller directory \
         as the root"
    )]
    Directories {
        /// The writable directory.
        root: PathBuf,
        /// How many are looked at.
        max: usize,
    },
    /// Directories are nested more deeply than is looked at.
    #[error(
        "{path:?} is nested more than {max} directories deep, so protected names in it cannot be found; remove it or move \
         it up"
    )]
    Depth {
        /// The first directory that is too deep.
        path: PathBuf,
        /// How deep is looked at.
        max: usize,
    },
    /// There is more under protected names than is looked at.
    #[error(
        "more than {max} files lie under protected names, the latest found at {path:?}; take the pattern that matches it \
         out of the protected names, or use a smaller directory as the root"
    )]
    Entries {
        /// The first file that is one too many.
        path: PathBuf,
        /// How many are looked at.
        max: usize,
    },
    /// There is more content under protected names than copies are kept of.
    #[error(
        "protected files hold more than {max} bytes, so no copies of them can be kept, the latest found at {path:?}; take \
         the pattern that matches it out of the protected names, or run where mount namespaces can be had"
    )]
    Copies {
        /// The file of which no copy could be kept.
        path: PathBuf,
        /// How many bytes are kept.
        max: u64,
    },
    /// A directory or file cannot be looked at.
    #[error("cannot look for protected names at {path:?}: {source}")]
    Unreadable {
        /// Which one.
        path: PathBuf,
        /// What the operating system answered.
        source: std::io::Error,
    },
}

impl From<SurveyError> for std::io::Error {
    fn from(error: SurveyError) -> Self {
        std::io::Error::other(error)
    }
}
