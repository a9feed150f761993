//! Converts text in the character sets that `read` takes to UTF-8: UTF-16 with a mark, and Latin-1 with the signs that Windows
//! adds. Nothing here guesses between other character sets: their text is readable only after a conversion by hand.

/// The characters of windows-1252 for the bytes 0x80 to 0x9f. Latin-1 has control characters there, which no text uses.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// A text, and the character set that it was converted from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConvertedText {
    pub(crate) text: String,
    /// `None` if it was UTF-8 already.
    pub(crate) from: Option<&'static str>,
}

/// Returns whether a file starts with the mark of UTF-16.
pub(crate) fn has_utf_16_mark(start: &[u8]) -> bool {
    start.starts_with(&[0xff, 0xfe]) || start.starts_with(&[0xfe, 0xff])
}

/// Returns the text of a file or of a part of one, or `None` if it is not text.
pub(crate) fn to_utf_8(contents: Vec<u8>) -> Option<ConvertedText> {
    let from_bytes: Option<fn([u8; 2]) -> u16> = match contents.as_slice() {
        [0xff, 0xfe, ..] => Some(u16::from_le_bytes),
        [0xfe, 0xff, ..] => Some(u16::from_be_bytes),
        _ => None,
    };
    if let Some(from_bytes) = from_bytes {
        let (pairs, _) = contents.as_chunks::<2>();
        let units = pairs.iter().skip(1).map(|pair| from_bytes(*pair));
        let text = char::decode_utf16(units).map(|one| one.unwrap_or('\u{fffd}')).collect();
        return Some(ConvertedText { text, from: Some("UTF-16") });
    }
    let bytes = match String::from_utf8(contents) {
        Ok(text) => return Some(ConvertedText { text, from: None }),
        Err(err) => err.into_bytes(),
    };
    let is_text = |byte: &u8| *byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b);
    let is_latin_1 = !bytes.iter().any(|byte| (0x80..0xa0).contains(byte));
    let text = bytes.iter().all(is_text).then(|| bytes.iter().map(|byte| character(*byte)))?;
    let from = if is_latin_1 { "Latin-1" } else { "windows-1252" };
    Some(ConvertedText { text: text.collect(), from: Some(from) })
}

fn character(byte: u8) -> char {
    let special = byte.checked_sub(0x80).and_then(|at| WINDOWS_1252.get(usize::from(at)));
    special.copied().unwrap_or(char::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_other_character_sets_becomes_utf_8() {
        let check = |contents: &[u8], expect: Option<(&str, Option<&'static str>)>| {
            let found = to_utf_8(contents.to_vec());
            let expect = expect.map(|(text, from)| ConvertedText { text: text.to_owned(), from });
            assert_eq!(found, expect, "{contents:?}");
        };
        check("é".as_bytes(), Some(("é", None)));
        check(b"", Some(("", None)));
        check(b"caf\xe9\n", Some(("café\n", Some("Latin-1"))));
        check(b"\x93caf\xe9\x94 \x80", Some(("“café” €", Some("windows-1252"))));
        check(b"\xff\xfea\0\xe9\0=\xd8\0\xde", Some(("aé😀", Some("UTF-16"))));
        check(b"\xfe\xff\0a\0\xe9", Some(("aé", Some("UTF-16"))));
        check(b"\xff\xfe\0\xd8a\0", Some(("\u{fffd}a", Some("UTF-16"))));
        check(b"\xe9\x01", None);
    }
}
