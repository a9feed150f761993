//! Git repositories under names other than `.git`. Git accepts any directory with the right entries as a repository,
//! and then obeys its configuration and hooks. This module deliberately checks one set of changes at a time. The caller
//! must hold back the changes of other calls until these are made.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use haft_contract::{ErrorCode, FileChange, FilePath, ToolError};
use haft_sandbox::{ProtectedPaths, Root, RootError};

use super::path_of;

/// The names by which git knows a repository.
const REPOSITORY_PARTS: [&str; 4] = ["HEAD", "objects", "refs", "commondir"];

/// The number of these names that makes a directory count as a repository when a call changes a file that git obeys. A
/// later call or command can add the missing names.
const REPOSITORY_PARTS_MIN: usize = 2;

/// The entries of a repository that git obeys, each with a path that stands for all of its kind.
const PROTECTED_IN_REPOSITORY: [(&str, &str); 4] = [
    ("config", "config"),
    ("config.worktree", "config.worktree"),
    ("commondir", "commondir"),
    ("hooks", "hooks/any"),
];

/// Returns whether the check of these changes can depend on changes that other calls make at the same time. Only changes
/// of names that mean something to git can.
pub(super) fn may_affect_repository(changes: &[FileChange]) -> bool {
    static NAMES: LazyLock<Option<ProtectedPaths>> = LazyLock::new(|| {
        let obeyed = PROTECTED_IN_REPOSITORY.iter().map(|(name, _)| *name);
        ProtectedPaths::new(REPOSITORY_PARTS.into_iter().chain(obeyed)).ok()
    });
    let Some(names) = NAMES.as_ref() else { return true };
    let mut parts = changes.iter().flat_map(|change| path_of(change).relative().components());
    parts.any(|part| names.matching(Path::new(&part)).is_some())
}

/// Refuses changes of files that git obeys in a repository under another name than `.git`. Also refuses changes that make
/// a repository around such files.
pub(super) fn check(
    root: &Root,
    protected: &ProtectedPaths,
    changes: &[FileChange],
) -> Result<(), ToolError> {
    let parts = ProtectedPaths::new(REPOSITORY_PARTS)
        .map_err(|err| ToolError::new(ErrorCode::CapabilityDenied, err.to_string()))?;
    let written = changes.iter().filter(|change| matches!(change, FileChange::Write { .. }));
    let written = written.map(|change| path_of(change).relative()).collect();
    let ground = RepositoryCheck { root, protected, parts, written };
    changes.iter().map(path_of).try_for_each(|path| ground.check(path))
}

/// The root and the written paths with which changes are checked.
struct RepositoryCheck<'a> {
    /// The root that the changes are made in.
    root: &'a Root,
    /// The names that no call may change beneath the root.
    protected: &'a ProtectedPaths,
    /// The names of a repository's parts, to compare with as file systems may.
    parts: ProtectedPaths,
    /// Where the changes put files.
    written: Vec<&'a Path>,
}

impl RepositoryCheck<'_> {
    /// Refuses the change of a file that would make the directory of a repository, or would be part of one.
    fn check(&self, path: &FilePath) -> Result<(), ToolError> {
        for directory in path.relative().ancestors().skip(1) {
            let Ok(within) = path.relative().strip_prefix(directory) else { continue };
            let (pattern, part) = (self.protecting_pattern(within), self.part_at(within));
            if pattern.is_none() && part.is_none() {
                continue;
            }
            let exists = |part: &&str| self.exists(&directory.join(part));
            let before: BTreeSet<&str> = REPOSITORY_PARTS.into_iter().filter(exists).collect();
            let written = self.written.iter().filter_map(|path| path.strip_prefix(directory).ok());
            let added = written.filter_map(|within| self.part_at(within));
            let after: BTreeSet<&str> = before.iter().copied().chain(added).collect();
            // git would treat the directory as if it were named `.git`, whose entries are protected.
            if let Some(pattern) = pattern
                && after.len() >= REPOSITORY_PARTS_MIN
            {
                let message = format!(
                    "{:?} is protected as by {pattern:?}, because git takes {} for a repository and obeys what it \
                     says: leave it, or tell the user what to change",
                    path.display(),
                    shown(directory)
                );
                return Err(ToolError::new(ErrorCode::CapabilityDenied, message));
            }
            // The last part of a repository makes git obey the entries that are already in the directory.
            let config = directory.join("config");
            let is_protected_by_name =
                self.protected.matching_beneath(self.root.path(), &config).is_some();
            let completes_repository = part.is_some()
                && !is_protected_by_name
                && !is_repository(&before)
                && is_repository(&after);
            let obeyed = PROTECTED_IN_REPOSITORY.iter().find(|(name, example)| {
                completes_repository
                    && self.protecting_pattern(Path::new(example)).is_some()
                    && self.exists(&directory.join(name))
            });
            if let Some((name, _)) = obeyed {
                let message = format!(
                    "{:?} would make {} a git repository, and git would obey the {name:?} that is in it: choose \
                     another place, or ask the user to make the repository",
                    path.display(),
                    shown(directory)
                );
                return Err(ToolError::new(ErrorCode::CapabilityDenied, message));
            }
        }
        Ok(())
    }

    /// Returns the pattern that protects a path in a repository, or nothing if the user has lifted it.
    fn protecting_pattern(&self, within: &Path) -> Option<&str> {
        self.protected.matching_beneath(Path::new(".git"), within)
    }

    /// Returns the part that a path within a directory is, or lies in.
    fn part_at(&self, within: &Path) -> Option<&str> {
        let first: PathBuf = within.components().take(1).collect();
        self.parts.matching(&first)
    }

    /// Whatever cannot be looked at counts: git follows links, for one, and this handle does not.
    fn exists(&self, canonical: &Path) -> bool {
        let absent = |err: &RootError| {
            matches!(err, RootError::NotFound { .. } | RootError::NotADirectory { .. })
        };
        self.root.metadata(canonical).map_or_else(|err| !absent(&err), |_| true)
    }
}

/// Returns whether git treats a directory with these parts as a repository, or as the part of a linked worktree.
fn is_repository(parts: &BTreeSet<&str>) -> bool {
    let has = |part| parts.contains(part);
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/// Returns the directory as a message names it.
fn shown(directory: &Path) -> String {
    if directory.as_os_str().is_empty() {
        return "the root".to_owned();
    }
    format!("{:?}", directory.to_string_lossy())
}
