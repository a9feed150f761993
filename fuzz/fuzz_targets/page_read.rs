//! Reads arbitrary bytes as a page, in the way that may run anywhere: nothing panics, what comes out is no longer than what
//! went in can be, and no invisible character comes through from markup.
#![no_main]

use haft_extract::charset::{Declared, decode};
use haft_extract::crude::strip_tags;
use haft_extract::{Kind, Page, extract_crudely};
use libfuzzer_sys::fuzz_target;

/// Bytes of UTF-8 that one byte of another character set can become.
const GROWTH_MAX: usize = 3;
/// What a line adds to a list.
const ROOM: usize = 8;

const CONTENT_TYPES: [Option<&str>; 8] = [
    None,
    Some("text/html"),
    Some("text/html; charset=iso-2022-jp"),
    Some("text/html; charset=\"gb18030\""),
    Some("text/plain; charset=utf-16le"),
    Some("application/json"),
    Some("application/xml"),
    Some("application/octet-stream"),
];

// The first byte picks what the server says of the rest.
fuzz_target!(|input: &[u8]| {
    let Some((kind, bytes)) = input.split_first() else { return };
    let content_type = CONTENT_TYPES[usize::from(*kind) % CONTENT_TYPES.len()];
    let page = Page { bytes, content_type, url: "https://a.example.jp/b?c" };
    let decoded = decode(bytes, &Declared::of_html(&page));
    assert!(decoded.text.len() <= bytes.len() * GROWTH_MAX + ROOM);
    let stripped = strip_tags(&decoded.text);
    assert!(stripped.text.len() <= (decoded.text.len() + ROOM) * GROWTH_MAX);
    let Ok(extracted) = extract_crudely(&page) else { return };
    let text = extracted.text.unwrap_or_default();
    if extracted.kind == Kind::Html {
        assert!(!text.contains(['\0', '\u{200b}', '\u{202e}', '\u{e0041}']));
    }
    assert!(
        !text.contains(|character: char| character.is_control() && !"\n\t\r".contains(character))
    );
});
