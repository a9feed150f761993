//! The change that a call would make to a file, as a difference. The call was not executed: its input says what it would
//! write, and the file says what is there now. A file that cannot be read counts as empty, and the page says so.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use haft_snapshot::UnifiedDiff;
use serde_json::Value;

use super::difference::{DiffLine, lines, patch_lines};
use crate::limits::DIFF_BYTES_SHOWN_MAX;
use crate::text::on_one_line;

/// The change that a call would make.
pub(crate) struct PlannedChange {
    pub(crate) headline: String,
    pub(crate) note: &'static str,
    pub(crate) lines: Vec<DiffLine>,
}

/// The present text of a file.
enum PresentFile {
    Text(String),
    Missing,
    /// It is too long, not text or not a file, or it lies outside the root.
    Unreadable,
}

impl PlannedChange {
    /// Returns the change of a call of a tool that changes files; `None` for other calls.
    pub(crate) fn of(tool: &str, input: &Value, root: &Path) -> Option<Self> {
        let text = |name: &str| input.get(name).and_then(Value::as_str);
        match tool {
            "write" => {
                let (path, content) = (text("path")?, text("content")?);
                let (before, note) = match PresentFile::read(root, path) {
                    PresentFile::Text(before) => (before, ""),
                    PresentFile::Missing => (String::new(), "The file is not there now."),
                    PresentFile::Unreadable => (String::new(), UNREADABLE),
                };
                Some(Self::between(path, &before, content, note))
            }
            "edit" => {
                let (path, old, new) = (text("path")?, text("old_string")?, text("new_string")?);
                let replaces_all = input.get("replace_all").and_then(Value::as_bool);
                let count = if replaces_all == Some(true) { usize::MAX } else { 1 };
                match PresentFile::read(root, path) {
                    PresentFile::Text(before) if before.contains(old) => {
                        let after = before.replacen(old, new, count);
                        Some(Self::between(path, &before, &after, ""))
                    }
                    PresentFile::Text(_) => {
                        let note = "The passage is not in the file now, so the call would fail.";
                        Some(Self::between(path, old, new, note))
                    }
                    PresentFile::Missing => {
                        let note = "The file is not there now, so the call would fail.";
                        Some(Self::between(path, old, new, note))
                    }
                    PresentFile::Unreadable => Some(Self::between(path, old, new, UNREADABLE)),
                }
            }
            "apply_patch" => {
                let patch = text("patch")?;
                Some(Self { headline: "Patch".to_owned(), note: "", lines: patch_lines(patch) })
            }
            _ => None,
        }
    }

    fn between(path: &str, before: &str, after: &str, note: &'static str) -> Self {
        let names = (format!("a/{path}"), format!("b/{path}"));
        let headline = format!("Change of {}", on_one_line(path));
        match UnifiedDiff::between(before.as_bytes(), after.as_bytes(), names) {
            UnifiedDiff::Text(text) if before != after => {
                let (lines, is_cut) = lines(&text);
                let note = if is_cut { "The rest of this difference is not shown." } else { note };
                Self { headline, note, lines }
            }
            UnifiedDiff::Text(_) | UnifiedDiff::Nothing => {
                Self { headline, note: "The file would stay as it is.", lines: Vec::new() }
            }
            UnifiedDiff::Binary => Self { headline, note: "It is not text.", lines: Vec::new() },
            UnifiedDiff::TooLarge | UnifiedDiff::NotRecorded => {
                Self { headline, note: "It is too large to be compared.", lines: Vec::new() }
            }
        }
    }
}

/// The note on a file that the inspector does not read.
const UNREADABLE: &str = "The present file cannot be read here, so only the new text is shown.";

impl PresentFile {
    /// Reads a regular file beneath a root.
    fn read(root: &Path, path: &str) -> Self {
        let Ok(root) = root.canonicalize() else { return Self::Unreadable };
        let found = match root.join(path).canonicalize() {
            Ok(found) if found.starts_with(&root) && found.is_file() => found,
            Ok(_) => return Self::Unreadable,
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => return Self::Missing,
            Err(_) => return Self::Unreadable,
        };
        let bytes_max = u64::try_from(DIFF_BYTES_SHOWN_MAX).unwrap_or(u64::MAX);
        let mut text = String::new();
        let read =
            File::open(found).and_then(|file| file.take(bytes_max + 1).read_to_string(&mut text));
        match read {
            Ok(read) if read <= DIFF_BYTES_SHOWN_MAX => Self::Text(text),
            Ok(_) | Err(_) => Self::Unreadable,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(tool: &str, input: Value, root: &Path) -> String {
        let change = PlannedChange::of(tool, &input, root).unwrap();
        let line = |line: &DiffLine| {
            let pieces = line.pieces.iter().map(|(_, piece)| piece.as_str());
            format!("{}|{}", line.style, pieces.collect::<String>())
        };
        let lines: Vec<String> = change.lines.iter().map(line).collect();
        format!("{}: {} {}", change.headline, change.note, lines.join(" "))
    }

    #[test]
    fn a_change_is_shown_before_it_is_made() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("a.txt"), "one\ntwo\n").unwrap();
        let check = |tool: &str, input: Value, expect: &str| {
            assert_eq!(shown(tool, input, root.path()), expect, "{tool}");
        };
        let edit = |old: &str| json!({"path": "a.txt", "old_string": old, "new_string": "2"});
        check("edit", edit("two"), "Change of a.txt:  at|@@ -1,2 +1,2 @@ | one del|-two add|+2");
        check(
            "edit",
            edit("three"),
            "Change of a.txt: The passage is not in the file now, so the call would fail. at|@@ -1 +1 @@ del|-three |\\ No newline at end of file add|+2 |\\ No newline at end of file",
        );
        let write = |path: &str| json!({"path": path, "content": "new\n"});
        check(
            "write",
            write("b.txt"),
            "Change of b.txt: The file is not there now. at|@@ -0,0 +1 @@ add|+new",
        );
        let outside = format!("Change of ../x: {UNREADABLE} at|@@ -0,0 +1 @@ add|+new");
        std::fs::write(root.path().parent().unwrap().join("x"), "secret\n").unwrap_or_default();
        let outside_shown = shown("write", write("../x"), root.path());
        assert!(
            outside_shown == outside || outside_shown.contains("not there now"),
            "{outside_shown}"
        );
        assert!(!outside_shown.contains("secret"));
        assert!(PlannedChange::of("bash", &json!({"cmd": "ls"}), root.path()).is_none());
    }
}
