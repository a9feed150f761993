//! Whether an ignored directory holds more than is recorded of one. Counting stops at the bound, so that the answer costs the
//! same for the largest; it reads no file.

use std::path::{Path, PathBuf};

use haft_sandbox::{FileKind, Root};

use super::options::Options;
use crate::directory::Directory;
use crate::hidden::HiddenWithin;
use crate::tree::is_git;

/// Tells whether the ignored directory at `path` is over the bounds. What cannot be looked at does not count.
pub(super) fn is_heavy(root: &Root, path: &Path, options: &Options, hidden: &HiddenWithin) -> bool {
    let (mut files, mut bytes) = (0_u64, 0_u64);
    let mut pending: Vec<PathBuf> = vec![path.to_path_buf()];
    while let Some(path) = pending.pop() {
        let (Ok(entries), Ok(directory)) = (root.list(&path), Directory::open(root, &path)) else {
            continue;
        };
        for entry in entries {
            if is_git(&entry.name) || hidden.covers(&path.join(&entry.name)) {
                continue;
            }
            files += 1;
            if entry.kind == FileKind::Directory {
                pending.push(path.join(&entry.name));
            } else if let Ok(Some(look)) = directory.look(&entry.name) {
                bytes = bytes.saturating_add(look.metadata.stamp.size_bytes);
            }
            if files > options.ignored_files_max || bytes > options.ignored_bytes_max {
                return true;
            }
        }
    }
    false
}
