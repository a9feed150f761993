//! What a call changed in a file, as few lines with colours: the old and the new text as its input has them, and of a file
//! that was replaced what it said before. The whole of what a session changed is for `haft diff`.

use clap::builder::styling::{AnsiColor, Style};
use serde_json::Value;

use super::limits::{
    CHANGE_LINE_CHARS_MAX, CHANGE_LINES_MAX, COMPARED_BYTES_MAX, COMPARED_LINES_MAX,
};
use crate::output;
use crate::table::shortened;

const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const DIM: Style = Style::new().dimmed();

/// Returns the lines that show what a call changed; none if it is none of a tool that changes files by itself. `before` is what
/// the file said that it replaced, if it was there and could be read.
pub(super) fn changes(tool: &str, input: &Value, before: Option<&str>) -> Vec<String> {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    match (tool, text("old_string"), text("patch"), text("content")) {
        ("edit", Some(old), ..) => {
            shown(compared(old, text("new_string").unwrap_or_default(), Places::Within))
        }
        ("edit" | "apply_patch", _, Some(patch), _) => {
            shown(patch.lines().filter(|line| says_something(line)).map(str::to_owned).collect())
        }
        ("write", .., Some(new)) => match before {
            Some(before) => shown(replaced(before, new)),
            None => shown(new.lines().map(|line| format!("+{line}")).collect()),
        },
        _ => Vec::new(),
    }
}

/// What the places of lines are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Places {
    /// A passage, so that they say nothing.
    Within,
    /// The whole file.
    OfFile,
}

fn replaced(before: &str, new: &str) -> Vec<String> {
    // A file keeps its line ends, whatever the new text has.
    let plain = before.replace("\r\n", "\n");
    let before = if new.contains('\r') { before } else { plain.as_str() };
    let lines = compared(before, new, Places::OfFile);
    if lines.is_empty() { vec!["(nothing is different)".to_owned()] } else { lines }
}

/// Names of files and places are on the line of the call, or say nothing without the file beside them.
fn says_something(line: &str) -> bool {
    let is_frame =
        ["diff ", "index ", "--- ", "*** Begin", "*** End"].iter().any(|it| line.starts_with(it));
    !is_frame
}

fn compared(old: &str, new: &str, places: Places) -> Vec<String> {
    let (old_lines, new_lines) = (old.lines().count(), new.lines().count());
    let (bytes, lines) = (old.len().max(new.len()), old_lines.max(new_lines));
    if bytes > COMPARED_BYTES_MAX || lines > COMPARED_LINES_MAX {
        return vec![format!("-({old_lines} lines)"), format!("+({new_lines} lines)")];
    }
    let patch = diffy::create_patch(old, new).to_string();
    // Two lines name files that have no names here.
    let lines = patch.lines().skip(2).filter(|line| !line.starts_with('\\'));
    let lines = lines.filter(|line| places == Places::OfFile || !line.starts_with("@@"));
    lines.map(str::to_owned).collect()
}

fn shown(lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(CHANGE_LINES_MAX);
    let mut shown: Vec<String> =
        lines.iter().take(CHANGE_LINES_MAX).map(|line| coloured(line)).collect();
    if more > 0 {
        shown.push(format!("{DIM}… ({more} more lines){DIM:#}"));
    }
    shown
}

fn coloured(line: &str) -> String {
    let style = match line.bytes().next() {
        Some(b'+') => ADDED,
        Some(b'-') => REMOVED,
        Some(_) | None => DIM,
    };
    let line = output::visible(&shortened(line, CHANGE_LINE_CHARS_MAX));
    format!("{style}{line}{style:#}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plain(tool: &str, input: &Value) -> Vec<String> {
        let lines = changes(tool, input, None);
        lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect()
    }

    #[test]
    fn old_and_new_lines_are_told_apart() {
        let check =
            |tool: &str, input: Value, expect: &[&str]| assert_eq!(plain(tool, &input), expect);
        let edit = json!({"path": "a", "old_string": "one\ntwo", "new_string": "one\nthree"});
        check("edit", edit, &[" one", "-two", "+three"]);
        check("write", json!({"path": "a", "content": "x\n\u{1b}y"}), &["+x", "+\\u{1b}y"]);
        let patch = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
        check("apply_patch", json!({"patch": patch}), &["+++ b/x", "@@ -1 +1 @@", "-a", "+b"]);
        check(
            "edit",
            json!({"path": "x", "patch": patch}),
            &["+++ b/x", "@@ -1 +1 @@", "-a", "+b"],
        );
        check("bash", json!({"cmd": "ls"}), &[]);
        check("edit", json!("no object"), &[]);
    }

    #[test]
    fn a_file_that_is_replaced_is_compared_with_what_it_said() {
        let check = |before: &str, new: &str, expect: &[&str]| {
            let lines = changes("write", &json!({"path": "a", "content": new}), Some(before));
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
        assert_eq!(plain("write", &lines(CHANGE_LINES_MAX)).len(), CHANGE_LINES_MAX);
        let shown = plain("write", &lines(CHANGE_LINES_MAX + 2));
        assert_eq!(shown.last().unwrap(), "… (2 more lines)");
        let long = json!({"content": "x".repeat(CHANGE_LINE_CHARS_MAX)});
        let shown = plain("write", &long);
        assert!(shown.first().unwrap().ends_with("x…"));
        assert_eq!(shown.first().unwrap().chars().count(), CHANGE_LINE_CHARS_MAX);
    }

    #[test]
    fn texts_that_are_too_large_are_counted() {
        let edit = |old: &str| plain("edit", &json!({"old_string": old, "new_string": "z"}));
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
