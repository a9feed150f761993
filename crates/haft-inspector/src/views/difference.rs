//! The difference between two texts, line by line, with the changed words of a line marked.

use crate::limits::{DIFF_BYTES_SHOWN_MAX, MARKED_LINE_CHARS_MAX};
use crate::text::shown;

/// A line of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiffLine {
    /// The name of its style: added, removed, a place, or none.
    pub(crate) style: &'static str,
    /// Its pieces, and whether each is a changed word.
    pub(crate) pieces: Vec<(bool, String)>,
}

/// Returns the lines of a unified difference, and whether the end was left out. The names of the files are left out.
pub(crate) fn lines(unified: &[u8]) -> (Vec<DiffLine>, bool) {
    let is_cut = unified.len() > DIFF_BYTES_SHOWN_MAX;
    let text = String::from_utf8_lossy(unified.get(..DIFF_BYTES_SHOWN_MAX).unwrap_or(unified));
    let all: Vec<&str> = text.lines().skip(2).collect();
    let mut lines = Vec::with_capacity(all.len());
    let mut rest = all.as_slice();
    while let [first, ..] = rest {
        let removed = rest.iter().take_while(|line| line.starts_with('-')).count();
        let behind = rest.get(removed..).unwrap_or_default();
        let added = behind.iter().take_while(|line| line.starts_with('+')).count();
        if removed + added == 0 {
            let style = if first.starts_with('@') { "at" } else { "" };
            lines.push(DiffLine { style, pieces: vec![(false, shown(first))] });
            rest = rest.get(1..).unwrap_or_default();
            continue;
        }
        let (before, after) = (rest.get(..removed), behind.get(..added));
        block(before.unwrap_or_default(), after.unwrap_or_default(), &mut lines);
        rest = behind.get(added..).unwrap_or_default();
    }
    (lines, is_cut)
}

/// Returns the lines of a patch as its author wrote them.
pub(crate) fn patch_lines(patch: &str) -> Vec<DiffLine> {
    let style = |line: &str| match line.as_bytes().first() {
        Some(b'+') => "add",
        Some(b'-') => "del",
        Some(b'@' | b'*') => "at",
        _ => "",
    };
    let line = |line: &str| DiffLine { style: style(line), pieces: vec![(false, shown(line))] };
    patch.lines().map(line).collect()
}

/// Adds removed lines and the lines that replace them. Lines at the same place are compared with each other.
fn block(before: &[&str], after: &[&str], lines: &mut Vec<DiffLine>) {
    let is_paired = before.len() == after.len();
    let marked = |one: &str, other: Option<&&str>| match other {
        Some(other) if is_paired => marks(one, other),
        Some(_) | None => vec![(false, shown(one))],
    };
    for (place, line) in before.iter().enumerate() {
        lines.push(DiffLine { style: "del", pieces: marked(line, after.get(place)) });
    }
    for (place, line) in after.iter().enumerate() {
        lines.push(DiffLine { style: "add", pieces: marked(line, before.get(place)) });
    }
}

/// Returns a line in pieces: what it begins and ends with like the other line, and between them what differs.
fn marks(line: &str, other: &str) -> Vec<(bool, String)> {
    let plain = || vec![(false, shown(line))];
    let (sign, words) = line.split_at(1.min(line.len()));
    let others = words_of(other.get(1..).unwrap_or_default());
    let words = words_of(words);
    if line.chars().count().max(other.chars().count()) > MARKED_LINE_CHARS_MAX {
        return plain();
    }
    let begin = words.iter().zip(&others).take_while(|(one, other)| one == other).count();
    let left = words.len().min(others.len()) - begin;
    let backwards = words.iter().rev().zip(others.iter().rev()).take(left);
    let end = backwards.take_while(|(one, other)| one == other).count();
    let is_word = |word: &&&str| !word.trim().is_empty();
    let shared = words.iter().take(begin).chain(words.iter().rev().take(end));
    // Lines that share no word are different lines.
    if shared.filter(is_word).count() == 0 {
        return plain();
    }
    let middle = words.len() - begin - end;
    let text = |from: usize, count: usize| {
        words.iter().skip(from).take(count).copied().collect::<String>()
    };
    let pieces = [
        (false, shown(&format!("{sign}{}", text(0, begin)))),
        (true, shown(&text(begin, middle))),
        (false, shown(&text(begin + middle, end))),
    ];
    pieces.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

/// Returns the words of a line, and what is between them.
fn words_of(line: &str) -> Vec<&str> {
    let kind = |one: char| match one {
        one if one.is_alphanumeric() || one == '_' => 0,
        one if one.is_whitespace() => 1,
        _ => 2,
    };
    let mut words = Vec::new();
    let mut begin = 0;
    let mut before: Option<i32> = None;
    for (at, one) in line.char_indices() {
        let is_of_word = kind(one) != 2 && before == Some(kind(one));
        if before.is_some() && !is_of_word {
            words.extend(line.get(begin..at));
            begin = at;
        }
        before = Some(kind(one));
    }
    words.extend(line.get(begin..).filter(|word| !word.is_empty()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(unified: &str) -> String {
        let (lines, _) = lines(unified.as_bytes());
        let piece = |(is_marked, text): &(bool, String)| match is_marked {
            true => format!("[{text}]"),
            false => text.clone(),
        };
        let line = |line: &DiffLine| {
            format!("{}|{}\n", line.style, line.pieces.iter().map(piece).collect::<String>())
        };
        lines.iter().map(line).collect()
    }

    #[test]
    fn changed_words_are_marked() {
        let files = "--- a/x\n+++ b/x\n";
        let check =
            |unified: &str, expect: &str| assert_eq!(text(&format!("{files}{unified}")), expect);
        check(
            "@@ -1 +1 @@\n-let a = 1;\n+let b = 1;\n same",
            "at|@@ -1 +1 @@\ndel|-let [a] = 1;\nadd|+let [b] = 1;\n| same\n",
        );
        check("-one\n+two\n", "del|-one\nadd|+two\n");
        check("-a b\n-c d\n+a x\n", "del|-a b\ndel|-c d\nadd|+a x\n");
        check("-a\n+a b\n", "del|-a\nadd|+a[ b]\n");
        check("+<img \u{202e}>\n", "add|+<img \\u{202e}>\n");
        check("-a a\n+a a a\n", "del|-a a\nadd|+a a[ a]\n");
    }

    #[test]
    fn a_long_difference_is_cut() {
        let long = format!("--- a\n+++ b\n{}", "+line\n".repeat(DIFF_BYTES_SHOWN_MAX / 6 + 1));
        assert!(lines(long.as_bytes()).1);
    }
}
