//! Takes a passage that differs from the text in something that cannot be seen: line endings, spaces at line ends, line numbers in
//! front of its lines. It is taken only if exactly one place can be meant, and lines that the edit does not change keep their
//! bytes.

use super::lines::{LineEnding, TextLine, split_lines};
use super::{IgnoredDifference, PassageMistake, ReplaceMode, ReplacedText, replace};

/// Replaces `old` at the only place that it can mean; `None` if there is no such place, or more than one.
pub(super) fn replace_unique(text: &str, old: &str, new: &str) -> Option<ReplacedText> {
    let (old_lf, new_lf) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
    if old.contains('\r')
        && let Some(replaced) = exact(text, &old_lf, &new_lf, IgnoredDifference::LineEndings)
    {
        return Some(replaced);
    }
    if let Some(old) = without_numbers(&old_lf) {
        let new = without_numbers(&new_lf).unwrap_or_else(|| new_lf.clone());
        let ignored = IgnoredDifference::LineNumbers;
        // A new text of which some lines have numbers cannot be told from one that means them.
        let is_clear = !new.lines().any(|line| numbered(line).is_some());
        return is_clear
            .then(|| {
                exact(text, &old, &new, ignored).or_else(|| by_lines(text, &old, &new, ignored))
            })
            .flatten();
    }
    by_lines(text, &old_lf, &new_lf, IgnoredDifference::TrailingWhitespace)
}

/// Replaces `old` where it is whole lines, if it begins with indentation and that is so at one place only.
pub(super) fn replace_whole_lines(text: &str, old: &str, new: &str) -> Option<ReplacedText> {
    if !old.starts_with([' ', '\t']) || old.contains('\r') {
        return None;
    }
    let old_lines: Vec<&str> = old.strip_suffix('\n').unwrap_or(old).split('\n').collect();
    if old_lines.iter().all(|line| line.trim().is_empty()) {
        return None;
    }
    let lines = split_lines(text);
    let start = only_place(&lines, &old_lines, |file, wanted| file == wanted)?;
    write_lines(&lines, start, old, new, IgnoredDifference::PartialLines)
}

/// Returns the mistake in how a passage is written that is not in the text.
pub(super) fn mistake(text: &str, old: &str) -> Option<PassageMistake> {
    if without_numbers(old).is_some() {
        return Some(PassageMistake::LineNumbers);
    }
    if !old.contains("\\n") {
        return None;
    }
    let unescaped = old.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"");
    let lines: Vec<&str> = unescaped.split('\n').map(str::trim_end).collect();
    let found = split_lines(text);
    let matches = |window: &[TextLine<'_>]| {
        window.iter().zip(&lines).all(|(file, wanted)| file.text.trim() == wanted.trim())
    };
    let is_there = text.contains(&unescaped) || found.windows(lines.len()).any(matches);
    is_there.then_some(PassageMistake::EscapedLineBreaks)
}

/// Replaces a passage that is there exactly once.
fn exact(text: &str, old: &str, new: &str, ignored: IgnoredDifference) -> Option<ReplacedText> {
    let replaced = replace(text, old, new, ReplaceMode::One);
    replaced.ok().map(|replaced| ReplacedText { ignored: Some(ignored), ..replaced })
}

/// Replaces whole lines that differ from those of the passage only in whitespace at their ends.
fn by_lines(text: &str, old: &str, new: &str, ignored: IgnoredDifference) -> Option<ReplacedText> {
    let old_lines: Vec<&str> = old.strip_suffix('\n').unwrap_or(old).split('\n').collect();
    if old_lines.iter().all(|line| line.trim().is_empty()) {
        return None;
    }
    let lines = split_lines(text);
    let same = |file: &str, wanted: &str| file.trim_end() == wanted.trim_end();
    let start = only_place(&lines, &old_lines, same)?;
    write_lines(&lines, start, old, new, ignored)
}

/// Returns the index of the only line at which these lines begin.
fn only_place(
    lines: &[TextLine<'_>],
    wanted: &[&str],
    same: impl Fn(&str, &str) -> bool,
) -> Option<usize> {
    let mut places = lines.windows(wanted.len()).enumerate().filter(|(_, window)| {
        window.iter().zip(wanted).all(|(file, wanted)| same(file.text, wanted))
    });
    match (places.next(), places.next()) {
        (Some((start, _)), None) => Some(start),
        (Some(_), Some(_)) | (None, _) => None,
    }
}

/// Writes the new lines in place of the old ones. Lines that both have at the beginning or at the end keep their bytes.
fn write_lines(
    lines: &[TextLine<'_>],
    start: usize,
    old: &str,
    new: &str,
    ignored: IgnoredDifference,
) -> Option<ReplacedText> {
    let ends_line = old.ends_with('\n');
    let old_lines: Vec<&str> = old.strip_suffix('\n').unwrap_or(old).split('\n').collect();
    // Without a line break at the end of the new text, the line that follows would be joined to it.
    let new_lines: Vec<&str> = match (ends_line, new.strip_suffix('\n')) {
        (true, Some(new)) => new.split('\n').collect(),
        (true, None) if new.is_empty() => Vec::new(),
        (true, None) => return None,
        (false, _) => new.split('\n').collect(),
    };
    let same = |one: &str, other: &str| one.trim_end() == other.trim_end();
    let head = old_lines.iter().zip(&new_lines).take_while(|(old, new)| same(old, new)).count();
    let room = old_lines.len().min(new_lines.len()) - head;
    let tail = old_lines.iter().rev().zip(new_lines.iter().rev());
    let tail = tail.take_while(|(old, new)| same(old, new)).count().min(room);
    if head + tail == old_lines.len() && head + tail == new_lines.len() {
        // Nothing that can be seen would change.
        return None;
    }
    let end = start + old_lines.len();
    let replaced = lines.get(start..end)?;
    let around = replaced.iter().find_map(|line| line.ending).unwrap_or(LineEnding::Lf);
    let mut text = String::new();
    let push = |text: &mut String, line: &TextLine<'_>| {
        text.push_str(line.text);
        text.push_str(line.ending.map_or("", LineEnding::as_str));
    };
    lines.get(..start + head)?.iter().for_each(|line| push(&mut text, line));
    let middle = new_lines.get(head..new_lines.len() - tail)?;
    // The last line of a file may have no ending; what follows it needs one.
    let last_ending = replaced.last().and_then(|line| line.ending);
    for (place, line) in middle.iter().enumerate() {
        text.push_str(line);
        let is_last = tail == 0 && place + 1 == middle.len();
        let ending = if is_last { last_ending } else { Some(around) };
        text.push_str(ending.map_or("", LineEnding::as_str));
    }
    lines.get(end - tail..)?.iter().for_each(|line| push(&mut text, line));
    Some(ReplacedText {
        text,
        replacements: 1,
        first_changed_line: start + head + 1,
        ignored: Some(ignored),
    })
}

/// Returns a passage without the numbers in front of its lines; `None` if they are not there, or do not count up.
fn without_numbers(passage: &str) -> Option<String> {
    let body = passage.strip_suffix('\n').unwrap_or(passage);
    let mut expected = None;
    let mut plain = String::with_capacity(passage.len());
    for (place, line) in body.split('\n').enumerate() {
        let (number, rest) = numbered(line)?;
        if expected.is_some_and(|expected| expected != number) {
            return None;
        }
        expected = Some(number.checked_add(1)?);
        if place > 0 {
            plain.push('\n');
        }
        plain.push_str(rest);
    }
    if passage.ends_with('\n') {
        plain.push('\n');
    }
    Some(plain)
}

/// Returns the number in front of a line as tools write it, and the line: `   12\tx`, `12→x`, `12|x`, `12: x`, `a.rs:12:x`.
fn numbered(line: &str) -> Option<(u64, &str)> {
    let trimmed = line.trim_start_matches(' ');
    let digits = trimmed.find(|one: char| !one.is_ascii_digit()).unwrap_or(trimmed.len());
    let (number, rest) = trimmed.split_at_checked(digits)?;
    if let Ok(number) = number.parse() {
        let rest = match rest.chars().next() {
            Some('\t' | '→') => rest.strip_prefix(['\t', '→'])?,
            Some('|') => rest.strip_prefix("| ").or_else(|| rest.strip_prefix('|'))?,
            Some(':') => rest.strip_prefix(": ").or_else(|| rest.strip_prefix(':'))?,
            None => "",
            Some(_) => return None,
        };
        return Some((number, rest));
    }
    // A line of grep begins with the path.
    let (path, behind) = line.split_once(':')?;
    let (number, rest) = behind.split_once(':')?;
    let is_path = !path.is_empty() && !path.contains(char::is_whitespace);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_path && is_number).then(|| Some((number.parse().ok()?, rest)))?
}

#[cfg(test)]
mod tests {
    use super::super::{ReplaceError, replace_leniently};
    use super::*;

    fn check(text: &str, old: &str, new: &str, expect: Option<(&str, IgnoredDifference)>) {
        let replaced = replace_leniently(text, old, new, ReplaceMode::One);
        let found = replaced.as_ref().ok().map(|it| (it.text.as_str(), it.ignored));
        let expect = expect.map(|(text, ignored)| (text, Some(ignored)));
        assert_eq!(found, expect, "for {old:?} in {text:?}");
    }

    #[test]
    fn spaces_at_line_ends_are_looked_through_at_one_place() {
        let ignored = IgnoredDifference::TrailingWhitespace;
        let text = "a  \nb\nc\t\n";
        check(text, "a\nb\n", "a\nx\n", Some(("a  \nx\nc\t\n", ignored)));
        check(text, "a\nb", "a\nx\ny", Some(("a  \nx\ny\nc\t\n", ignored)));
        check("a \r\nb\r\n", "a\nb", "x\nb", Some(("x\r\nb\r\n", ignored)));
        check("a\nb", "a \nb ", "a\nc", Some(("a\nc", ignored)));
        check("a\nb", "a \nb ", "a\nc\nd", Some(("a\nc\nd", ignored)));
        // Two places, parts of lines, and nothing that can be seen.
        check("a \nb\na\t\nb\n", "a\nb\n", "x\n", None);
        check("xa \nb\n", "a\nb\n", "y\n", None);
        check("a \n\n", "a\n\n", "a\t\n\n", None);
        check("x\n\t\n", " \n", "y\n", None);
    }

    #[test]
    fn line_endings_are_looked_through() {
        let ignored = IgnoredDifference::LineEndings;
        check("a\nb\n", "a\r\nb\r\n", "x\r\ny\r\n", Some(("x\ny\n", ignored)));
        check("a\nb\na\nb\n", "a\r\nb", "x", None);
    }

    #[test]
    fn line_numbers_are_left_out_if_they_count_up() {
        let ignored = IgnoredDifference::LineNumbers;
        let text = "def a():\n    x = 1\n    y = 2\n";
        let expect = Some(("def a():\n    x = 3\n    y = 2\n", ignored));
        check(text, "     2\t    x = 1\n     3\t    y = 2", "    x = 3\n    y = 2", expect);
        check(text, "2→    x = 1\n3→    y = 2", "2→    x = 3\n3→    y = 2", expect);
        check(text, "2:     x = 1", "    x = 3", expect);
        check(text, "a.py:2:    x = 1", "    x = 3", expect);
        check("a\n\nb\n", "1\ta\n2\n3\tb\n", "a\n\nc\n", Some(("a\n\nc\n", ignored)));
        // The numbers do not count up, are on some lines only, or on some new lines only.
        check(text, "2\t    x = 1\n4\t    y = 2", "z", None);
        check(text, "2\t    x = 1\n    y = 2", "z", None);
        check(text, "2\t    x = 1\n3\t    y = 2", "2\t    x = 3\n    y = 2", None);
        // The same line at two places.
        check("x\ny\nx\n", "1\tx", "z", None);
    }

    #[test]
    fn indentation_picks_the_place_where_the_passage_is_a_whole_line() {
        let ignored = IgnoredDifference::PartialLines;
        let text = "if a:\n        x()\nelse:\n    x()\n";
        check(text, "    x()", "    y()", Some(("if a:\n        x()\nelse:\n    y()\n", ignored)));
        check(text, "    x()\n", "", Some(("if a:\n        x()\nelse:\n", ignored)));
        check(text, "x()", "y()", None);
        check("    x()\n    x()\n", "    x()", "y", None);
        check("    x();\n        x();\n", "    x()", "y", None);
    }

    #[test]
    fn a_mistake_in_the_writing_is_named() {
        let check = |text: &str, old: &str, expect: Option<PassageMistake>| {
            assert_eq!(mistake(text, old), expect, "for {old:?}");
            let replaced = replace_leniently(text, old, "new", ReplaceMode::One);
            let named = match &replaced {
                Err(ReplaceError::Miswritten { mistake, .. }) => Some(*mistake),
                _ => None,
            };
            assert_eq!(named, expect, "for {old:?}");
        };
        let escaped = Some(PassageMistake::EscapedLineBreaks);
        check("a\nb\n", "a\\nb", escaped);
        check("def a():\n\tb\n", "def a():\\n\\tb", escaped);
        check("a\nb\n", "a\\nc", None);
        check("a\nb\n", "c", None);
        check("a\nb\na\n", "1\tzzz", Some(PassageMistake::LineNumbers));
    }
}
