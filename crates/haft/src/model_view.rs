//! How a front end shows answers to a model: the bound on their length, and the parts of a longer text that are shown. Other
//! callers get what the contract of the tool allows.

use haft_contract::ToolId;

/// Longest answer that a model is shown, in characters, if the user configures no other bound.
///
/// Limit (calls): the beginning and the end are shown, with where the rest is. An output that a tool promises in a form is not
/// cut.
pub const SHOWN_CHARS_DEFAULT: usize = 40_000;
/// Smallest bound that can be configured, in characters.
///
/// Limit (calls): the setting is refused.
pub const SHOWN_CHARS_MIN: usize = 1_000;

/// Characters that are left for the line about the part that is not shown.
const GAP_CHARS: usize = 300;

/// How a front end shows answers to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelView {
    /// The longest answer that is shown, in characters.
    pub shown_chars_max: usize,
}

impl Default for ModelView {
    fn default() -> Self {
        Self { shown_chars_max: SHOWN_CHARS_DEFAULT }
    }
}

/// The parts of a text that are shown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TextParts<'t> {
    /// The beginning.
    pub(crate) head: &'t str,
    /// The end, if it is shown.
    pub(crate) tail: Option<&'t str>,
}

impl TextParts<'_> {
    /// Returns the size of the parts in bytes.
    pub(crate) fn shown_bytes(&self) -> usize {
        self.head.len() + self.tail.map_or(0, str::len)
    }
}

impl ModelView {
    /// Returns whether a text is longer than what is shown.
    pub(crate) fn is_too_long(self, text: &str) -> bool {
        text.len() > self.shown_chars_max && text.chars().count() > self.shown_chars_max
    }

    /// Returns the beginning of a text, if possible with a whole last line.
    pub(crate) fn head(self, text: &str) -> &str {
        first_chars(text, self.room())
    }

    /// Returns the beginning of a text whose end is shown as well, if possible with a whole last line.
    pub(crate) fn head_beside_tail(self, text: &str) -> &str {
        first_chars(text, self.room() - self.room() / 3)
    }

    /// Returns the end of a text whose beginning is shown as well, if possible with a whole first line.
    pub(crate) fn tail(self, text: &str) -> &str {
        last_chars(text, self.room() / 3)
    }

    /// Returns two thirds of what is shown from the beginning of a text, and one third from its end. The parts together have at
    /// most `bytes_max` bytes.
    pub(crate) fn head_and_tail(self, text: &str, bytes_max: usize) -> TextParts<'_> {
        let tail_chars = self.room() / 3;
        let head = first_bytes(self.head_beside_tail(text), bytes_max);
        let rest = text.get(head.len()..).unwrap_or_default();
        let tail = last_chars(rest, tail_chars);
        let is_room = head.len() + tail.len() <= bytes_max;
        TextParts { head, tail: Some(if is_room { tail } else { "" }) }
    }

    /// Returns how many characters of a cut answer are shown.
    pub(crate) fn room(self) -> usize {
        self.shown_chars_max.saturating_sub(GAP_CHARS)
    }
}

/// Returns a tool's name as a model calls it: no front end can publish a name with a dot to a model.
pub(crate) fn published_name(id: &ToolId, view: Option<ModelView>) -> String {
    match view {
        Some(_) => id.wire_name(),
        None => id.to_string(),
    }
}

fn first_bytes(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or(text)
}

/// Returns the beginning of a text, at most `chars_max` characters, up to the last line break if there is one.
fn first_chars(text: &str, chars_max: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(chars_max) else { return text };
    let head = text.get(..end).unwrap_or(text);
    match head.rfind('\n') {
        Some(at) => head.get(..=at).unwrap_or(head),
        None => head,
    }
}

/// Returns the end of a text, at most `chars_max` characters, from a line break on if there is one.
fn last_chars(text: &str, chars_max: usize) -> &str {
    if chars_max == 0 {
        return "";
    }
    let Some((start, _)) = text.char_indices().rev().nth(chars_max - 1) else { return text };
    let tail = text.get(start..).unwrap_or(text);
    let is_line_start = text.get(..start).is_some_and(|before| before.ends_with('\n'));
    match tail.find('\n').filter(|at| !is_line_start && *at + 1 < tail.len()) {
        Some(at) => tail.get(at + 1..).unwrap_or(tail),
        None => tail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_shown_by_whole_lines_from_both_ends() {
        let view = ModelView { shown_chars_max: GAP_CHARS + 12 };
        let text = (1..=100).map(|number| format!("{number}\n")).collect::<String>();
        let parts = view.head_and_tail(&text, 1_000);
        assert_eq!(parts, TextParts { head: "1\n2\n3\n4\n", tail: Some("100\n") });
        assert_eq!(view.head(&text), "1\n2\n3\n4\n5\n6\n");
        assert_eq!(view.head_and_tail(&text, 4).tail, Some(""));
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let view = ModelView { shown_chars_max: GAP_CHARS + 6 };
        let parts = view.head_and_tail("äöüßéèêë", 1_000);
        assert_eq!(parts, TextParts { head: "äöüß", tail: Some("êë") });
        assert!(!view.is_too_long("short"));
        assert!(view.is_too_long(&"x".repeat(GAP_CHARS + 7)));
        assert!(!view.is_too_long(&"ä".repeat(GAP_CHARS + 6)));
    }
}
