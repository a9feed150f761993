//! Finds other names (hard links) of protected or hidden files, through which they could be changed
//! or read. It searches only if a file reports that it has other names, because the search reads
//! every directory.

use std::collections::HashMap;
use std::ffi::{CStr, OsStr};
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::directory::{
    BUFFER_BYTES, FileIdentity, InodeState, ScannedKind, open_beneath, read_names,
};
use super::report::{ProtectiveMount, ProtectiveMountKind, ScanError};
use super::result::{ScanResult, ScanRoot};
use super::traversal::ScanScope;

/// Maximum number of files that are checked for each hidden path. Credentials are few files; a
/// directory with more is a cache.
pub(crate) const HIDDEN_FILES_MAX: usize = 128;

/// Maximum depth to which hidden directories are checked.
pub(crate) const HIDDEN_DEPTH_MAX: usize = 2;

/// A file with several names.
#[derive(Debug, Clone, Copy)]
struct HardLinkSearch {
    kind: ProtectiveMountKind,
    /// The number of names that are still unknown.
    missing: u64,
}

/// Finds the other names of protected and hidden files below the roots.
pub(super) fn find_hard_links(
    scope: ScanScope<'_>,
    scan: &ScanResult,
    hidden: &[PathBuf],
) -> Result<Vec<ProtectiveMount>, ScanError> {
    let mut searched: HashMap<FileIdentity, HardLinkSearch> = HashMap::new();
    let files = scan
        .entries
        .iter()
        .filter(|entry| entry.state.kind == ScannedKind::File && entry.state.links > 1);
    for entry in files {
        let new =
            HardLinkSearch { kind: ProtectiveMountKind::ReadOnly, missing: entry.state.links };
        let known = searched.entry(entry.state.identity).or_insert(new);
        known.missing = known.missing.saturating_sub(1);
    }
    for path in hidden {
        let mut left = HIDDEN_FILES_MAX;
        add_hidden(path, 0, &mut left, &mut searched);
    }
    // In trees that were copied by links, every name can be under a protected one.
    searched.retain(|_, searched| searched.missing > 0);
    if searched.is_empty() {
        return Ok(Vec::new());
    }
    let mut mounts = Vec::new();
    let mut buffer = vec![MaybeUninit::uninit(); BUFFER_BYTES];
    for root in scope.roots {
        let mut pending: Vec<(Vec<u8>, usize)> = vec![(Vec::new(), 0)];
        let mut directories = 0;
        while let Some((path, depth)) = pending.pop() {
            directories += 1;
            if directories > scope.bounds.directories_max {
                let root = root.path.clone();
                return Err(ScanError::Directories { root, max: scope.bounds.directories_max });
            }
            if depth > scope.bounds.depth_max {
                let path = absolute(root, &path);
                return Err(ScanError::Depth { path, max: scope.bounds.depth_max });
            }
            // The scan also skipped or reported a directory that cannot be opened here.
            let Ok(directory) = open_beneath(root.directory.as_fd(), &path) else { continue };
            let names = read_names(&directory, &mut buffer, |_, kind| {
                matches!(kind, ScannedKind::Directory | ScannedKind::File)
            });
            let unreadable = |errno: rustix::io::Errno| ScanError::Unreadable {
                path: absolute(root, &path),
                source: errno.into(),
            };
            for listed in names.map_err(unreadable)? {
                match listed.kind {
                    ScannedKind::Directory => pending.push((join(&path, &listed.name), depth + 1)),
                    ScannedKind::File => {
                        // On layered file systems the listed number can differ, so it decides
                        // nothing.
                        let Ok(state) = InodeState::at(directory.as_fd(), &listed.name) else {
                            continue;
                        };
                        if let Some(found) = searched.get(&state.identity) {
                            let path = absolute(root, &join(&path, &listed.name));
                            mounts.push(ProtectiveMount { path, kind: found.kind });
                        }
                    }
                    ScannedKind::Symlink | ScannedKind::Other => {}
                }
            }
        }
    }
    mounts.retain(|mount| !hidden.iter().any(|hidden| mount.path.starts_with(hidden)));
    Ok(mounts)
}

/// Adds the files at or below a hidden path that have several names. A command of the same user
/// cannot read files that this process cannot read.
fn add_hidden(
    path: &Path,
    depth: usize,
    left: &mut usize,
    searched: &mut HashMap<FileIdentity, HardLinkSearch>,
) {
    let Ok(metadata) = path.symlink_metadata() else { return };
    if *left == 0 {
        return;
    }
    *left -= 1;
    if metadata.is_file() && metadata.nlink() > 1 {
        let identity = FileIdentity { device: metadata.dev(), inode: metadata.ino() };
        let missing = metadata.nlink().saturating_sub(1);
        searched.insert(identity, HardLinkSearch { kind: ProtectiveMountKind::Hidden, missing });
    }
    if metadata.is_dir() && depth < HIDDEN_DEPTH_MAX {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            add_hidden(&entry.path(), depth + 1, left, searched);
        }
    }
}

fn absolute(root: &ScanRoot, path: &[u8]) -> PathBuf {
    root.path.join(OsStr::from_bytes(path))
}

fn join(parent: &[u8], name: &CStr) -> Vec<u8> {
    let mut path = parent.to_vec();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name.to_bytes());
    path
}
