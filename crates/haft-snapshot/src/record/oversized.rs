//! Decides whether an ignored directory exceeds its limits. Counting stops at the limit, so that
//! the cost is bounded; no file is read.

use std::path::{Path, PathBuf};

use haft_sandbox::{InodeKind, Root};

use super::options::RecordOptions;
use crate::directory::OpenDirectory;
use crate::hidden_paths::RootHiddenPaths;
use crate::tree::is_git;

/// Returns whether the ignored directory at `path` exceeds the limits. Inaccessible entries do not
/// count.
pub(super) fn is_oversized(
    root: &Root,
    path: &Path,
    options: &RecordOptions,
    hidden: &RootHiddenPaths,
) -> bool {
    let (mut files, mut bytes) = (0_u64, 0_u64);
    let mut pending: Vec<PathBuf> = vec![path.to_path_buf()];
    while let Some(path) = pending.pop() {
        let (Ok(entries), Ok(directory)) = (root.list(&path), OpenDirectory::open(root, &path))
        else {
            continue;
        };
        for entry in entries {
            if is_git(&entry.name) || hidden.contains_path(&path.join(&entry.name)) {
                continue;
            }
            files += 1;
            if entry.kind == InodeKind::Directory {
                pending.push(path.join(&entry.name));
            } else if let Ok(Some(observed)) = directory.entry_metadata(&entry.name) {
                bytes = bytes.saturating_add(observed.metadata.stamp.size_bytes);
            }
            if files > options.ignored_files_max || bytes > options.ignored_bytes_max {
                return true;
            }
        }
    }
    false
}
