//! What lies at some paths, as far as anybody could have changed it. No link is followed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Entries by path; an absent one has none.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tree(BTreeMap<PathBuf, String>);

impl Tree {
    /// Looks at the paths and all beneath them.
    pub(super) fn of(paths: &[PathBuf]) -> Self {
        let mut entries = BTreeMap::new();
        let look = |path: &Path, metadata: &fs::Metadata| {
            // Git and the like touch the times of directories, and reading touches none of these.
            let changed = if metadata.is_dir() { 0 } else { metadata.mtime_nsec() };
            let links = if metadata.is_dir() { 0 } else { metadata.nlink() };
            let content = match fs::read_link(path) {
                Ok(target) => target.into_os_string().into_encoded_bytes(),
                Err(_) if metadata.is_file() => fs::read(path).unwrap_or_default(),
                Err(_) => Vec::new(),
            };
            let content = String::from_utf8_lossy(&content).into_owned();
            let MetadataFacts { mode, owner } = MetadataFacts::of(metadata);
            entries.insert(path.to_owned(), format!("{mode:o} {owner} {links} {changed} {content}"));
        };
        let mut look = look;
        for path in paths {
            walk(path, &mut look);
        }
        Self(entries)
    }

    /// Returns the paths that are not the same in both.
    pub(super) fn difference<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = String> + 'a {
        let all: std::collections::BTreeSet<&PathBuf> = self.0.keys().chain(other.0.keys()).collect();
        let differs = all.into_iter().filter(|path| self.0.get(*path) != other.0.get(*path));
        differs.map(|path| path.display().to_string())
    }
}

struct MetadataFacts {
    mode: u32,
    owner: u32,
}

impl MetadataFacts {
    fn of(metadata: &fs::Metadata) -> Self {
        Self { mode: metadata.mode(), owner: metadata.uid() }
    }
}

/// Returns what lies beneath a directory and would give rights to whoever finds it: programs that run as their owner,
/// and devices.
pub(super) fn rising(directory: &Path) -> impl Iterator<Item = String> {
    let mut found = Vec::new();
    walk(directory, &mut |path, metadata| {
        let runs_as_owner = metadata.is_file() && metadata.mode() & 0o6000 != 0;
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
