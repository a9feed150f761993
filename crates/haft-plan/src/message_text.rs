//! Text of others inside a message: cut, cleaned and listed.

use crate::limits::{FOUND_CHARS_MAX, NAMES_LISTED_MAX};

/// Cuts text that a message repeats, and takes control characters out of it.
pub(crate) fn shortened(text: &str) -> String {
    let mut short: String = text
        .chars()
        .take(FOUND_CHARS_MAX)
        .map(|one| if one.is_control() { ' ' } else { one })
        .collect();
    if text.chars().nth(FOUND_CHARS_MAX).is_some() {
        short.push('…');
    }
    short
}

/// Lists names for a message: `a, b, c and 4 more`.
pub(crate) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    let mut beyond = 0_usize;
    for (place, name) in names.enumerate() {
        if place >= NAMES_LISTED_MAX {
            beyond += 1;
            continue;
        }
        let comma = if place == 0 { "" } else { ", " };
        text.push_str(comma);
        text.push_str(&shortened(name));
    }
    if beyond > 0 {
        text.push_str(&format!(" and {beyond} more"));
    }
    text
}
