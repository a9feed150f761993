//! Text of servers, before anybody reads it: without control characters, and no longer than it may be.

/// Returns a text without the control characters that would do something to a terminal or hide something from a reader.
pub(crate) fn clean(text: &str) -> String {
    let is_kept = |char: &char| !char.is_control() || matches!(char, '\n' | '\t');
    text.chars().filter(is_kept).collect()
}

/// Returns a text on one line, clean and of so many characters at most.
pub(crate) fn one_line(text: &str, chars_max: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    cut(&clean(&words.join(" ")), chars_max)
}

/// Returns the beginning of a text, of so many characters at most, and whether that is not all of it in `…`.
pub(crate) fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Returns the end of a text, of so many bytes at most.
pub(crate) fn end_of(text: &str, bytes_max: usize) -> &str {
    let from = text.ceil_char_boundary(text.len().saturating_sub(bytes_max));
    text.get(from..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cleaned_and_cut_between_characters() {
        assert_eq!(clean("a\u{1b}[31mb\r\n\tc\u{0}\u{85}"), "a[31mb\n\tc");
        assert_eq!(one_line(" a\n  b\u{7} c ", 9), "a b c");
        assert_eq!(cut("ääää", 4), "ääää");
        assert_eq!(cut("äääää", 4), "ääää…");
        assert_eq!(end_of("ääb", 2), "b");
        assert_eq!(end_of("ääb", 3), "äb");
    }
}
