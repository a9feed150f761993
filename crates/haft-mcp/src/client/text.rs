//! Text of servers, before anybody reads it: without control characters, and no longer than it may be.

/// Returns a text without the characters that would do something to a terminal, or that models read and people do not see.
pub(super) fn clean(text: &str) -> String {
    let is_kept = |char: &char| match char {
        '\n' | '\t' => true,
        char => !char.is_control() && !is_hidden(*char),
    };
    text.chars().filter(is_kept).collect()
}

/// Returns whether a character has no shape of its own, or turns the direction of others. Joiners and the variants of signs
/// stay, which scripts and signs are made of.
fn is_hidden(char: char) -> bool {
    matches!(
        char,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns the beginning of a text, of so many characters at most, and whether that is not all of it in `…`.
pub(super) fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Returns the end of a text, of so many bytes at most.
pub(super) fn end_of(text: &str, bytes_max: usize) -> &str {
    let from = text.ceil_char_boundary(text.len().saturating_sub(bytes_max));
    text.get(from..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cleaned_and_cut_between_characters() {
        assert_eq!(clean("a\u{1b}[31mb\r\n\tc\u{0}\u{85}"), "a[31mb\n\tc");
        let smuggled: String =
            "do".bytes().map(|byte| char::from_u32(0xe0000 + u32::from(byte)).unwrap()).collect();
        assert_eq!(clean(&format!("safe{smuggled}\u{200b}\u{202e}\u{2066}\u{feff}.")), "safe.");
        assert_eq!(
            clean("\u{646}\u{200c}\u{647} \u{2764}\u{fe0f}"),
            "\u{646}\u{200c}\u{647} \u{2764}\u{fe0f}"
        );
        assert_eq!(cut("ääää", 4), "ääää");
        assert_eq!(cut("äääää", 4), "ääää…");
        assert_eq!(end_of("ääb", 2), "b");
        assert_eq!(end_of("ääb", 3), "äb");
    }
}
