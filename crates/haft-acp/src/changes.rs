//! What a call changes in files, as editors draw it: the old and the new text of each place, from the call's input. Pure;
//! what a file said before it is written is handed in.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::Diff;
use serde_json::Value;

use crate::limits::{SHOWN_CHANGE_BYTES_MAX, SHOWN_HUNKS_MAX};

/// Returns what a call changes; nothing if its tool is none that changes files by itself, or the texts are too large to be
/// drawn. `before` says what a file holds.
pub(crate) fn changes(
    tool: &str,
    input: &Value,
    root: &Path,
    before: impl Fn(&str) -> Option<String>,
) -> Vec<Diff> {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    let patch = || text("patch").filter(|patch| patch.len() <= SHOWN_CHANGE_BYTES_MAX);
    let diffs = match (tool, text("path")) {
        ("edit", Some(path)) => match (text("old_string"), text("new_string")) {
            (Some(old), Some(new)) => vec![diff(root, path, Some(old.to_owned()), new)],
            _ => patch().map(|patch| of_patch(patch, root, Some(path))).unwrap_or_default(),
        },
        ("write", Some(path)) => match text("content") {
            Some(new) => vec![diff(root, path, before(path), new)],
            None => Vec::new(),
        },
        ("apply_patch", _) => patch().map(|patch| of_patch(patch, root, None)).unwrap_or_default(),
        _ => Vec::new(),
    };
    let is_small = |diff: &Diff| {
        let old = diff.old_text.as_ref().map_or(0, String::len);
        old <= SHOWN_CHANGE_BYTES_MAX && diff.new_text.len() <= SHOWN_CHANGE_BYTES_MAX
    };
    diffs.into_iter().filter(is_small).collect()
}

/// Returns a path as editors take it: absolute.
pub(crate) fn absolute(root: &Path, path: &str) -> PathBuf {
    root.join(path).components().collect()
}

fn diff(root: &Path, path: &str, old: Option<String>, new: &str) -> Diff {
    Diff::new(absolute(root, path), new).old_text(old)
}

/// One place that a patch changes.
#[derive(Default)]
struct Hunk {
    old: String,
    new: String,
    old_lines_left: usize,
    new_lines_left: usize,
}

/// Returns the places of a unified diff. `only` is the file where the patch need not name it.
fn of_patch(patch: &str, root: &Path, only: Option<&str>) -> Vec<Diff> {
    let mut diffs = Vec::new();
    let (mut source, mut target) = (None, None);
    let mut hunk: Option<Hunk> = None;
    for line in patch.split_inclusive('\n') {
        if let Some(open) = hunk.as_mut().filter(|hunk| !hunk.is_complete()) {
            open.take(line);
            continue;
        }
        if line.starts_with('\\') {
            continue;
        }
        let file = only.or(target).or(source);
        diffs.extend(hunk.take().zip(file).map(|(hunk, path)| hunk.diff(root, path)));
        if diffs.len() >= SHOWN_HUNKS_MAX {
            return diffs;
        }
        if let Some(name) = line.strip_prefix("--- ") {
            (source, target) = (named(name, "a/"), None);
        } else if let Some(name) = line.strip_prefix("+++ ") {
            target = named(name, "b/");
        } else {
            hunk = Hunk::begun_by(line);
        }
    }
    let file = only.or(target).or(source);
    diffs.extend(hunk.zip(file).map(|(hunk, path)| hunk.diff(root, path)));
    diffs
}

/// Returns the file that a line of a patch names; none for one that is not there.
fn named<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    let name = name.split('\t').next().unwrap_or(name).trim_end();
    (name != "/dev/null").then(|| name.strip_prefix(prefix).unwrap_or(name))
}

impl Hunk {
    /// Returns the hunk that such a line begins: `@@ -1,2 +1,3 @@`.
    fn begun_by(line: &str) -> Option<Self> {
        let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = ranges.split_once(" +")?;
        let lines = |range: &str| match range.split_once(',') {
            Some((_, lines)) => lines.parse().ok(),
            None => range.parse::<usize>().ok().map(|_| 1),
        };
        let (old_lines_left, new_lines_left) = (lines(old)?, lines(new)?);
        Some(Self { old_lines_left, new_lines_left, ..Self::default() })
    }

    fn is_complete(&self) -> bool {
        self.old_lines_left == 0 && self.new_lines_left == 0
    }

    fn take(&mut self, line: &str) {
        let (is_old, is_new) = match line.bytes().next() {
            Some(b'-') => (true, false),
            Some(b'+') => (false, true),
            Some(b'\\') => return,
            _ => (true, true),
        };
        let text = line.get(1..).unwrap_or("\n");
        if is_old {
            self.old.push_str(text);
            self.old_lines_left = self.old_lines_left.saturating_sub(1);
        }
        if is_new {
            self.new.push_str(text);
            self.new_lines_left = self.new_lines_left.saturating_sub(1);
        }
    }

    fn diff(self, root: &Path, path: &str) -> Diff {
        let old = (!self.old.is_empty()).then_some(self.old);
        diff(root, path, old, &self.new)
    }
}

#[cfg(test)]
mod tests;
