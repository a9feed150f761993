//! Text of servers on one line, as names and messages are shown.

use haft_contract::{clean, cut};

/// Returns a text on one line, clean and of so many characters at most.
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
