//! Text on its way into PostgreSQL and back. A text there can hold every character but U+0000, and what a model or a driver
//! names may hold that too; so it is written as two others. JSON never holds either of the two as they are, so it is
//! stored as it is.

use std::borrow::Cow;

/// Announces a replaced character: a control character that already means «substitute».
const MARK: char = '\u{1A}';
const NUL: char = '0';
const MARK_ITSELF: char = '1';

/// Returns the text as it is stored.
pub(super) fn stored(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', MARK]) {
        return Cow::Borrowed(text);
    }
    let mut stored = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\0' => stored.extend([MARK, NUL]),
            MARK => stored.extend([MARK, MARK_ITSELF]),
            other => stored.push(other),
        }
    }
    Cow::Owned(stored)
}

/// Returns the text that was stored so. A mark that announces nothing comes from another program, and stays.
pub(super) fn restored(text: String) -> String {
    if !text.contains(MARK) {
        return text;
    }
    let mut restored = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        let replaced = match (character, rest.peek()) {
            (MARK, Some(&NUL)) => Some('\0'),
            (MARK, Some(&MARK_ITSELF)) => Some(MARK),
            _ => None,
        };
        if replaced.is_some() {
            rest.next();
        }
        restored.push(replaced.unwrap_or(character));
    }
    restored
}
