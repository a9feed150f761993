//! Which mounts hold what was found. As few as possible, since each costs time: a directory is held with all that is in
//! it, and of the directories around it only the one that the pattern names, because a mount moves along when something
//! further up is renamed, and what then takes its place is new. It deliberately mounts nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::directory::Kind;
use super::look::{Look, OpenRoot, Place};
use super::report::{Holding, Pin, PinKind};
use crate::protect::pattern::Extent;

/// Chooses the pins; `other_names` are those of hard links.
pub(super) fn choose(
    roots: &[OpenRoot],
    look: &Look,
    other_names: Vec<Pin>,
    holding: Holding,
) -> Vec<Pin> {
    let mut pins = BTreeMap::new();
    match holding {
        Holding::Pinning => add_entries(&mut pins, roots, look),
        Holding::Comparing => {}
    }
    for pin in other_names {
        match (holding, pin.kind) {
            (Holding::Comparing, PinKind::Anchor | PinKind::ReadOnly) => {}
            (Holding::Comparing, PinKind::Hidden) | (Holding::Pinning, _) => {
                add(&mut pins, pin.path, pin.kind)
            }
        }
    }
    without_covered(pins)
}

fn add_entries(pins: &mut BTreeMap<PathBuf, PinKind>, roots: &[OpenRoot], look: &Look) {
    let roots: BTreeSet<&Path> = roots.iter().map(|root| root.path.as_path()).collect();
    for entry in &look.entries {
        let Place::End { extent, has_parent } = entry.place else { continue };
        match (entry.state.kind, extent) {
            // No mount can hold a link itself. It is compared, and what it leads to is an entry of its own.
            (Kind::Symlink, Extent::Tree | Extent::Name) => continue,
            (Kind::Directory, Extent::Name) => add(pins, entry.path.clone(), PinKind::Anchor),
            (Kind::Directory, Extent::Tree)
            | (Kind::File | Kind::Other, Extent::Tree | Extent::Name) => {
                add(pins, entry.path.clone(), PinKind::ReadOnly);
            }
        }
        if let Some(parent) = entry.path.parent()
            && has_parent
            && !roots.contains(parent)
        {
            add(pins, parent.to_path_buf(), PinKind::Anchor);
        }
    }
}

/// The stricter kind holds.
fn add(pins: &mut BTreeMap<PathBuf, PinKind>, path: PathBuf, kind: PinKind) {
    let held = pins.entry(path).or_insert(kind);
    *held = (*held).max(kind);
}

/// Leaves out what is held by a directory around it.
fn without_covered(pins: BTreeMap<PathBuf, PinKind>) -> Vec<Pin> {
    let mut chosen: Vec<Pin> = Vec::new();
    let mut cover: Option<PathBuf> = None;
    for (path, kind) in pins {
        let is_covered = cover.as_ref().is_some_and(|cover| path.starts_with(cover));
        match kind {
            PinKind::Anchor | PinKind::ReadOnly if is_covered => continue,
            PinKind::ReadOnly => cover = Some(path.clone()),
            PinKind::Anchor | PinKind::Hidden => {}
        }
        chosen.push(Pin { path, kind });
    }
    chosen
}

#[cfg(test)]
mod tests;
