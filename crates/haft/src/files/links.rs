//! Checks protected names that are links: the target of such a link is what other programs run or obey, whatever its
//! name. This module deliberately checks only the directories around a change, and those in which a protected name
//! continues. The kernel sandbox checks links in all other directories before a command.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use haft_contract::{ErrorCode, FileChange, FilePath, RefusalSource, Remedy, ToolError};
use haft_sandbox::{DirEntry, InodeKind, ProtectedPaths, Root, RootError};

use super::path_of;
use crate::roots::path_error;

/// The number of directories below those around a change in which haft looks for links, the nearest first.
pub(crate) const DIRECTORIES_BENEATH_MAX: usize = 64;

/// Refuses changes of the targets of protected names.
pub(super) fn check(
    root: &Root,
    protected: &ProtectedPaths,
    changes: &[FileChange],
) -> Result<(), ToolError> {
    let changed: Vec<&FilePath> = changes.iter().map(path_of).collect();
    let around = changed.iter().flat_map(|path| path.relative().ancestors().skip(1));
    let around: BTreeSet<PathBuf> = around.map(Path::to_path_buf).collect();
    let ground = LinkCheck { root, protected, changed };
    let mut beneath = VecDeque::new();
    for directory in &around {
        beneath.extend(ground.check_directory(directory)?);
    }
    beneath.retain(|directory| !around.contains(directory));
    let mut looked_at = 0;
    while let Some(directory) = beneath.pop_front() {
        if looked_at == DIRECTORIES_BENEATH_MAX {
            break;
        }
        looked_at += 1;
        beneath.extend(ground.check_directory(&directory)?);
    }
    Ok(())
}

/// The files in a root, and the changes to them.
struct LinkCheck<'a> {
    /// The root that the changes are made in.
    root: &'a Root,
    /// The names that no call may change beneath the root.
    protected: &'a ProtectedPaths,
    /// The files that the changes touch.
    changed: Vec<&'a FilePath>,
}

impl LinkCheck<'_> {
    /// Checks the links in a directory, and returns its directories in which protected names continue.
    fn check_directory(&self, directory: &Path) -> Result<Vec<PathBuf>, ToolError> {
        let mut directories = Vec::new();
        let entries = match self.root.list(directory) {
            Ok(entries) => entries,
            Err(RootError::NotFound { .. } | RootError::NotADirectory { .. }) => Vec::new(),
            Err(err) => return Err(path_error(&directory.to_string_lossy(), &err)),
        };
        for DirEntry { name, kind, .. } in entries {
            let entry = directory.join(&name);
            let is_looked_at = matches!(kind, InodeKind::Symlink | InodeKind::Directory);
            if !is_looked_at || !self.protected.concerns(self.root.path(), &entry) {
                continue;
            }
            if kind == InodeKind::Directory {
                directories.push(entry);
                continue;
            }
            // A link out of the root does not lead to a file that this call changes.
            let Ok(target) = self.root.resolve(&entry).map(|resolved| resolved.path) else {
                continue;
            };
            // A link to a directory around it would protect all of that directory.
            if entry.starts_with(&target) {
                continue;
            }
            for path in &self.changed {
                let Ok(within) = path.relative().strip_prefix(&target) else { continue };
                let by_link = entry.join(within);
                let Some(pattern) = self.protected.matching_beneath(self.root.path(), &by_link)
                else {
                    continue;
                };
                let message = format!(
                    "{:?} is protected by {pattern:?}, because the link {:?} leads to it and others run or obey what it \
                     says: leave it, or tell the user what to change",
                    path.display(),
                    entry.to_string_lossy()
                );
                return Err(ToolError::new(ErrorCode::CapabilityDenied, message)
                    .decided_by(RefusalSource::ProtectedPath)
                    .with_remedy(Remedy::Unprotect(pattern.to_owned())));
            }
        }
        Ok(directories)
    }
}
