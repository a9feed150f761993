//! Paths as one line of text. A path that would break the line, control a terminal or is not text
//! is quoted as git quotes it.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Returns a path unchanged if it is safe in a line of text, otherwise quoted as git quotes names.
///
/// ```
/// use std::path::Path;
///
/// use haft_snapshot::quote_path;
///
/// assert_eq!(quote_path(Path::new("a b/ä")), "a b/ä");
/// assert_eq!(quote_path(Path::new("a\nb")), r#""a\nb""#);
/// ```
#[must_use]
pub fn quote_path(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.starts_with('"')
        && !text.chars().any(is_unsafe)
    {
        return text.to_owned();
    }
    let mut text = String::from('"');
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' | '\\' => text.extend(['\\', character]),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                character if is_unsafe(character) => {
                    push_octal(&mut text, character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                character => text.push(character),
            }
        }
        push_octal(&mut text, chunk.invalid());
    }
    text.push('"');
    text
}

fn push_octal(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(text, "\\{byte:03o}");
    }
}

/// Returns whether a character would break a line or change the direction of the text.
fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn names_that_are_no_line_of_text_are_quoted() {
        let check = |name: &[u8], expected: &str| {
            assert_eq!(quote_path(Path::new(OsStr::from_bytes(name))), expected);
        };
        check(b"plain/name.txt", "plain/name.txt");
        check(b"it's \\ \"quoted\"", "it's \\ \"quoted\"");
        check(b"\"first", r#""\"first""#);
        check(b"a\nb\tc\\", r#""a\nb\tc\\""#);
        check(b"\x1b[31mred", r#""\033[31mred""#);
        check(b"no\xfftext", r#""no\377text""#);
        check("\u{202e}txt.exe".as_bytes(), r#""\342\200\256txt.exe""#);
    }
}
