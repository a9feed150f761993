//! Parts of documents that a command writes, between two lines that mark them.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_marked_part_changes() {
        let replaced = replace_between("a\n<b>\nold\n<e>\nc\n", "<b>", "<e>", "new\n");
        assert_eq!(replaced.expect("both markers exist"), "a\n<b>\n\nnew\n\n<e>\nc\n");
        for text in ["a", "<b> a", "<e> <b>", "<b> <e> <b>"] {
            assert!(replace_between(text, "<b>", "<e>", "new").is_err(), "{text}");
        }
    }
}
