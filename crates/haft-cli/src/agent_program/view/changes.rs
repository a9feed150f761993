//! The change that a call made to a file, as a few coloured lines: the old and the new text of its input or, if it replaced
//! the file, the file's former text. `haft diff` shows all changes of a session.

use clap::builder::styling::{AnsiColor, Style};
use haft_contract::{ToolKind, cut};
use haft_patch::DescribedChange;
use serde_json::Value;

use super::limits::{
    CHANGE_LINE_CHARS_MAX, CHANGE_LINES_MAX, COMPARED_BYTES_MAX, COMPARED_LINES_MAX,
};

const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const DIM: Style = Style::new().dimmed();

/// Returns the lines that show what a call changed. They are empty if the tool does not change files. `before` is the text of
/// the file before the call, if the file existed and could be read.
pub(super) fn change_lines(kind: ToolKind, input: &Value, before: Option<&str>) -> Vec<String> {
    let lines = match described_change(kind, input) {
        Some(DescribedChange::Passage { old, new, .. }) => {
            let mut lines = diff_lines(old, new);
            // The line numbers of a passage mean nothing.
            lines.retain(|line| !line.starts_with("@@"));
            lines
        }
        Some(DescribedChange::Patch { patch, .. }) => {
            // Frame lines repeat the line of the call, or mean nothing without the file.
            let frame = ["diff ", "index ", "--- ", "*** Begin", "*** End"];
            let is_frame = |line: &&str| frame.iter().any(|it| line.starts_with(it));
            patch.lines().filter(|line| !is_frame(line)).map(str::to_owned).collect()
        }
        Some(DescribedChange::Content { new, .. }) => match before {
            Some(before) => {
                // A file keeps its line ends, so the comparison ignores them unless the new text sets them.
                let plain = before.replace("\r\n", "\n");
                let before = if new.contains('\r') { before } else { plain.as_str() };
                let lines = diff_lines(before, new);
                if lines.is_empty() { vec!["(nothing is different)".to_owned()] } else { lines }
            }
            None => new.lines().map(|line| format!("+{line}")).collect(),
        },
        None => Vec::new(),
    };
    let coloured = |line: &String| {
        let style = match line.bytes().next() {
            Some(b'+') => ADDED,
            Some(b'-') => REMOVED,
            Some(_) | None => DIM,
        };
        let line = haft_contract::escape_controls(&cut(line, CHANGE_LINE_CHARS_MAX));
        format!("{style}{line}{style:#}")
    };
    let mut shown: Vec<String> = lines.iter().take(CHANGE_LINES_MAX).map(coloured).collect();
    let more = lines.len().saturating_sub(CHANGE_LINES_MAX);
    if more > 0 {
        shown.push(format!("{DIM}… ({more} more lines){DIM:#}"));
    }
    shown
}

/// Returns the change that a call's input describes, if the tool changes files.
pub(super) fn described_change(kind: ToolKind, input: &Value) -> Option<DescribedChange<'_>> {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    DescribedChange::from_fields(text).filter(|_| kind == ToolKind::Edit)
}

fn diff_lines(old: &str, new: &str) -> Vec<String> {
    let (old_lines, new_lines) = (old.lines().count(), new.lines().count());
    let (bytes, lines) = (old.len().max(new.len()), old_lines.max(new_lines));
    if bytes > COMPARED_BYTES_MAX || lines > COMPARED_LINES_MAX {
        return vec![format!("-({old_lines} lines)"), format!("+({new_lines} lines)")];
    }
    let patch = diffy::create_patch(old, new).to_string();
    // Two lines name files that have no names here.
    let lines = patch.lines().skip(2).filter(|line| !line.starts_with('\\'));
    lines.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plain(kind: ToolKind, input: &Value) -> Vec<String> {
        let lines = change_lines(kind, input, None);
        lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect()
    }

    #[test]
    fn old_and_new_lines_are_told_apart() {
        let check =
            |kind: ToolKind, input: Value, expect: &[&str]| assert_eq!(plain(kind, &input), expect);
        let edit = json!({"path": "a", "old_string": "one\ntwo", "new_string": "one\nthree"});
        check(ToolKind::Edit, edit, &[" one", "-two", "+three"]);
        check(ToolKind::Edit, json!({"path": "a", "content": "x\n\u{1b}y"}), &["+x", "+\\u{1b}y"]);
        let patch = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
        check(ToolKind::Edit, json!({"patch": patch}), &["+++ b/x", "@@ -1 +1 @@", "-a", "+b"]);
        check(
            ToolKind::Edit,
            json!({"path": "x", "patch": patch}),
            &["+++ b/x", "@@ -1 +1 @@", "-a", "+b"],
        );
        check(ToolKind::Execute, json!({"cmd": "ls"}), &[]);
        check(ToolKind::Edit, json!("no object"), &[]);
    }

    #[test]
    fn a_file_that_is_replaced_is_compared_with_what_it_said() {
        let check = |before: &str, new: &str, expect: &[&str]| {
            let lines =
                change_lines(ToolKind::Edit, &json!({"path": "a", "content": new}), Some(before));
            let plain = lines.iter().map(|line| anstream::adapter::strip_str(line).to_string());
            assert_eq!(plain.collect::<Vec<_>>(), expect, "{before:?} {new:?}");
        };
        check("one\ntwo\n", "one\nthree\n", &["@@ -1,2 +1,2 @@", " one", "-two", "+three"]);
        check("one\r\ntwo\r\n", "one\nthree\n", &["@@ -1,2 +1,2 @@", " one", "-two", "+three"]);
        check("one\n", "one\n", &["(nothing is different)"]);
        check("", "one\n", &["@@ -0,0 +1 @@", "+one"]);
    }

    #[test]
    fn so_many_lines_are_shown_and_so_much_of_each() {
        let lines = |count: usize| json!({"content": "x\n".repeat(count)});
        assert_eq!(plain(ToolKind::Edit, &lines(CHANGE_LINES_MAX)).len(), CHANGE_LINES_MAX);
        let shown = plain(ToolKind::Edit, &lines(CHANGE_LINES_MAX + 2));
        assert_eq!(shown.last().unwrap(), "… (2 more lines)");
        let long = json!({"content": "x".repeat(CHANGE_LINE_CHARS_MAX + 1)});
        let shown = plain(ToolKind::Edit, &long);
        assert!(shown.first().unwrap().ends_with("x…"));
        assert_eq!(shown.first().unwrap().chars().count(), CHANGE_LINE_CHARS_MAX + 1);
    }

    #[test]
    fn texts_that_are_too_large_are_counted() {
        let edit =
            |old: &str| plain(ToolKind::Edit, &json!({"old_string": old, "new_string": "z"}));
        let is_compared = |old: &str| !edit(old).iter().any(|line| line.starts_with("-("));
        let line = format!("{}\n", "x".repeat(63));
        let text = line.repeat(COMPARED_BYTES_MAX / line.len());
        assert!(is_compared(&text));
        assert_eq!(edit(&format!("{text}y")), ["-(1025 lines)", "+(1 lines)"]);
        let text = "x\n".repeat(COMPARED_LINES_MAX);
        assert!(is_compared(&text));
        assert_eq!(edit(&format!("{text}y")), ["-(2001 lines)", "+(1 lines)"]);
    }
}
