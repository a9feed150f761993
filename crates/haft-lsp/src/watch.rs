//! The files of a project that a server may have read, and what became of them: a server is told of every change since it
//! was last asked, whoever made it. Looked for are the files of its language and those that mark a project, in directories
//! that are neither hidden nor full of what others wrote.

use std::collections::BTreeMap;

use haft_contract::{Cx, FileKind, FilePath, FileStamp};

use crate::language::Language;
use crate::limits::{WATCHED_DIRECTORIES_MAX, WATCHED_FILES_MAX};

/// Directories whose files nobody edits.
const SKIPPED: &[&str] = &["__pycache__", "node_modules", "target", "venv"];

/// The files of a project at one time, as a model reads their paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    files: BTreeMap<String, FileStamp>,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Created,
    Changed,
    Deleted,
}

impl Change {
    /// Returns its number in the protocol.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Created => 1,
            Self::Changed => 2,
            Self::Deleted => 3,
        }
    }
}

impl Watched {
    /// Looks at the files beneath a directory.
    pub(crate) fn look(cx: &Cx, base: &FilePath, language: &Language) -> Self {
        let mut watched = Self::default();
        let mut directories = vec![base.clone()];
        let mut seen = 0;
        while let Some(directory) = directories.pop() {
            seen += 1;
            if seen > WATCHED_DIRECTORIES_MAX || cx.is_cancelled() {
                break;
            }
            // What cannot be listed is not watched.
            for entry in cx.fs().list(&directory).unwrap_or_default() {
                let name = entry.name.to_string_lossy();
                let place = directory.join(&entry.name);
                match entry.kind {
                    FileKind::Directory => {
                        if !name.starts_with('.') && !SKIPPED.contains(&name.as_ref()) {
                            directories.push(place);
                        }
                    }
                    FileKind::Regular if is_watched(&name, language) => {
                        if watched.files.len() >= WATCHED_FILES_MAX {
                            return watched;
                        }
                        if let Ok(opened) = cx.fs().open_seen(&place) {
                            watched.files.insert(place.display().to_owned(), opened.stamp);
                        }
                    }
                    FileKind::Regular
                    | FileKind::Symlink
                    | FileKind::Fifo
                    | FileKind::Socket
                    | FileKind::CharDevice
                    | FileKind::BlockDevice => {}
                }
            }
        }
        watched
    }

    /// Returns what became of files since then.
    pub(crate) fn since(&self, before: &Self) -> Vec<(String, Change)> {
        let mut changes = Vec::new();
        for (path, stamp) in &self.files {
            match before.files.get(path) {
                None => changes.push((path.clone(), Change::Created)),
                Some(known) if known != stamp => changes.push((path.clone(), Change::Changed)),
                Some(_) => {}
            }
        }
        let gone = before.files.keys().filter(|path| !self.files.contains_key(*path));
        changes.extend(gone.map(|path| (path.clone(), Change::Deleted)));
        changes
    }

    /// Returns what a file was, if it is among them.
    pub(crate) fn stamp(&self, path: &str) -> Option<FileStamp> {
        self.files.get(path).copied()
    }
}

fn is_watched(name: &str, language: &Language) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    extension.is_some_and(|extension| language.has_extension(extension))
        || language.root_markers.iter().any(|marker| marker == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(files: &[(&str, u64)]) -> Watched {
        let stamp = |size: u64| FileStamp {
            device: 1,
            inode: 1,
            size,
            modified_ns: 0,
            changed_ns: 0,
            mode: 0,
        };
        let files = files.iter().map(|(path, size)| ((*path).to_owned(), stamp(*size)));
        Watched { files: files.collect() }
    }

    #[test]
    fn changes_are_found_by_comparison() {
        let before = watched(&[("a", 1), ("b", 1), ("c", 1)]);
        let after = watched(&[("a", 1), ("b", 2), ("d", 1)]);
        let expect = [("b", Change::Changed), ("d", Change::Created), ("c", Change::Deleted)];
        assert_eq!(after.since(&before), expect.map(|(path, change)| (path.to_owned(), change)));
        assert_eq!(after.since(&after), []);
    }
}
