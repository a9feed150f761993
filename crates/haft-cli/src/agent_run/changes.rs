//! What a call changed in a file, as few lines with colours: the old and the new text as its input has them. The whole of
//! what a session changed is for `haft diff`.

use clap::builder::styling::{AnsiColor, Style};
use serde_json::Value;

use super::limits::{CHANGE_LINE_CHARS_MAX, CHANGE_LINES_MAX, COMPARED_BYTES_MAX};
use crate::output;
use crate::table::shortened;

const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const DIM: Style = Style::new().dimmed();

/// Returns the lines that show what a call changed; none if it is none of a tool that changes files by itself.
pub(super) fn changes(tool: &str, input: &Value) -> Vec<String> {
    let text = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default();
    match tool {
        "edit" => shown(compared(text("old_string"), text("new_string"))),
        "write" => shown(text("content").lines().map(|line| format!("+{line}")).collect()),
        "apply_patch" => shown(
            text("patch").lines().filter(|line| says_something(line)).map(str::to_owned).collect(),
        ),
        _ => Vec::new(),
    }
}

/// Names of files and places are on the line of the call, or say nothing without the file beside them.
fn says_something(line: &str) -> bool {
    let is_frame =
        ["diff ", "index ", "--- ", "*** Begin", "*** End"].iter().any(|it| line.starts_with(it));
    !is_frame
}

fn compared(old: &str, new: &str) -> Vec<String> {
    if old.len() > COMPARED_BYTES_MAX || new.len() > COMPARED_BYTES_MAX {
        let (old, new) = (old.lines().count(), new.lines().count());
        return vec![format!("-({old} lines)"), format!("+({new} lines)")];
    }
    let patch = diffy::create_patch(old, new).to_string();
    // Two lines name files that have no names here, and the places of lines are places in a part of a file.
    let lines =
        patch.lines().skip(2).filter(|line| !line.starts_with("@@") && !line.starts_with('\\'));
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
        let lines = changes(tool, input);
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
        check("bash", json!({"cmd": "ls"}), &[]);
        check("edit", json!("no object"), &[]);
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
        let text = "x\n".repeat(COMPARED_BYTES_MAX / 2);
        let fits = json!({"old_string": text, "new_string": text});
        assert!(!plain("edit", &fits).iter().any(|line| line.starts_with("-(")));
        let large = json!({"old_string": format!("{text}y"), "new_string": "z"});
        assert_eq!(plain("edit", &large), ["-(32769 lines)", "+(1 lines)"]);
    }
}
