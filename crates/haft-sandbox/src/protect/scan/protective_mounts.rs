//! Chooses the mounts that protect the scanned paths. There are as few as possible, because each
//! costs time. A directory is mounted with everything in it. Of its parents only the one in the
//! pattern is mounted, because a mount moves along if a directory above it is renamed, and a file
//! in the old place counts as new. The module deliberately mounts nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::directory::ScannedKind;
use super::report::{ProtectionMode, ProtectiveMount, ProtectiveMountKind};
use super::result::{PatternPosition, ScanResult, ScanRoot};
use crate::protect::pattern::ProtectionExtent;

/// Chooses the mounts; `other_names` are those of hard links.
pub(super) fn choose_mounts(
    roots: &[ScanRoot],
    scan: &ScanResult,
    other_names: Vec<ProtectiveMount>,
    mode: ProtectionMode,
) -> Vec<ProtectiveMount> {
    let mut mounts = BTreeMap::new();
    if mode == ProtectionMode::ReadOnlyMounts {
        let roots: BTreeSet<&Path> = roots.iter().map(|root| root.path.as_path()).collect();
        for entry in &scan.entries {
            let PatternPosition::End { extent, has_parent } = entry.place else { continue };
            match (entry.state.kind, extent) {
                // A link itself cannot be mounted. It is compared, and its target is a separate
                // entry.
                (ScannedKind::Symlink, ProtectionExtent::Tree | ProtectionExtent::Name) => continue,
                (ScannedKind::Directory, ProtectionExtent::Name) => {
                    add(&mut mounts, entry.path.clone(), ProtectiveMountKind::Anchor)
                }
                (ScannedKind::Directory, ProtectionExtent::Tree)
                | (
                    ScannedKind::File | ScannedKind::Other,
                    ProtectionExtent::Tree | ProtectionExtent::Name,
                ) => {
                    add(&mut mounts, entry.path.clone(), ProtectiveMountKind::ReadOnly);
                }
            }
            if let Some(parent) = entry.path.parent()
                && has_parent
                && !roots.contains(parent)
            {
                add(&mut mounts, parent.to_path_buf(), ProtectiveMountKind::Anchor);
            }
        }
    }
    for mount in other_names {
        if mode == ProtectionMode::ReadOnlyMounts || mount.kind == ProtectiveMountKind::Hidden {
            add(&mut mounts, mount.path, mount.kind);
        }
    }
    // A directory around a mount may already cover it.
    let mut chosen: Vec<ProtectiveMount> = Vec::new();
    let mut cover: Option<PathBuf> = None;
    for (path, kind) in mounts {
        let is_covered = cover.as_ref().is_some_and(|cover| path.starts_with(cover));
        match kind {
            ProtectiveMountKind::Anchor | ProtectiveMountKind::ReadOnly if is_covered => continue,
            ProtectiveMountKind::ReadOnly => cover = Some(path.clone()),
            ProtectiveMountKind::Anchor | ProtectiveMountKind::Hidden => {}
        }
        chosen.push(ProtectiveMount { path, kind });
    }
    chosen
}

/// Adds a mount; the stricter kind wins.
fn add(
    mounts: &mut BTreeMap<PathBuf, ProtectiveMountKind>,
    path: PathBuf,
    kind: ProtectiveMountKind,
) {
    let current = mounts.entry(path).or_insert(kind);
    *current = (*current).max(kind);
}

#[cfg(test)]
mod tests;
