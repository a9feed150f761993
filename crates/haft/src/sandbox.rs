//! The confinement of the processes of calls, as a front end decides it. The same settings limit the files that tools
//! access directly. The kernel enforces them around processes; haft enforces them in front of file accesses, by
//! resolving and comparing paths.

mod denied_paths;
pub(crate) mod hooks;
mod readable;

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use haft_contract::{ErrorCode, RefusalSource, Remedy, ToolError};
use haft_policy::PathSubject;
use haft_sandbox::proxy::UpstreamProxy;
use haft_sandbox::{Confinement, Mechanisms, Network, ProtectedPaths, ResourceLimits, RuledPaths};

pub(crate) use denied_paths::DeniedPaths;
pub use readable::ReadablePaths;

/// Files with several names that a file with several names is compared with, at most, in each hidden place; beyond, it
/// is not opened.
pub(crate) const HIDDEN_FILES_MAX: usize = 10_000;

/// The protected pattern for hooks, in every directory in which git looks for them.
const HOOKS: &str = ".git/hooks/**";

/// Directories for temporary files, of which confined processes have their own.
const PRIVATE: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// The settings that confine the processes of calls.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// Whether they are confined at all.
    pub confine: ConfineMode,
    /// Directories and files outside the roots that they can read and execute: the system, toolchains, package caches.
    pub readable: ReadablePaths,
    /// Places that neither they nor tools see, inside roots too: credentials and haft's own state.
    pub hidden: Vec<PathBuf>,
    /// Names that neither they nor tools change.
    pub protected: ProtectedPaths,
    /// Their home directory, which is private, empty and gone afterwards.
    pub home: PathBuf,
    /// How much they can use.
    pub resources: ResourceLimits,
    /// The proxy outside through which granted hosts are reached, if this machine needs one. It serves `web_fetch`, too.
    pub upstream: Option<UpstreamProxy>,
    /// The mechanisms of the kernel to use; all of them but in tests of one alone.
    pub mechanisms: Mechanisms,
}

/// Whether processes are confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfineMode {
    /// Always; where the kernel cannot, the call is refused.
    Always,
    /// Never. Every envelope says so.
    UnsafeNever,
}

impl Sandbox {
    /// Returns the sandbox that shows the system's own directories and hides nothing inside the roots.
    ///
    /// A front end that knows the user's home directory adds toolchains to `readable` and credentials to `hidden`.
    #[must_use]
    pub fn system() -> Self {
        let system = ["/bin", "/etc", "/lib", "/lib64", "/opt", "/sbin", "/usr"];
        Self {
            confine: ConfineMode::Always,
            readable: system.map(PathBuf::from).to_vec().into(),
            hidden: Vec::new(),
            protected: ProtectedPaths::builtin(),
            home: PathBuf::from("/home/you"),
            resources: ResourceLimits::default(),
            upstream: None,
            mechanisms: Mechanisms::ALL,
        }
    }

    /// Returns whether processes run as the user runs them.
    pub(crate) fn is_off(&self) -> bool {
        self.confine == ConfineMode::UnsafeNever
    }

    /// Returns what one call's processes are confined to.
    pub(crate) fn confinement(&self, writable: Vec<PathBuf>, network: Network) -> Confinement {
        // A directory within a repository may be the one, or be around the one, in which that looks for hooks.
        let around: BTreeSet<&Path> = writable.iter().flat_map(|place| place.ancestors()).collect();
        let patterns = around.into_iter().flat_map(|place| self.hook_patterns(place));
        let protected = with_patterns(self.protected.clone(), patterns);
        Confinement {
            writable,
            readable: self.readable.to_vec(),
            hidden: self.hidden.clone(),
            protected,
            ruled: RuledPaths::default(),
            home: self.home.clone(),
            network,
            resources: self.resources,
            mechanisms: self.mechanisms,
        }
    }

    /// Returns the hidden places that have something to do with these roots: mostly none, and then nothing has to be
    /// compared with the many places that are hidden elsewhere.
    pub(crate) fn hidden_within(&self, roots: &[PathBuf]) -> Vec<PathBuf> {
        let concerns = |place: &&PathBuf| {
            roots.iter().any(|root| place.starts_with(root) || root.starts_with(place))
        };
        self.hidden.iter().filter(concerns).cloned().collect()
    }

    /// Refuses a path that no call may read.
    pub(crate) fn check_read(&self, path: &PathSubject) -> Result<(), ToolError> {
        if !self.hidden.iter().any(|place| path.absolute.starts_with(place)) {
            return Ok(());
        }
        Err(refused(format!(
            "{path} holds credentials or haft's own state, which no call reads: work without it"
        ))
        .decided_by(RefusalSource::HiddenPath))
    }

    /// Refuses a path that no call may change.
    pub(crate) fn check_write(&self, path: &PathSubject) -> Result<(), ToolError> {
        self.check_read(path)?;
        // Protected names also count in the path to the root, so a root inside a protected directory does not lift the
        // protection. A path outside all roots has an empty root.
        let (root, relative) = match &path.relative {
            Some(relative) => {
                let root = path.absolute.ancestors().nth(relative.components().count());
                (root.unwrap_or(Path::new("")), relative.as_path())
            }
            None => (Path::new(""), path.absolute.as_path()),
        };
        if let Some(pattern) = self.protected.matching_beneath(root, relative) {
            let is_protected = protected_words(&path.to_string(), pattern);
            return Err(refused(format!(
                "{is_protected}, because others run or obey what it says: leave it, or tell the user what to change"
            ))
            .decided_by(RefusalSource::ProtectedPath)
            .with_remedy(Remedy::Unprotect(pattern.to_owned())));
        }
        let hooks = with_patterns(ProtectedPaths::empty(), self.hook_patterns(root));
        if hooks.matching_beneath(root, relative).is_some() {
            return Err(refused(format!(
                "{path} is protected as by {HOOKS:?}, because the repository tells git with core.hooksPath to look \
                 for hooks there: leave it, or tell the user what to change"
            ))
            .decided_by(RefusalSource::ProtectedPath)
            .with_remedy(Remedy::Unprotect(HOOKS.to_owned())));
        }
        Ok(())
    }

    /// Returns the names that no call may change beneath a root: the fixed names, and the directories in which the
    /// repository configures git hooks.
    pub(crate) fn protected_in(&self, root: &Path) -> ProtectedPaths {
        with_patterns(self.protected.clone(), self.hook_patterns(root))
    }

    /// Returns patterns of the directories in which the repository at a root keeps its hooks, unless hooks are not protected
    /// at all.
    fn hook_patterns(&self, root: &Path) -> Vec<String> {
        if !root.is_absolute() || self.protected.matching(Path::new(".git/hooks")).is_none() {
            return Vec::new();
        }
        // Spelled from the top, the run of names ends in this one directory.
        let pattern = |directory: PathBuf| root.join(directory).to_string_lossy().into_owned();
        let patterns = hooks::directories(root).into_iter().map(pattern);
        patterns.map(|pattern| pattern.trim_start_matches('/').to_owned()).collect()
    }

    /// Refuses a file that is a hidden one by another name. Only a file with several names can be.
    pub(crate) fn check_links(
        &self,
        opened: &haft_sandbox::OpenedRootFile,
    ) -> Result<(), ToolError> {
        if !opened.has_other_names {
            return Ok(());
        }
        let identity = (opened.stamp.device, opened.stamp.inode);
        for place in &self.hidden {
            let why = match compare_hidden_file(place, identity, HIDDEN_FILES_MAX) {
                HiddenFileComparison::Different => continue,
                HiddenFileComparison::Same => {
                    "the file is another name of one that holds credentials or \
                                     haft's own state, which no call reads: work without it"
                        .to_owned()
                }
                HiddenFileComparison::Unknown => format!(
                    "the file has several names, and could not be compared with all that have \
                     several in {place:?}, which no call reads: copy it, and use the copy"
                ),
            };
            return Err(refused(why).decided_by(RefusalSource::HiddenPath));
        }
        Ok(())
    }

    /// Returns whether a process that reads a place outside the roots does no harm: confined, it finds there what it may
    /// see, which is mostly nothing.
    pub(crate) fn may_show(&self, path: &Path) -> bool {
        let is_readable = || self.readable.iter().any(|place| path.starts_with(place));
        self.confine == ConfineMode::Always || is_readable()
    }

    /// Returns whether each call's processes have a place of their own there.
    pub(crate) fn is_private(&self, path: &Path) -> bool {
        let temporary = PRIVATE.iter().any(|place| path.starts_with(place));
        self.confine == ConfineMode::Always && (temporary || path.starts_with(&self.home))
    }
}

/// Adds patterns; one that has more names than a pattern can have stands for nothing.
fn with_patterns(
    names: ProtectedPaths,
    patterns: impl IntoIterator<Item = String>,
) -> ProtectedPaths {
    patterns
        .into_iter()
        .fold(names, |names, pattern| names.clone().with_patterns([pattern]).unwrap_or(names))
}

/// Returns the error of a path that no call may reach.
/// Returns that a path is protected, and by which pattern if that is not the path itself.
pub(crate) fn protected_words(path: &str, pattern: &str) -> String {
    match path == pattern {
        true => format!("{path} is protected"),
        false => format!("{path} is protected by {pattern:?}"),
    }
}

fn refused(message: String) -> ToolError {
    ToolError::new(ErrorCode::CapabilityDenied, message)
}

/// Whether a file is one of those in a hidden place.
#[derive(Debug, PartialEq, Eq)]
enum HiddenFileComparison {
    /// The hidden place has no name of the file.
    Different,
    /// The hidden place has another name of the file.
    Same,
    /// There are too many to tell.
    Unknown,
}

/// Compares the file of that device and number with a hidden place, or with all that it holds. Follows no links.
///
/// Directories, files with one name, and files on other devices cannot be meant, and do not count.
fn compare_hidden_file(
    place: &Path,
    (device, inode): (u64, u64),
    files_max: usize,
) -> HiddenFileComparison {
    let mut files = 0;
    let mut pending = vec![place.to_path_buf()];
    while let Some(path) = pending.pop() {
        let Ok(metadata) = path.symlink_metadata() else { continue };
        if metadata.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            pending.extend(entries.map(|entry| entry.path()));
        } else if metadata.nlink() > 1 && metadata.dev() == device {
            if metadata.ino() == inode {
                return HiddenFileComparison::Same;
            }
            files += 1;
            if files > files_max {
                return HiddenFileComparison::Unknown;
            }
        }
    }
    HiddenFileComparison::Different
}

#[cfg(test)]
mod tests;
