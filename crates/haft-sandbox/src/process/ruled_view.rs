//! The mounts that hold the rules about paths around one command: covers where rules take access away, and grants where
//! they make an exception inside of a covered directory. It mounts nothing and reads nothing.

use std::path::{Path, PathBuf};

use crate::confinement::Confinement;
use crate::protect::{PathAccess, ProtectiveMount, ProtectiveMountKind, RuledPath};
use crate::wire::{WireConfinement, WireCover};

/// Adds the mounts to the bounds of a command.
pub(super) fn add_covers(
    bounds: &mut WireConfinement,
    ruled: &[RuledPath],
    confinement: &Confinement,
    mounts: &[ProtectiveMount],
) {
    let keeps_place =
        confinement.ruled.rules.as_ref().is_some_and(|rules| rules.depends_on_place());
    let is_in = |path: &Path, places: &[PathBuf]| places.iter().any(|it| path.starts_with(it));
    let read_only = || mounts.iter().filter(|it| it.kind == ProtectiveMountKind::ReadOnly);
    for RuledPath { path, access, around, .. } in ruled {
        if access < around {
            let is_readable = *access == PathAccess::ReadOnly;
            bounds.covers.push(WireCover { path: path.clone(), is_readable, keeps_place });
            continue;
        }
        // An exception gives no access that the command does not have anyway.
        let is_writable = is_in(path, &confinement.writable);
        let is_visible = is_writable || is_in(path, &confinement.readable);
        if !is_visible || is_in(path, &bounds.hidden) {
            continue;
        }
        let is_protected = || read_only().any(|mount| path.starts_with(&mount.path));
        if *access == PathAccess::Full && is_writable && !is_protected() {
            bounds.writable.push(path.clone());
        } else if *around == PathAccess::Nothing {
            bounds.readable.push(path.clone());
        }
    }
}
