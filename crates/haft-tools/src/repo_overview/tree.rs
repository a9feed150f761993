//! Draws the tree of a directory as deep as it fits. A small tree is whole; a large one shows its upper levels. Entries that
//! are not drawn are counted.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Component, Path};

/// Lines of the drawing.
pub(crate) const TREE_LINES_MAX: usize = 200;
/// Entries of one directory that are drawn.
pub(crate) const TREE_ENTRIES_MAX: usize = 60;

/// A directory, with what is beneath it.
#[derive(Debug, Default)]
pub(super) struct DirectoryTree {
    directories: BTreeMap<String, DirectoryTree>,
    files: Vec<String>,
    /// Of all files beneath it.
    count: usize,
    bytes: u64,
}

impl DirectoryTree {
    /// Adds the file at `path`.
    pub(super) fn add(&mut self, path: &Path, bytes: u64) {
        let mut names = path.components().filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
            Component::Prefix(_)
            | Component::RootDir
            | Component::CurDir
            | Component::ParentDir => None,
        });
        let mut directory = self;
        let mut name = names.next();
        // Each level that is drawn takes a line at least. Further ones are counted and not kept, since a tree is drawn and
        // dropped by recursion.
        let mut level = 0;
        while let Some(current) = name.take_if(|_| level <= TREE_LINES_MAX) {
            level += 1;
            directory.count += 1;
            directory.bytes = directory.bytes.saturating_add(bytes);
            name = names.next();
            if name.is_some() {
                directory = directory.directories.entry(current).or_default();
            } else {
                directory.files.push(current);
            }
        }
    }

    /// Draws as many levels as fit.
    pub(super) fn draw(&self) -> String {
        let mut depth = 1;
        while self.lines(depth + 1) <= TREE_LINES_MAX && self.lines(depth + 1) > self.lines(depth) {
            depth += 1;
        }
        let mut text = String::new();
        self.write(&mut text, 0, depth);
        text
    }

    /// Returns how many lines `depth` levels take.
    fn lines(&self, depth: usize) -> usize {
        if depth == 0 {
            return 0;
        }
        let entries = self.directories.len() + self.files.len();
        let beneath = self.directories.values().take(TREE_ENTRIES_MAX);
        let beneath: usize = beneath.map(|directory| directory.lines(depth - 1)).sum();
        // Those that are left out share a line.
        beneath + entries.min(TREE_ENTRIES_MAX + 1)
    }

    fn write(&self, text: &mut String, level: usize, depth: usize) {
        if depth == 0 {
            return;
        }
        let indent = "  ".repeat(level);
        for (name, directory) in self.directories.iter().take(TREE_ENTRIES_MAX) {
            let DirectoryTree { count, bytes, .. } = directory;
            let files = if *count == 1 { "file" } else { "files" };
            // The largest unit that leaves a whole number.
            let (size, unit) = match bytes {
                0..1_000 => (*bytes, "B"),
                1_000..1_000_000 => (bytes / 1_000, "kB"),
                1_000_000..1_000_000_000 => (bytes / 1_000_000, "MB"),
                _ => (bytes / 1_000_000_000, "GB"),
            };
            let _ = writeln!(text, "{indent}{}/ ({count} {files}, {size} {unit})", shown(name));
            directory.write(text, level + 1, depth - 1);
        }
        let room = TREE_ENTRIES_MAX.saturating_sub(self.directories.len());
        for name in self.files.iter().take(room) {
            let _ = writeln!(text, "{indent}{}", shown(name));
        }
        let left = (self.directories.len() + self.files.len()).saturating_sub(TREE_ENTRIES_MAX);
        if left > 0 {
            let _ = writeln!(text, "{indent}… and {left} more");
        }
    }
}

/// Returns a name as it can stand in a line.
fn shown(name: &str) -> String {
    name.chars().map(|it| if it.is_control() { '\u{fffd}' } else { it }).collect()
}
