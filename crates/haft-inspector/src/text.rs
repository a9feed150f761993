//! Texts from outside, as a page shows them. Templates escape what HTML means; this module spells out what a reader would not
//! see, or what would turn the direction of the text around it.

use haft_contract::is_invisible;

/// Returns a text with its lines. Invisible characters are spelled out.
pub(crate) fn shown(text: &str) -> String {
    spelled(text, |character| is_invisible(character) || character == '\r')
}

/// Returns a text on one line. Invisible characters and the ends of lines are spelled out.
pub(crate) fn on_one_line(text: &str) -> String {
    spelled(text, |character| is_invisible(character) || matches!(character, '\r' | '\n' | '\t'))
}

fn spelled(text: &str, is_spelled_out: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if !is_spelled_out(character) {
            shown.push(character);
        } else if character.escape_debug().len() > 1 {
            shown.extend(character.escape_debug());
        } else {
            shown.extend(character.escape_unicode());
        }
    }
    shown
}

/// Returns JSON with line breaks. A text that is not JSON stays as it is.
pub(crate) fn pretty(json: &str) -> String {
    let value: Option<serde_json::Value> = serde_json::from_str(json).ok();
    value.and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or(json.to_owned())
}

/// Returns a duration as a person reads it.
pub(crate) fn duration(duration_ms: u64) -> String {
    let (seconds, tenths) = (duration_ms / 1_000, duration_ms % 1_000 / 100);
    match seconds {
        0 => format!("{duration_ms} ms"),
        1..60 => format!("{seconds}.{tenths} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

/// Returns a number with a separator between thousands.
pub(crate) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// Returns the count with its noun.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(count), if count == 1 { one } else { many })
}

/// Returns a text as one segment of a path of a URL, or as a value of a query.
pub(crate) fn url_part(text: &str) -> String {
    let mut part = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            part.push(char::from(byte));
        } else {
            part.push_str(&format!("%{byte:02X}"));
        }
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_sees_everything() {
        assert_eq!(
            shown("a\u{202e}b\u{1b}[2J\u{200b}\nc\t<b>"),
            "a\\u{202e}b\\u{1b}[2J\\u{200b}\nc\t<b>"
        );
        assert_eq!(on_one_line("a\nb\r\t"), "a\\nb\\r\\t");
        assert_eq!(shown("ä e\u{301} \u{200d}"), "ä e\u{301} \u{200d}");
    }

    #[test]
    fn numbers_and_times_are_readable() {
        assert_eq!(number(100_000), "100\u{202f}000");
        assert_eq!(number(999), "999");
        assert_eq!(duration(340), "340 ms");
        assert_eq!(duration(12_340), "12.3 s");
        assert_eq!(duration(245_000), "4 min 5 s");
        assert_eq!(duration(7_260_000), "2 h 1 min");
        assert_eq!(counted(1, "call", "calls"), "1 call");
        assert_eq!(url_part("a b/ü?"), "a%20b%2F%C3%BC%3F");
    }
}
