//! Text of documents that commands write: parts between two lines that mark them, and numbers.

use anyhow::{Context as _, ensure};

/// Replaces what is between the lines `begin` and `end`; the marking lines stay.
pub(crate) fn replace_between(
    text: &str,
    begin: &str,
    end: &str,
    part: &str,
) -> anyhow::Result<String> {
    let missing = |marker: &str| format!("the line `{marker}` is missing");
    let (before, rest) = text.split_once(begin).with_context(|| missing(begin))?;
    let (_, after) = rest.split_once(end).with_context(|| missing(end))?;
    ensure!(!after.contains(begin), "the line `{begin}` occurs twice");
    Ok(format!("{before}{begin}\n\n{}\n\n{end}{after}", part.trim_end()))
}

/// Returns a whole number with a comma before each group of three digits.
pub(crate) fn grouped(number: impl ToString) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!(
            [0, 7, 123, 999, 1_000, 1_234_567].map(grouped),
            ["0", "7", "123", "999", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn only_the_marked_part_changes() {
        let replaced = replace_between("a\n<b>\nold\n<e>\nc\n", "<b>", "<e>", "new\n");
        assert_eq!(replaced.expect("both markers exist"), "a\n<b>\n\nnew\n\n<e>\nc\n");
        for text in ["a", "<b> a", "<e> <b>", "<b> <e> <b>"] {
            assert!(replace_between(text, "<b>", "<e>", "new").is_err(), "{text}");
        }
    }
}
