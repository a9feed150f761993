//! The files of a project that a server may have read, and their changes. A server is notified of
//! every change since the last request, by any process. The scan covers files of the project's
//! language and project markers, except in hidden directories and directories of third-party code.

use std::collections::BTreeMap;

use haft_contract::{Cx, FilePath, FileStamp, FsEntryKind};

use crate::language::Language;
use crate::limits::{WATCHED_DIRECTORIES_MAX, WATCHED_FILES_MAX};

/// Directories whose files are not edited by hand.
const SKIPPED: &[&str] = &["__pycache__", "node_modules", "target", "venv"];

/// The files of a project at one point in time, by their display paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProjectFiles {
    files: BTreeMap<String, FileStamp>,
}

/// A change of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProjectFileChange {
    Created,
    Changed,
    Deleted,
}

impl ProjectFileChange {
    /// Returns its number in the protocol.
    pub(crate) fn protocol_number(self) -> u8 {
        match self {
            Self::Created => 1,
            Self::Changed => 2,
            Self::Deleted => 3,
        }
    }
}

impl ProjectFiles {
    /// Scans the files below a directory.
    pub(crate) fn scan_directory(cx: &Cx, base: &FilePath, language: &Language) -> Self {
        let mut watched = Self::default();
        let mut directories = vec![base.clone()];
        let mut seen = 0;
        while let Some(directory) = directories.pop() {
            seen += 1;
            if seen > WATCHED_DIRECTORIES_MAX || cx.is_cancelled() {
                break;
            }
            // A directory that cannot be listed is not watched.
            for entry in cx.fs().list(&directory).unwrap_or_default() {
                let name = entry.name.to_string_lossy();
                let place = directory.join(&entry.name);
                match entry.kind {
                    FsEntryKind::Directory => {
                        if !name.starts_with('.') && !SKIPPED.contains(&name.as_ref()) {
                            directories.push(place);
                        }
                    }
                    FsEntryKind::Regular => {
                        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
                        let is_watched = extension.is_some_and(|ext| language.has_extension(ext))
                            || language.root_markers.iter().any(|marker| **marker == *name);
                        if !is_watched {
                            continue;
                        }
                        if watched.files.len() >= WATCHED_FILES_MAX {
                            return watched;
                        }
                        if let Ok(opened) = cx.fs().open_regular(&place) {
                            watched.files.insert(place.display().to_owned(), opened.stamp);
                        }
                    }
                    FsEntryKind::Symlink
                    | FsEntryKind::Fifo
                    | FsEntryKind::Socket
                    | FsEntryKind::CharDevice
                    | FsEntryKind::BlockDevice => {}
                }
            }
        }
        watched
    }

    /// Returns the changes since `before`.
    pub(crate) fn changes_since(&self, before: &Self) -> Vec<(String, ProjectFileChange)> {
        let mut changes = Vec::new();
        for (path, stamp) in &self.files {
            match before.files.get(path) {
                None => changes.push((path.clone(), ProjectFileChange::Created)),
                Some(known) if known != stamp => {
                    changes.push((path.clone(), ProjectFileChange::Changed))
                }
                Some(_) => {}
            }
        }
        let gone = before.files.keys().filter(|path| !self.files.contains_key(*path));
        changes.extend(gone.map(|path| (path.clone(), ProjectFileChange::Deleted)));
        changes
    }

    /// Returns the stamp of a file, if it is in the scan.
    pub(crate) fn stamp(&self, path: &str) -> Option<FileStamp> {
        self.files.get(path).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(files: &[(&str, u64)]) -> ProjectFiles {
        let stamp = |size: u64| FileStamp {
            device: 1,
            inode: 1,
            size,
            modified_ns: 0,
            changed_ns: 0,
            mode: 0,
        };
        let files = files.iter().map(|(path, size)| ((*path).to_owned(), stamp(*size)));
        ProjectFiles { files: files.collect() }
    }

    #[test]
    fn changes_are_found_by_comparison() {
        let before = watched(&[("a", 1), ("b", 1), ("c", 1)]);
        let after = watched(&[("a", 1), ("b", 2), ("d", 1)]);
        let expect = [
            ("b", ProjectFileChange::Changed),
            ("d", ProjectFileChange::Created),
            ("c", ProjectFileChange::Deleted),
        ];
        assert_eq!(
            after.changes_since(&before),
            expect.map(|(path, change)| (path.to_owned(), change))
        );
        assert_eq!(after.changes_since(&after), []);
    }
}
