//! Servers' texts on one line, for display in names and messages.

use haft_contract::{clean, cut};

/// Returns a text on one line, without control characters and with at most `chars_max` characters.
pub(crate) fn one_line(text: &str, chars_max: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    cut(&clean(&words.join(" ")), chars_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_one() {
        assert_eq!(one_line(" a\n  b\u{7} c\u{200b} ", 9), "a b c");
        assert_eq!(one_line("a\nb\nc", 3), "a b…");
    }
}
