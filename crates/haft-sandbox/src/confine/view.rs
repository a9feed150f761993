//! What a command's file system is made of, as an ordered list: parents before children, so that the nearest entry
//! decides. It touches no file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::wire::Bounds;

/// Directories that are private to a command, with the names that they have in its temporary file system.
pub(super) const TEMPORARY: [(&str, &str); 3] =
    [("/tmp", "tmp"), ("/var/tmp", "var-tmp"), ("/dev/shm", "shm")];

/// The name of the home directory in the temporary file system.
pub(super) const HOME: &str = "home";

/// The devices that every program expects.
pub(super) const DEVICES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// One thing at one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    /// What it is mounted in.
    pub(super) ground: Ground,
    /// Whether the view begins with it, and nothing that is granted covers it there.
    is_begun: bool,
    depth: usize,
}

/// What an entry is mounted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ground {
    /// The command's own file system, in which places can be made.
    Own,
    /// Something that was granted, or lies upon it: mostly, places are there or not.
    Granted,
}

/// What is at a path; of two things at the same path the later one in this list covers the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// An empty directory of the command's own, by its name in the temporary file system.
    Temporary(&'static str),
    /// What is there on the machine, if it is there.
    Readable,
    /// What is there on the machine, to be changed.
    Writable,
    /// What a parent brought, kept at its place.
    Anchored,
    /// What a parent brought, kept at its place and as it is.
    Pinned,
    /// Nothing, in place of what a parent brought.
    Hidden,
    /// A device.
    Device,
    /// The process file system.
    Processes,
}

/// Returns what every view begins with.
pub(super) fn beginning() -> impl Iterator<Item = Entry> {
    let devices = DEVICES.into_iter().map(|path| entry(path, Kind::Device));
    devices.chain([entry("/proc", Kind::Processes)])
}

/// Returns what is still to be mounted in a view that has begun, in the order in which it is to be.
pub(super) fn entries(bounds: &Bounds) -> Vec<Entry> {
    let mut entries: Vec<Entry> = beginning().collect();
    entries.extend(TEMPORARY.map(|(path, name)| entry(path, Kind::Temporary(name))));
    // A home at the very top is none that could be made private.
    if bounds.home != Path::new("/") {
        entries.push(entry(&bounds.home, Kind::Temporary(HOME)));
    }
    entries.extend(bounds.readable.iter().map(|path| entry(path, Kind::Readable)));
    entries.extend(bounds.writable.iter().map(|path| entry(path, Kind::Writable)));
    entries.extend(bounds.hidden.iter().map(|path| entry(path, Kind::Hidden)));
    entries.extend(anchors(bounds).into_iter().map(|path| entry(path, Kind::Anchored)));
    entries.extend(bounds.pinned.iter().map(|pinned| {
        entry(&pinned.path, if pinned.is_writable { Kind::Anchored } else { Kind::Pinned })
    }));
    let key = |entry: &Entry| (entry.depth, entry.path.as_os_str().to_owned(), entry.kind);
    entries.sort_by_cached_key(key);
    entries.dedup();
    let mut view: Vec<Entry> = Vec::with_capacity(entries.len());
    for mut entry in entries {
        let parent = view.iter().rfind(|other| is_beneath(&entry, other));
        let nearest = parent.map(|parent| parent.kind);
        let is_upon_another = view.last().is_some_and(|last| last.path == entry.path);
        if entry.kind == Kind::Readable && nearest == Some(Kind::Readable) && !is_upon_another {
            // It only repeats what its parent brings.
            continue;
        }
        entry.ground = match nearest {
            None | Some(Kind::Temporary(_) | Kind::Device | Kind::Processes) => Ground::Own,
            Some(
                Kind::Readable | Kind::Writable | Kind::Anchored | Kind::Pinned | Kind::Hidden,
            ) => Ground::Granted,
        };
        entry.is_begun = matches!(entry.kind, Kind::Device | Kind::Processes)
            && entry.ground == Ground::Own
            && !is_upon_another;
        view.push(entry);
    }
    view.retain(|entry| !entry.is_begun);
    view
}

/// Returns the directories between a writable one and what is kept from being read or changed in it.
///
/// Who could rename one of them would find what is in it under another name with the next command, and that name is
/// neither hidden nor read-only.
fn anchors(bounds: &Bounds) -> BTreeSet<&Path> {
    let mut anchors = BTreeSet::new();
    for kept in bounds.hidden.iter().chain(&bounds.readable) {
        let around = bounds.writable.iter().filter(|root| *root != kept && kept.starts_with(root));
        let Some(root) = around.min_by_key(|root| root.components().count()) else { continue };
        let between = kept.ancestors().skip(1).take_while(|path| path != root);
        anchors.extend(between);
    }
    anchors
}

fn is_beneath(entry: &Entry, other: &Entry) -> bool {
    other.depth < entry.depth && entry.path.starts_with(&other.path)
}

fn entry(path: impl AsRef<Path>, kind: Kind) -> Entry {
    let path = path.as_ref().to_path_buf();
    let depth = path.components().count();
    Entry { path, kind, ground: Ground::Own, is_begun: false, depth }
}

#[cfg(test)]
mod tests;
