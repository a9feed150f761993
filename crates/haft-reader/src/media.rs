//! What the bytes of a page are: by what they begin with, where that is beyond doubt, then by what the server says of them,
//! then by how they look. Servers that do not know say `application/octet-stream` or nothing, and some lie.

use crate::charset::looks_like_utf_16;
use crate::page::{FetchedPage, PageKind};

/// What is looked at to tell text from anything else, in bytes.
const LOOK_BYTES: usize = 4_096;
/// Bytes among which one that no text has is a slip, further on.
const CONTROLS_ONE_IN: usize = 500;

/// What begins a file that is no text, whatever its server says.
const BINARY: &[&[u8]] = &[
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"GIF87a",
    b"GIF89a",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x1f\x8b\x08",
    b"\x28\xb5\x2f\xfd",
    b"\xfd7zXZ\0",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!\x1a\x07",
    b"\x7fELF",
    b"\0asm",
    b"OggS",
    b"fLaC",
    b"\x1a\x45\xdf\xa3",
    b"wOFF",
    b"wOF2",
    b"SQLite format 3\0",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
];

/// Tags that begin a document without a type, lower case.
const HTML: &[&str] = &[
    "!doctype html",
    "html",
    "head",
    "body",
    "title",
    "meta",
    "script",
    "style",
    "div",
    "table",
    "h1",
    "p",
    "a",
    "br",
    "iframe",
    "font",
    "center",
    "b",
    "ul",
    "ol",
    "article",
    "main",
    "section",
    "header",
    "nav",
];

/// What the bytes of a page are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MediaKind {
    Html,
    Pdf,
    Text(PageKind),
    Binary,
}

impl MediaKind {
    pub(crate) fn of(page: &FetchedPage<'_>) -> MediaKind {
        let bytes = page.bytes;
        if find_pdf(bytes) {
            return MediaKind::Pdf;
        }
        if BINARY.iter().any(|magic| bytes.starts_with(magic)) || is_contained(bytes) {
            return MediaKind::Binary;
        }
        let essence = essence(page.content_type);
        match DeclaredMedia::of(&essence) {
            DeclaredMedia::Known(MediaKind::Text(_)) | DeclaredMedia::Missing
                if looks_binary(bytes) =>
            {
                MediaKind::Binary
            }
            DeclaredMedia::Known(media) => media,
            DeclaredMedia::Missing => MediaKind::sniff(bytes),
            DeclaredMedia::Unknown if looks_binary(bytes) => MediaKind::Binary,
            DeclaredMedia::Unknown => match std::str::from_utf8(bytes) {
                Ok(_) => MediaKind::Text(PageKind::Text),
                Err(_) => MediaKind::Binary,
            },
        }
    }

    fn sniff(bytes: &[u8]) -> MediaKind {
        let beginning = beginning(bytes);
        match beginning.as_bytes().first() {
            Some(b'<') if is_html(&beginning) => MediaKind::Html,
            Some(b'<') if beginning.starts_with("<?xml") => {
                let is_page = beginning.contains("<html") || beginning.contains("xhtml");
                if is_page { MediaKind::Html } else { MediaKind::Text(PageKind::Xml) }
            }
            Some(b'{' | b'[') if serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok() => {
                MediaKind::Text(PageKind::Json)
            }
            _ => MediaKind::Text(PageKind::Text),
        }
    }
}

/// What a server says of a page.
enum DeclaredMedia {
    Known(MediaKind),
    /// A type that is neither text nor anything that is read here, and may be text nevertheless.
    Unknown,
    /// That it does not know.
    Missing,
}

impl DeclaredMedia {
    fn of(essence: &str) -> DeclaredMedia {
        let (top, rest) = essence.split_once('/').unwrap_or((essence, ""));
        match (top, rest) {
            ("", _) | ("application", "octet-stream" | "unknown" | "x-unknown") => {
                DeclaredMedia::Missing
            }
            ("unknown" | "*", _) | (_, "*") => DeclaredMedia::Missing,
            ("text", "html") | ("application", "xhtml+xml" | "vnd.wap.xhtml+xml") => {
                DeclaredMedia::Known(MediaKind::Html)
            }
            // What neither begins as a PDF nor looks like text is broken, and the reader of PDFs says so.
            ("application", "pdf" | "x-pdf") => DeclaredMedia::Known(MediaKind::Pdf),
            ("text", "markdown" | "x-markdown") => {
                DeclaredMedia::Known(MediaKind::Text(PageKind::Markdown))
            }
            (
                "application" | "text",
                "json" | "x-json" | "json5" | "x-ndjson" | "ndjson" | "jsonl",
            ) => DeclaredMedia::Known(MediaKind::Text(PageKind::Json)),
            ("application" | "text", "xml") => DeclaredMedia::Known(MediaKind::Text(PageKind::Xml)),
            (_, rest) if rest.ends_with("+json") => {
                DeclaredMedia::Known(MediaKind::Text(PageKind::Json))
            }
            (_, rest) if rest.ends_with("+xml") => {
                DeclaredMedia::Known(MediaKind::Text(PageKind::Xml))
            }
            ("text", _) => DeclaredMedia::Known(MediaKind::Text(PageKind::Text)),
            (
                "application",
                "javascript"
                | "x-javascript"
                | "ecmascript"
                | "yaml"
                | "x-yaml"
                | "toml"
                | "sql"
                | "x-sh"
                | "graphql"
                | "rtf"
                | "x-tex"
                | "x-latex"
                | "x-httpd-php"
                | "x-www-form-urlencoded",
            ) => DeclaredMedia::Known(MediaKind::Text(PageKind::Text)),
            ("image" | "audio" | "video" | "font" | "model", _) => {
                DeclaredMedia::Known(MediaKind::Binary)
            }
            _ => DeclaredMedia::Unknown,
        }
    }
}

/// Returns the type without its parameters, in lower case.
pub(crate) fn essence(content_type: Option<&str>) -> String {
    let value = content_type.unwrap_or_default();
    value.split([';', ',']).next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Returns whether a PDF begins here; some have a few bytes of something else in front.
fn find_pdf(bytes: &[u8]) -> bool {
    let head = bytes.get(..bytes.len().min(16)).unwrap_or_default();
    head.windows(5).any(|window| window == b"%PDF-")
}

/// Returns whether this is one of the formats that name themselves after a length.
fn is_contained(bytes: &[u8]) -> bool {
    let riff =
        bytes.starts_with(b"RIFF") && matches!(bytes.get(8..12), Some(b"WEBP" | b"WAVE" | b"AVI "));
    riff || bytes.get(4..8) == Some(b"ftyp")
}

/// Returns whether text would not look like this: it has control characters that no text has.
fn looks_binary(bytes: &[u8]) -> bool {
    let head = bytes.get(..bytes.len().min(LOOK_BYTES)).unwrap_or_default();
    let has_mark = head.starts_with(&[0xfe, 0xff]) || head.starts_with(&[0xff, 0xfe]);
    if has_mark || looks_like_utf_16(head).is_some() {
        return false;
    }
    let controls = bytes.iter().filter(|byte| is_never_text(**byte)).count();
    head.iter().any(|byte| is_never_text(*byte)) || controls * CONTROLS_ONE_IN > bytes.len()
}

/// Returns whether no character set of text has this byte. The escape is not meant: it begins a shift in ISO-2022-JP.
fn is_never_text(byte: u8) -> bool {
    matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f)
}

/// Returns the beginning in lower case, without what may stand before a document: a mark, space, comments.
fn beginning(bytes: &[u8]) -> String {
    let head = bytes.get(..bytes.len().min(LOOK_BYTES)).unwrap_or_default();
    let text = match looks_like_utf_16(head) {
        Some(encoding) => encoding.decode(head).0.into_owned(),
        None => encoding_rs::UTF_8.decode(head).0.into_owned(),
    };
    let mut rest = text.trim_start();
    while let Some(comment) = rest.strip_prefix("<!--") {
        let Some((_, after)) = comment.split_once("-->") else { break };
        rest = after.trim_start();
    }
    rest.to_ascii_lowercase()
}

fn is_html(beginning: &str) -> bool {
    let tag = beginning.strip_prefix('<').unwrap_or_default();
    HTML.iter().any(|name| {
        let after = tag.strip_prefix(name).map(str::chars).and_then(|mut rest| rest.next());
        matches!(after, Some('>' | ' ' | '\t' | '\r' | '\n' | '/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content_type: Option<&str>, bytes: &[u8], expect: MediaKind) {
        let page = FetchedPage { bytes, content_type, url: "https://a.example/" };
        assert_eq!(
            MediaKind::of(&page),
            expect,
            "{content_type:?} {:?}",
            String::from_utf8_lossy(bytes)
        );
    }

    #[test]
    fn what_the_server_says_holds_unless_the_bytes_are_beyond_doubt() {
        let text = |kind| MediaKind::Text(kind);
        check(Some("text/html; charset=utf-8"), b"hello", MediaKind::Html);
        check(Some("Application/XHTML+XML"), b"<html/>", MediaKind::Html);
        check(Some("text/plain"), b"<html>", text(PageKind::Text));
        check(Some("text/markdown"), b"# a", text(PageKind::Markdown));
        check(Some("application/ld+json"), b"{}", text(PageKind::Json));
        check(Some("application/rss+xml"), b"<rss/>", text(PageKind::Xml));
        check(Some("image/svg+xml"), b"<svg/>", text(PageKind::Xml));
        check(Some("application/vnd.unheard-of"), b"a = 1\n", text(PageKind::Text));
        check(Some("application/vnd.unheard-of"), b"a\0b", MediaKind::Binary);
        check(Some("text/html"), b"%PDF-1.7\n", MediaKind::Pdf);
        check(Some("text/html"), b"\x89PNG\r\n\x1a\n", MediaKind::Binary);
        check(Some("text/plain"), b"a\0b\x01\x02", MediaKind::Binary);
        let late = [vec![b'a'; 2 * LOOK_BYTES], vec![1; 100]].concat();
        check(Some("text/plain"), &late, MediaKind::Binary);
        check(Some("text/plain"), &late[..2 * LOOK_BYTES + 1], text(PageKind::Text));
        check(Some("image/png"), b"not an image", MediaKind::Binary);
        check(Some("application/pdf"), b"not a document", MediaKind::Pdf);
        check(Some("video/mp4"), b"\0\0\0\x18ftypmp42", MediaKind::Binary);
    }

    #[test]
    fn a_page_without_a_type_is_what_it_looks_like() {
        for nothing in
            [None, Some(""), Some("application/octet-stream"), Some("*/*"), Some("unknown/unknown")]
        {
            check(nothing, b"\xef\xbb\xbf\n<!-- a > b -->\n<!DOCTYPE html>", MediaKind::Html);
            check(nothing, b"<p>x", MediaKind::Html);
            check(nothing, b"<?xml version='1.0'?><feed/>", MediaKind::Text(PageKind::Xml));
            check(nothing, b"<?xml version='1.0'?><!DOCTYPE html><html/>", MediaKind::Html);
            check(nothing, b"<path d='M0'/>", MediaKind::Text(PageKind::Text));
            check(nothing, b" {\"a\": [1]}", MediaKind::Text(PageKind::Json));
            check(nothing, b"{not json}", MediaKind::Text(PageKind::Text));
            check(nothing, b"", MediaKind::Text(PageKind::Text));
            check(nothing, b"\xff\xfe<\0p\0>\0x\0", MediaKind::Html);
            check(nothing, b"<\0p\0>\0h\0e\0l\0l\0o\0,\0 \0y\0o\0u\0", MediaKind::Html);
            check(nothing, b"\x01\x02", MediaKind::Binary);
        }
    }
}
