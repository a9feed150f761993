//! Text from outside, before a person or a model reads it. It can contain invisible characters. They can tell a model things
//! that a person does not see, and they can change the direction of text on a terminal. It can also have any length. The
//! caller decides where it shows the rest, and how long that may be.

/// Returns whether a character is invisible: a control character other than a tab and the ends of lines, one that turns the
/// direction of text, or a letter that is not drawn. Those that join or part letters of some scripts, and the variants of
/// signs, are not meant.
///
/// ```
/// let text: String = "a\u{202e}b\u{e0041}\u{1b}[2J\n".chars().filter(|it| !haft_contract::is_invisible(*it)).collect();
/// assert_eq!(text, "ab[2J\n");
/// ```
pub fn is_invisible(character: char) -> bool {
    let is_control = character.is_control() && !matches!(character, '\n' | '\t' | '\r');
    is_control
        || matches!(
            character,
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

/// Returns a text without its invisible characters; its lines end in line feeds alone.
pub fn clean(text: &str) -> String {
    text.chars().filter(|it| *it != '\r' && !is_invisible(*it)).collect()
}

/// Returns the beginning of a text, of so many characters at most, and whether that is not all of it in `…`.
pub fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Returns the end of a text, of so many bytes at most.
pub fn end_of(text: &str, bytes_max: usize) -> &str {
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
