//! The content at some paths, as far as another process could have changed it. No link is followed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Entries by path; an absent one has none.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tree(BTreeMap<PathBuf, Entry>);

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    mode: u32,
    owner: u32,
    /// Of a directory it is how many others are in it, which shows in any case.
    names: u64,
    /// Nanoseconds alone: who sets a time by chance sets no two alike. Those of directories change with what is in them.
    changed: i64,
    content: Vec<u8>,
}

impl Tree {
    /// Looks at the paths and all beneath them.
    pub(super) fn of(paths: &[PathBuf]) -> Self {
        let mut entries = BTreeMap::new();
        let mut look = |path: &Path, metadata: &fs::Metadata| {
            entries.insert(path.to_owned(), Entry::of(path, metadata));
        };
        for path in paths {
            walk(path, &mut look);
        }
        Self(entries)
    }

    /// Returns the paths that are not the same in both.
    pub(super) fn difference<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = String> + 'a {
        self.different(other, |one, two| one == two)
    }

    /// Returns the paths that say something else in one than in the other, whatever their times and other names are.
    pub(super) fn difference_in_content<'a>(
        &'a self,
        other: &'a Self,
    ) -> impl Iterator<Item = String> + 'a {
        self.different(other, |one, two| (one.mode, &one.content) == (two.mode, &two.content))
    }

    fn different<'a>(
        &'a self,
        other: &'a Self,
        is_same: impl Fn(&Entry, &Entry) -> bool + 'a,
    ) -> impl Iterator<Item = String> + 'a {
        let all: BTreeSet<&PathBuf> = self.0.keys().chain(other.0.keys()).collect();
        let differs = all.into_iter().filter(move |path| {
            let (one, two) = (self.0.get(*path), other.0.get(*path));
            !matches!((one, two), (Some(one), Some(two)) if is_same(one, two))
        });
        differs.map(|path| path.display().to_string())
    }

    /// Returns the facts that are the same for each copy: names from `base` on, and no times. The times and inode numbers
    /// that git keeps are left out.
    pub(super) fn timeless(&self, base: &Path) -> Vec<String> {
        let entries = self.0.iter().map(|(path, entry)| {
            let name = path.strip_prefix(base).unwrap_or(path).display();
            let is_index = path.ends_with(".git/index");
            let content = if is_index { &[][..] } else { &entry.content };
            let content = String::from_utf8_lossy(content);
            format!("{name} {:o} {} {} {content:?}", entry.mode, entry.owner, entry.names)
        });
        entries.collect()
    }
}

impl Entry {
    fn of(path: &Path, metadata: &fs::Metadata) -> Self {
        let content = match fs::read_link(path) {
            Ok(target) => target.into_os_string().into_encoded_bytes(),
            Err(_) if metadata.is_file() => fs::read(path).unwrap_or_default(),
            Err(_) => Vec::new(),
        };
        let is_directory = metadata.is_dir();
        Self {
            mode: metadata.mode(),
            owner: metadata.uid(),
            names: if is_directory { 0 } else { metadata.nlink() },
            changed: if is_directory { 0 } else { metadata.mtime_nsec() },
            content,
        }
    }
}

/// Returns the entries beneath a directory that give rights to anyone who finds them: programs that run as their owner, and
/// devices. An empty file is no program, and filling it without privilege removes the right.
pub(super) fn rising(directory: &Path) -> impl Iterator<Item = String> {
    let mut found = Vec::new();
    walk(directory, &mut |path, metadata| {
        let is_program = metadata.is_file() && metadata.len() > 0;
        let runs_as_owner = is_program && metadata.mode() & 0o6000 != 0;
        let kind = metadata.file_type();
        if runs_as_owner || kind.is_block_device() || kind.is_char_device() {
            found.push(path.display().to_string());
        }
    });
    found.into_iter()
}

fn walk(path: &Path, look: &mut dyn FnMut(&Path, &fs::Metadata)) {
    let Ok(metadata) = path.symlink_metadata() else { return };
    look(path, &metadata);
    if !metadata.is_dir() {
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        walk(&entry.path(), look);
    }
}
