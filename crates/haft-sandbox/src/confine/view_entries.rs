//! The contents of a command's file system as an ordered list: parents before children, so that the
//! nearest entry decides. No files are accessed here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::wire::WireConfinement;

/// Directories that are private to a command, with their names in its temporary file system.
pub(super) const TEMPORARY: [(&str, &str); 3] =
    [("/tmp", "tmp"), ("/var/tmp", "var-tmp"), ("/dev/shm", "shm")];

/// The name of the home directory in the temporary file system.
pub(super) const HOME: &str = "home";

/// The devices that programs expect.
pub(super) const DEVICES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Files of the process file system that show more than the command's own processes: the keyrings of the user, and for root
/// the use of the machine's memory.
const CLOSED: [&str; 6] = [
    "/proc/kcore",
    "/proc/key-users",
    "/proc/keys",
    "/proc/kpagecgroup",
    "/proc/kpagecount",
    "/proc/kpageflags",
];

/// One entry at one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ViewEntry {
    pub(super) path: PathBuf,
    pub(super) kind: ViewEntryKind,
    /// The parent that it is mounted in.
    pub(super) ground: ViewEntryParent,
    /// Whether the entry is part of the initial view and no granted path covers it.
    is_begun: bool,
    depth: usize,
}

/// The kind of parent that an entry is mounted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ViewEntryParent {
    /// The command's own file system, in which mount points can be created.
    Own,
    /// A granted path or a mount on it: mount points usually cannot be created there.
    Granted,
}

/// The kind of entry. Of two entries at the same path, the later one in this list covers the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ViewEntryKind {
    /// An empty private directory, by its name in the temporary file system.
    Temporary(&'static str),
    /// The machine's path, read-only, if it exists.
    Readable,
    /// The machine's path, writable.
    Writable,
    /// A path of a parent mount that keeps its place.
    Anchored,
    /// A path of a parent mount that keeps its place and its content.
    ReadOnly,
    /// An empty replacement for a path of a parent mount.
    Hidden,
    /// An unreadable replacement for a path of a parent mount.
    Denied {
        /// Whether other entries are in it, so that a directory must be passable.
        is_passed: bool,
    },
    /// A device.
    Device,
    /// The process file system.
    Processes,
}

/// Returns the initial entries of every view.
pub(super) fn initial_entries() -> impl Iterator<Item = ViewEntry> {
    let devices = DEVICES.into_iter().map(|path| entry(path, ViewEntryKind::Device));
    let closed = CLOSED.into_iter().map(|path| entry(path, ViewEntryKind::Hidden));
    devices.chain([entry("/proc", ViewEntryKind::Processes)]).chain(closed)
}

/// Returns the entries that must still be mounted in an initial view, in mount order.
pub(super) fn granted_entries(bounds: &WireConfinement) -> Vec<ViewEntry> {
    let mut entries: Vec<ViewEntry> = initial_entries().collect();
    entries.extend(TEMPORARY.map(|(path, name)| entry(path, ViewEntryKind::Temporary(name))));
    // The top directory cannot be made a private home.
    if bounds.home != Path::new("/") {
        entries.push(entry(&bounds.home, ViewEntryKind::Temporary(HOME)));
    }
    entries.extend(bounds.readable.iter().map(|path| entry(path, ViewEntryKind::Readable)));
    entries.extend(bounds.writable.iter().map(|path| entry(path, ViewEntryKind::Writable)));
    entries.extend(bounds.hidden.iter().map(|path| entry(path, ViewEntryKind::Hidden)));
    entries.extend(anchors(bounds).into_iter().map(|path| entry(path, ViewEntryKind::Anchored)));
    entries.extend(bounds.mounts.iter().map(|pinned| {
        entry(
            &pinned.path,
            if pinned.is_writable { ViewEntryKind::Anchored } else { ViewEntryKind::ReadOnly },
        )
    }));
    entries.extend(bounds.covers.iter().map(|cover| {
        let is_passed = || {
            let granted = bounds.writable.iter().chain(&bounds.readable);
            granted.into_iter().any(|path| *path != cover.path && path.starts_with(&cover.path))
        };
        let kind = if cover.is_readable {
            ViewEntryKind::ReadOnly
        } else {
            ViewEntryKind::Denied { is_passed: is_passed() }
        };
        entry(&cover.path, kind)
    }));
    let key = |entry: &ViewEntry| (entry.depth, entry.path.as_os_str().to_owned(), entry.kind);
    entries.sort_by_cached_key(key);
    entries.dedup();
    let mut view: Vec<ViewEntry> = Vec::with_capacity(entries.len());
    for mut entry in entries {
        let parent = view
            .iter()
            .rfind(|other| other.depth < entry.depth && entry.path.starts_with(&other.path));
        let nearest = parent.map(|parent| parent.kind);
        let is_upon_another = view.last().is_some_and(|last| last.path == entry.path);
        if entry.kind == ViewEntryKind::Readable
            && nearest == Some(ViewEntryKind::Readable)
            && !is_upon_another
        {
            // Its parent mount already contains it.
            continue;
        }
        entry.ground = match nearest {
            None
            | Some(
                ViewEntryKind::Temporary(_) | ViewEntryKind::Device | ViewEntryKind::Processes,
            ) => ViewEntryParent::Own,
            Some(
                ViewEntryKind::Readable
                | ViewEntryKind::Writable
                | ViewEntryKind::Anchored
                | ViewEntryKind::ReadOnly
                | ViewEntryKind::Hidden
                | ViewEntryKind::Denied { .. },
            ) => ViewEntryParent::Granted,
        };
        let is_initial = matches!(entry.kind, ViewEntryKind::Device | ViewEntryKind::Processes)
            || nearest == Some(ViewEntryKind::Processes);
        entry.is_begun = is_initial && entry.ground == ViewEntryParent::Own && !is_upon_another;
        view.push(entry);
    }
    view.retain(|entry| !entry.is_begun);
    view
}

/// Returns the directories between a writable directory and the hidden or read-only paths in it.
///
/// If the command could rename one of them, its contents would have a different path for the next
/// command, and that path is neither hidden nor read-only.
fn anchors(bounds: &WireConfinement) -> BTreeSet<&Path> {
    let mut anchors = BTreeSet::new();
    let covers = bounds.covers.iter().filter(|cover| cover.keeps_place).map(|cover| &cover.path);
    for kept in bounds.hidden.iter().chain(&bounds.readable).chain(covers) {
        let around = bounds.writable.iter().filter(|root| *root != kept && kept.starts_with(root));
        let Some(root) = around.min_by_key(|root| root.components().count()) else { continue };
        let between = kept.ancestors().skip(1).take_while(|path| path != root);
        anchors.extend(between);
    }
    anchors
}

fn entry(path: impl AsRef<Path>, kind: ViewEntryKind) -> ViewEntry {
    let path = path.as_ref().to_path_buf();
    let depth = path.components().count();
    ViewEntry { path, kind, ground: ViewEntryParent::Own, is_begun: false, depth }
}

#[cfg(test)]
mod tests;
