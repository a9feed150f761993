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

/// How many of them make a directory count as a repository where something is changed that git obeys: what is still
/// missing can be added later, by a command too.
const REPOSITORY_PARTS_MIN: usize = 2;

/// The entries of a repository that git obeys, each with a path that stands for all of its kind.
const PROTECTED_IN_REPOSITORY: [(&str, &str); 4] = [
    ("config", "config"),
    ("config.worktree", "config.worktree"),
    ("commondir", "commondir"),
    ("hooks", "hooks/any"),
];

/// Returns whether what becomes of changes can depend on other ones that are made at the same time: only names that mean
/// something to git matter here.
pub(super) fn may_affect_repository(changes: &[FileChange]) -> bool {
    static NAMES: LazyLock<Option<ProtectedPaths>> = LazyLock::new(|| {
        let obeyed = PROTECTED_IN_REPOSITORY.iter().map(|(name, _)| *name);
        ProtectedPaths::new(REPOSITORY_PARTS.into_iter().chain(obeyed)).ok()
    });
    let Some(names) = NAMES.as_ref() else { return true };
    let mut parts = changes.iter().flat_map(|change| path_of(change).relative().components());
    parts.any(|part| names.matching(Path::new(&part)).is_some())
}

/// Refuses changes to what git obeys in a directory that is a repository in all but name, and those that make a
/// repository around what lies there already.
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
    root: &'a Root,
    protected: &'a ProtectedPaths,
    /// The names of a repository's parts, to compare with as file systems may.
    parts: ProtectedPaths,
    /// Where the changes put files.
    written: Vec<&'a Path>,
}

impl RepositoryCheck<'_> {
    fn check(&self, path: &FilePath) -> Result<(), ToolError> {
        for directory in path.relative().ancestors().skip(1) {
            let Ok(within) = path.relative().strip_prefix(directory) else { continue };
            let (pattern, part) = (self.protecting_pattern(within), self.part_at(within));
            if pattern.is_none() && part.is_none() {
                continue;
            }
            let before = self.parts_before(directory);
            let after = self.parts_after(directory, before.clone());
            // git would treat the directory as if it were named `.git`, whose entries are protected.
            if let Some(pattern) = pattern
                && after.len() >= REPOSITORY_PARTS_MIN
            {
                let message = format!(
                    "{:?} is protected as by {pattern:?}, because git takes {} for a repository and obeys what it \
                     says: leave it, or ask the user to change it",
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

    fn parts_before(&self, directory: &Path) -> BTreeSet<&str> {
        REPOSITORY_PARTS.into_iter().filter(|part| self.exists(&directory.join(part))).collect()
    }

    fn parts_after<'b>(
        &'b self,
        directory: &Path,
        mut parts: BTreeSet<&'b str>,
    ) -> BTreeSet<&'b str> {
        let added = self.written.iter().filter_map(|path| path.strip_prefix(directory).ok());
        parts.extend(added.filter_map(|within| self.part_at(within)));
        parts
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

/// Tells whether git would take a directory with these parts for a repository, or for a linked worktree's part of one.
fn is_repository(parts: &BTreeSet<&str>) -> bool {
    let has = |part| parts.contains(part);
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

fn shown(directory: &Path) -> String {
    if directory.as_os_str().is_empty() {
        return "the root".to_owned();
    }
    format!("{:?}", directory.to_string_lossy())
}
