//! The content of protected files before a command runs, for restoring them. Without mounts, all
//! content is copied. With mounts, only small files are copied, to compare them with files found in
//! their place.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cache::{is_settled, now};
use super::directory::{InodeState, ScannedKind};
use super::report::{ProtectionMode, ScanError};
use super::result::{PatternPosition, ScanResult};
use super::traversal::{ScanScope, beneath};
use crate::protect::revert::read_small;

/// Protected files that are copied where nothing can be mounted, in bytes.
///
/// Limit (commands): the command is not started.
pub(crate) const COPIES_BYTES_MAX: u64 = 32 * 1_024 * 1_024;

/// Maximum size of one copied file where mounts protect it, in bytes.
pub(crate) const SMALL_BYTES_MAX: u64 = 64 * 1_024;

/// Maximum size of all copies where mounts protect the files, in bytes.
pub(crate) const SMALL_BYTES_TOTAL: u64 = 4 * 1_024 * 1_024;

/// The content of protected files.
pub(super) type ProtectedCopies = HashMap<PathBuf, Arc<[u8]>>;

/// Reads the content that must be kept.
pub(super) fn read_contents(
    scope: ScanScope<'_>,
    scan: &ScanResult,
    mode: ProtectionMode,
) -> Result<ProtectedCopies, ScanError> {
    let mut copies = ProtectedCopies::new();
    let mut bytes = 0_u64;
    for entry in scan.entries.iter().filter(|entry| entry.state.kind == ScannedKind::File) {
        let total = bytes.saturating_add(entry.state.size_bytes);
        // A mount may not be enough: it is lost if another process replaces the file, and
        // bypassed through another name of the file.
        let can_be_replaced = match entry.place {
            PatternPosition::End { .. } => true,
            PatternPosition::Inside => entry.state.links > 1,
        };
        let needs_copy = can_be_replaced && entry.state.size_bytes <= SMALL_BYTES_MAX;
        match mode {
            ProtectionMode::Copies if total > COPIES_BYTES_MAX => {
                let path = entry.path.clone();
                return Err(ScanError::Copies { path, max: COPIES_BYTES_MAX });
            }
            ProtectionMode::ReadOnlyMounts if total > SMALL_BYTES_TOTAL || !needs_copy => {
                continue;
            }
            ProtectionMode::Copies | ProtectionMode::ReadOnlyMounts => {}
        }
        if let Some(content) = read(scope, &entry.path, &entry.state)? {
            copies.insert(entry.path.clone(), content);
            bytes = total;
        }
    }
    Ok(copies)
}

fn read(
    scope: ScanScope<'_>,
    path: &Path,
    state: &InodeState,
) -> Result<Option<Arc<[u8]>>, ScanError> {
    if let Some(content) = scope.cache.content(state) {
        return Ok(Some(content));
    }
    let Some((root, relative)) = beneath(scope.roots, path) else { return Ok(None) };
    let Some(root) = scope.roots.get(root) else { return Ok(None) };
    let now = now();
    let failed = |source| ScanError::Unreadable { path: path.to_path_buf(), source };
    let read = read_small(root.directory.as_fd(), relative, state.size_bytes);
    let Some((content, read_state)) = read.map_err(failed)? else { return Ok(None) };
    let content: Arc<[u8]> = content.into();
    if is_settled(&read_state, now) && read_state.size_bytes <= SMALL_BYTES_MAX {
        scope.cache.remember_content(read_state, Arc::clone(&content));
    }
    Ok(Some(content))
}
