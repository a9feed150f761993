//! Decodes arbitrary bytes as a page and reads those that are text: nothing panics, and what comes out is no longer than
//! what went in can be.
#![no_main]

use haft_reader::charset::decode;
use haft_reader::{FetchedPage, PageKind, read_page};
use libfuzzer_sys::fuzz_target;

/// Bytes of UTF-8 that one byte of another character set can become.
const GROWTH_MAX: usize = 3;
/// Bytes that a line adds to a list.
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
    let page = FetchedPage { bytes, content_type, url: "https://a.example.jp/b?c" };
    let decoded = decode(&page, PageKind::Html);
    assert!(decoded.text.len() <= bytes.len() * GROWTH_MAX + ROOM);
    // Libraries of others read HTML and PDF, in a process of their own.
    let Ok(extracted) = read_page(&page) else { return };
    if matches!(extracted.kind, PageKind::Html | PageKind::Pdf) {
        return;
    }
    let text = extracted.text.unwrap_or_default();
    assert!(
        !text.contains(|character: char| character.is_control() && !"\n\t\r".contains(character))
    );
});
