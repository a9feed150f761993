//! Folds lines between words, so that the terminal never breaks a word. Escape sequences take no room.

use unicode_width::UnicodeWidthChar as _;

const ESCAPE: char = '\u{1b}';

/// Returns a text whose lines have at most so many columns. A continued line begins with the indent. Only a word that is longer
/// than a line is broken.
pub(super) fn fold_text(text: &str, columns: usize, indent: &str) -> String {
    // A deep indent would leave no room for the words.
    let indent = if text_columns(indent) > columns / 2 { "" } else { indent };
    let lines: Vec<String> =
        text.split('\n').map(|line| fold_line(line, columns, indent)).collect();
    lines.join("\n")
}

fn fold_line(line: &str, columns: usize, indent: &str) -> String {
    let mut folded = String::with_capacity(line.len());
    let mut column = 0;
    // The last gap between words of this line: where it is, and the column after it.
    let mut gap: Option<(usize, usize)> = None;
    let mut has_word = false;
    let mut is_continued = false;
    let mut rest = line.chars();
    while let Some(character) = rest.next() {
        if character == ESCAPE {
            folded.push(character);
            for part in rest.by_ref() {
                folded.push(part);
                if part.is_ascii_alphabetic() {
                    break;
                }
            }
            continue;
        }
        let is_space = character == ' ';
        if is_space && is_continued && !has_word {
            continue;
        }
        let width = character.width().unwrap_or(0);
        if column + width > columns {
            is_continued = true;
            match gap.take() {
                _ if is_space => {
                    folded.push('\n');
                    folded.push_str(indent);
                    column = text_columns(indent);
                    has_word = false;
                    continue;
                }
                Some((place, after)) => {
                    folded.replace_range(place..=place, &format!("\n{indent}"));
                    column = text_columns(indent) + (column - after);
                }
                None => {
                    folded.push('\n');
                    folded.push_str(indent);
                    column = text_columns(indent);
                }
            }
        }
        folded.push(character);
        column += width;
        if !is_space {
            has_word = true;
        } else if has_word {
            gap = Some((folded.len() - 1, column));
        }
    }
    folded
}

/// Returns the columns of a text on one line.
pub(super) fn text_columns(text: &str) -> usize {
    let mut columns = 0;
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if character == ESCAPE {
            // Skips to the end of the sequence.
            let _ = rest.find(char::is_ascii_alphabetic);
        } else {
            columns += character.width().unwrap_or(0);
        }
    }
    columns
}

/// Returns the beginning of a line that fits so many columns, with `…` for the rest. The line has no escape sequences.
pub(super) fn cut_line(line: &str, columns: usize) -> String {
    if text_columns(line) <= columns {
        return line.to_owned();
    }
    let mut used = 1;
    let fits = |character: &char| {
        used += character.width().unwrap_or(0);
        used <= columns
    };
    let mut shown: String = line.chars().take_while(fits).collect();
    shown.push('…');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_folded_between_words() {
        let check = |text: &str, columns: usize, indent: &str, expect: &[&str]| {
            assert_eq!(fold_text(text, columns, indent).split('\n').collect::<Vec<_>>(), expect);
        };
        check("one two three", 8, "", &["one two", "three"]);
        check("one two three", 7, "", &["one two", "three"]);
        check("- one two three", 9, "  ", &["- one two", "  three"]);
        check("one two", 7, "", &["one two"]);
        check("a  b", 1, "", &["a", "b"]);
        check("averylongword", 5, "", &["avery", "longw", "ord"]);
        check("x averylongword", 5, "", &["x", "avery", "longw", "ord"]);
        check("    code", 8, "", &["    code"]);
        check("one\ntwo three", 5, "", &["one", "two", "three"]);
        check("漢字漢字", 4, "", &["漢字", "漢字"]);
        check("\u{1b}[1mone two\u{1b}[0m", 4, "", &["\u{1b}[1mone", "two\u{1b}[0m"]);
        check("", 4, "", &[""]);
    }

    #[test]
    fn every_line_fits_and_no_word_is_lost() {
        let text = "The quick brown fox jumps over the lazy dog, and then some-more words.";
        for columns in 12..text.len() + 2 {
            let folded = fold_text(text, columns, "  ");
            assert!(
                folded.lines().all(|line| text_columns(line) <= columns),
                "{columns}: {folded}"
            );
            let words: Vec<&str> = folded.split_whitespace().collect();
            assert_eq!(words, text.split_whitespace().collect::<Vec<_>>(), "{columns}");
        }
    }

    #[test]
    fn a_line_is_cut_to_its_columns() {
        let check = |line: &str, columns: usize, expect: &str| {
            assert_eq!(cut_line(line, columns), expect);
        };
        check("abc", 3, "abc");
        check("abcd", 3, "ab…");
        check("漢字漢", 4, "漢…");
    }
}
