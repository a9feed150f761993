//! Finds other names (hard links) of protected, hidden or denied files, through which they could be changed
//! or read. It searches only if a file reports that it has other names, because the search reads
//! every directory.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString, OsStr};
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
use super::result::{RuledEntry, ScanResult, ScanRoot};
use super::traversal::ScanScope;
use crate::protect::path_rules::{PathAccess, PathRules};

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

/// A file that rules deny and that has several names.
#[derive(Debug)]
struct DeniedFile {
    access: PathAccess,
    /// One of its names.
    named_as: PathBuf,
    /// The number of names that are still unknown.
    missing: u64,
}

type DeniedFiles = HashMap<FileIdentity, DeniedFile>;

/// Finds the other names of protected, hidden and denied files below the roots.
pub(super) fn find_hard_links(
    scope: ScanScope<'_>,
    scan: &mut ScanResult,
    hidden: &[PathBuf],
) -> Result<Vec<ProtectiveMount>, ScanError> {
    let mut denied = denied_files(scope, scan)?;
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
    denied.retain(|_, denied| denied.missing > 0);
    if searched.is_empty() && denied.is_empty() {
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
                        if let (Some(found), Some(rules)) =
                            (denied.get(&state.identity), scope.rules)
                        {
                            let path = absolute(root, &join(&path, &listed.name));
                            scan.ruled.extend(found.other_name(path, state, rules));
                        }
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

/// Returns the files with several names that rules deny.
fn denied_files(scope: ScanScope<'_>, scan: &ScanResult) -> Result<DeniedFiles, ScanError> {
    let mut denied = DeniedFiles::new();
    let Some(rules) = scope.rules else { return Ok(denied) };
    // If rules leave nowhere more than at these files, another name gives no more either.
    let is_open = |root: &ScanRoot| rules.access_beneath(&root.path) == PathAccess::Full;
    let has_exceptions = || scan.ruled.iter().any(|entry| entry.access > entry.around);
    if !scope.roots.iter().any(is_open) && !has_exceptions() {
        return Ok(denied);
    }
    let mut add = |path: PathBuf, state: &InodeState, access: PathAccess| {
        if state.kind == ScannedKind::File && state.links > 1 {
            let new = DeniedFile { access, named_as: path, missing: state.links };
            let known = denied.entry(state.identity).or_insert(new);
            known.access = known.access.min(access);
            known.missing = known.missing.saturating_sub(1);
        }
    };
    for entry in scan.ruled.iter().filter(|entry| entry.access < PathAccess::Full) {
        add(entry.path.clone(), &entry.state, entry.access);
    }
    let named: HashSet<&Path> = scan.ruled.iter().map(|entry| entry.path.as_path()).collect();
    let mut count = 0;
    for directory in &scan.limited {
        let Some(root) = scope.roots.get(directory.root) else { continue };
        for (listed, access) in directory.listing.names.iter().zip(&directory.accesses) {
            if *access == PathAccess::Full || listed.kind != ScannedKind::File {
                continue;
            }
            let relative = join(directory.path.to_bytes(), &listed.name);
            let path = absolute(root, &relative);
            count += 1;
            if count > scope.bounds.entries_max {
                return Err(ScanError::Ruled { path, max: scope.bounds.entries_max });
            }
            let Ok(relative) = CString::new(relative) else { continue };
            let Ok(state) = InodeState::at(root.directory.as_fd(), &relative) else { continue };
            if !named.contains(path.as_path()) {
                add(path, &state, *access);
            }
        }
    }
    Ok(denied)
}

impl DeniedFile {
    /// Returns the entry of another name of the file, if rules leave more at that name.
    fn other_name(
        &self,
        path: PathBuf,
        state: InodeState,
        rules: &dyn PathRules,
    ) -> Option<RuledEntry> {
        let around = rules.access(&path);
        let named_as = Some(self.named_as.clone());
        (around > self.access).then_some(RuledEntry {
            path,
            named_as,
            access: self.access,
            around,
            state,
        })
    }
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
