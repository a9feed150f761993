//! The change that a call makes to a file, as a few coloured lines with their numbers: the old and the new text of its input, in
//! their place in the file. `haft diff` shows all changes of a session.

use clap::builder::styling::{AnsiColor, Style};
use haft_contract::{ToolKind, cut};
use haft_patch::DescribedChange;
use serde_json::Value;

use super::limits::{
    CHANGE_CONTEXT_LINES, CHANGE_LINE_CHARS_MAX, CHANGE_LINES_MAX, COMPARED_BYTES_MAX,
    COMPARED_LINES_MAX,
};

const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const DIM: Style = Style::new().dimmed();

/// A line of a change.
#[derive(Debug, PartialEq, Eq)]
struct ChangeLine {
    /// Its number, in the new text or, if it was removed, in the old one.
    number: Option<usize>,
    /// The line, after `+`, `-` or a space.
    text: String,
}

/// Returns the lines that show what a call changed. They are empty if the tool does not change files. `before` is the text of
/// the file before the call, if the file existed and could be read.
pub(super) fn change_lines(kind: ToolKind, input: &Value, before: Option<&str>) -> Vec<String> {
    let unnumbered = |text: String| ChangeLine { number: None, text };
    let lines: Vec<ChangeLine> = match described_change(kind, input) {
        Some(DescribedChange::Passage { old, new, .. }) => match before {
            Some(before) if before.contains(old) && !old.is_empty() => {
                let (first, old, new) = match is_everywhere(input) {
                    true => (1, before.to_owned(), before.replace(old, new)),
                    false => surroundings(before, old, new),
                };
                diff_lines(&old, &new, Some(first))
            }
            Some(_) | None => diff_lines(old, new, None),
        },
        Some(DescribedChange::Patch { patch, .. }) => {
            // Frame lines repeat the line of the call, or mean nothing without the file.
            let frame = ["diff ", "index ", "--- ", "*** Begin", "*** End"];
            let is_frame = |line: &&str| frame.iter().any(|it| line.starts_with(it));
            patch
                .lines()
                .filter(|line| !is_frame(line))
                .map(|it| unnumbered(it.to_owned()))
                .collect()
        }
        Some(DescribedChange::Content { new, .. }) => match before {
            Some(before) => {
                // A file keeps its line ends, so the comparison ignores them unless the new text sets them.
                let plain = before.replace("\r\n", "\n");
                let before = if new.contains('\r') { before } else { plain.as_str() };
                let lines = diff_lines(before, new, Some(1));
                match lines.is_empty() {
                    true => vec![unnumbered("(nothing is different)".to_owned())],
                    false => lines,
                }
            }
            None => {
                let line = |(index, line): (usize, &str)| ChangeLine {
                    number: Some(index + 1),
                    text: format!("+{line}"),
                };
                new.lines().enumerate().map(line).collect()
            }
        },
        None => Vec::new(),
    };
    let numbers = lines.iter().take(CHANGE_LINES_MAX).filter_map(|line| line.number);
    let number_chars = numbers.max().map_or(0, |number| number.to_string().len());
    let coloured = |line: &ChangeLine| {
        let style = match line.text.bytes().next() {
            Some(b'+') => ADDED,
            Some(b'-') => REMOVED,
            Some(_) | None => DIM,
        };
        let number = match line.number {
            Some(number) => format!("{number:>number_chars$} "),
            None if number_chars > 0 => " ".repeat(number_chars + 1),
            None => String::new(),
        };
        let text = haft_contract::escape_controls(&cut(&line.text, CHANGE_LINE_CHARS_MAX));
        format!("{DIM}{number}{DIM:#}{style}{text}{style:#}")
    };
    let mut shown: Vec<String> = lines.iter().take(CHANGE_LINES_MAX).map(coloured).collect();
    let more = lines.len().saturating_sub(CHANGE_LINES_MAX);
    if more > 0 {
        shown.push(format!("{DIM}… ({more} more lines){DIM:#}"));
    }
    shown
}

/// Returns the text of the file after the call, if the input and the text before say it.
pub(super) fn text_after(kind: ToolKind, input: &Value, before: Option<&str>) -> Option<String> {
    match (described_change(kind, input)?, before) {
        (DescribedChange::Content { new, .. }, _) => Some(new.to_owned()),
        (DescribedChange::Passage { old, new, .. }, Some(before)) if !old.is_empty() => {
            let count = if is_everywhere(input) { usize::MAX } else { 1 };
            before.contains(old).then(|| before.replacen(old, new, count))
        }
        (DescribedChange::Passage { .. } | DescribedChange::Patch { .. }, _) => None,
    }
}

/// Returns whether each place of the passage is replaced.
fn is_everywhere(input: &Value) -> bool {
    input.get("replace_all").and_then(Value::as_bool).unwrap_or_default()
}

/// Returns a passage before and after it was replaced, with the lines around it, and the number of the first line.
fn surroundings(before: &str, old: &str, new: &str) -> (usize, String, String) {
    let start = before.find(old).unwrap_or_default();
    let end = start + old.len();
    let (head, tail) = (before.get(..start), before.get(end..));
    let (head, tail) = (head.unwrap_or_default(), tail.unwrap_or_default());
    // One more line break than there are lines of context: the first one ends the line before them.
    let lead =
        head.rmatch_indices('\n').nth(CHANGE_CONTEXT_LINES).map_or(0, |(place, _)| place + 1);
    let trail = tail.match_indices('\n').nth(CHANGE_CONTEXT_LINES);
    let trail = trail.map_or(tail.len(), |(place, _)| place + 1);
    let first = head.get(..lead).unwrap_or_default().matches('\n').count() + 1;
    let (lead, trail) =
        (head.get(lead..).unwrap_or_default(), tail.get(..trail).unwrap_or_default());
    (first, format!("{lead}{old}{trail}"), format!("{lead}{new}{trail}"))
}

/// Returns the change that a call's input describes, if the tool changes files.
pub(super) fn described_change(kind: ToolKind, input: &Value) -> Option<DescribedChange<'_>> {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    DescribedChange::from_fields(text).filter(|_| kind == ToolKind::Edit)
}

/// Returns the lines that are different, with those around them. `first` is the number of the first line of both texts.
fn diff_lines(old: &str, new: &str, first: Option<usize>) -> Vec<ChangeLine> {
    let (old_lines, new_lines) = (old.lines().count(), new.lines().count());
    let (bytes, lines) = (old.len().max(new.len()), old_lines.max(new_lines));
    if bytes > COMPARED_BYTES_MAX || lines > COMPARED_LINES_MAX {
        let counted = [format!("-({old_lines} lines)"), format!("+({new_lines} lines)")];
        return counted.into_iter().map(|text| ChangeLine { number: None, text }).collect();
    }
    let mut options = diffy::DiffOptions::new();
    let patch = options.set_context_len(CHANGE_CONTEXT_LINES).create_patch(old, new);
    let mut shown = Vec::new();
    for (index, hunk) in patch.hunks().iter().enumerate() {
        if index > 0 {
            shown.push(ChangeLine { number: None, text: " …".to_owned() });
        }
        let (mut old_number, mut new_number) = (hunk.old_range().start(), hunk.new_range().start());
        for line in hunk.lines() {
            let (number, sign, text) = match line {
                diffy::Line::Context(text) => (new_number, ' ', text),
                diffy::Line::Delete(text) => (old_number, '-', text),
                diffy::Line::Insert(text) => (new_number, '+', text),
            };
            old_number += usize::from(sign != '+');
            new_number += usize::from(sign != '-');
            let number = first.map(|first| first + number.saturating_sub(1));
            let text = format!("{sign}{}", text.trim_end_matches(['\n', '\r']));
            shown.push(ChangeLine { number, text });
        }
    }
    shown
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
        check(
            ToolKind::Edit,
            json!({"path": "a", "content": "x\n\u{1b}y"}),
            &["1 +x", "2 +\\u{1b}y"],
        );
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
        check("one\ntwo\n", "one\nthree\n", &["1  one", "2 -two", "2 +three"]);
        check("one\r\ntwo\r\n", "one\nthree\n", &["1  one", "2 -two", "2 +three"]);
        check("one\n", "one\n", &["(nothing is different)"]);
        check("", "one\n", &["1 +one"]);
    }

    #[test]
    fn a_passage_is_shown_in_its_place() {
        let text: String = (1..=20).map(|number| format!("line {number}\n")).collect();
        let check = |input: Value, expect: &[&str]| {
            let lines = change_lines(ToolKind::Edit, &input, Some(&text));
            let plain = lines.iter().map(|line| anstream::adapter::strip_str(line).to_string());
            assert_eq!(plain.collect::<Vec<_>>(), expect, "{input}");
        };
        let edit = |old: &str, new: &str, replace_all: bool| json!({"path": "a", "old_string": old, "new_string": new, "replace_all": replace_all});
        check(
            edit("line 10\n", "ten\nand more\n", false),
            &[
                " 7  line 7",
                " 8  line 8",
                " 9  line 9",
                "10 -line 10",
                "10 +ten",
                "11 +and more",
                "12  line 11",
                "13  line 12",
                "14  line 13",
            ],
        );
        check(
            edit("e 1\n", "e one\n", false),
            &["1 -line 1", "1 +line one", "2  line 2", "3  line 3", "4  line 4"],
        );
        check(
            edit("e 20", "e twenty", true),
            &["17  line 17", "18  line 18", "19  line 19", "20 -line 20", "20 +line twenty"],
        );
        // The tool found the passage in another way, so its place is not known.
        check(edit("line  3", "three", false), &["-line  3", "+three"]);
    }

    #[test]
    fn what_a_file_says_after_a_call_is_known() {
        let check = |input: Value, before: Option<&str>, expect: Option<&str>| {
            assert_eq!(text_after(ToolKind::Edit, &input, before).as_deref(), expect, "{input}");
        };
        check(json!({"content": "new"}), None, Some("new"));
        check(json!({"old_string": "a", "new_string": "b"}), Some("aa"), Some("ba"));
        let all = json!({"old_string": "a", "new_string": "b", "replace_all": true});
        check(all, Some("aa"), Some("bb"));
        check(json!({"old_string": "x", "new_string": "b"}), Some("aa"), None);
        check(json!({"old_string": "a", "new_string": "b"}), None, None);
        check(json!({"patch": "x"}), Some("aa"), None);
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
        let number = "1 ".len();
        assert_eq!(shown.first().unwrap().chars().count(), number + CHANGE_LINE_CHARS_MAX + 1);
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
