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

/// Returns a text in which control characters are spelled out, and those that turn the direction of writing. Tabs and line
/// feeds stay.
///
/// ```
/// assert_eq!(haft_contract::escape_controls("a\u{1b}[2J\u{202e}b\n"), "a\\u{1b}[2J\\u{202e}b\n");
/// ```
pub fn escape_controls(text: &str) -> String {
    let is_spelled_out = |character: char| match character {
        '\n' | '\t' => false,
        // These turn the direction of writing.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        _ => character.is_control(),
    };
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_spelled_out(character) {
            shown.extend(character.escape_debug());
        } else {
            shown.push(character);
        }
    }
    shown
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
    fn what_would_control_a_terminal_is_spelled_out() {
        let check = |text: &str, expect: &str| {
            assert_eq!(escape_controls(text), expect);
            assert_eq!(escape_controls(expect), expect, "what is visible stays as it is");
        };
        check("plain\ttext ä \"\\\" e\u{301}\n", "plain\ttext ä \"\\\" e\u{301}\n");
        check("\u{1b}[31mred\r\n", "\\u{1b}[31mred\\r\n");
        check("\u{9b}2J\u{7f}\u{8}", "\\u{9b}2J\\u{7f}\\u{8}");
        check("gpj.\u{202e}exe\u{2066}", "gpj.\\u{202e}exe\\u{2066}");
    }

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
