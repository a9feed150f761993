//! Decides which kind of media a page is: first by the signature of a file format, then by the type that the server
//! declares, then by the look of its bytes. Some servers declare a wrong type, `application/octet-stream` or none.

use crate::charset::looks_like_utf_16;
use crate::describe::FORMATS;
use crate::page::{FetchedPage, PageKind};

/// Beginning of a page that decides whether it is text, in bytes.
const LOOK_BYTES: usize = 4_096;
/// Bytes after that among which text may have one control character.
const CONTROLS_ONE_IN: usize = 500;

/// Signatures of files that are never text, besides [`FORMATS`].
const BINARY: &[&[u8]] =
    &[b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"PK\x05\x06"];
/// The signature in [`FORMATS`] with which text may begin.
const MP3: &[u8] = b"ID3";

/// Tags that begin a document, besides `!doctype html`, in lower case.
const HTML: &[&str] = &[
    "html", "head", "body", "title", "meta", "script", "style", "div", "table", "h1", "p", "a",
    "br", "iframe", "font", "center", "b", "ul", "ol", "article", "main", "section", "header",
    "nav",
];

/// The kind of media that a page is.
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
        // Some PDFs have a few other bytes in front.
        let head = bytes.get(..bytes.len().min(16)).unwrap_or_default();
        if head.windows(5).any(|window| window == b"%PDF-") {
            return MediaKind::Pdf;
        }
        let mut signatures = BINARY.iter().chain(FORMATS.iter().map(|(magic, _)| magic));
        let is_riff = bytes.starts_with(b"RIFF")
            && matches!(bytes.get(8..12), Some(b"WEBP" | b"WAVE" | b"AVI "));
        if is_riff
            || bytes.get(4..8) == Some(b"ftyp")
            || signatures.any(|magic| *magic != MP3 && bytes.starts_with(magic))
        {
            return MediaKind::Binary;
        }
        let head = bytes.get(..bytes.len().min(LOOK_BYTES)).unwrap_or_default();
        let declared = page.content_type.unwrap_or_default();
        let essence = declared.split([';', ',']).next().unwrap_or_default().trim();
        let essence = essence.to_ascii_lowercase();
        let looked_at = match essence.split_once('/').unwrap_or((&essence, "")) {
            ("" | "unknown" | "*", _)
            | (_, "*")
            | ("application", "octet-stream" | "unknown" | "x-unknown") => {
                let encoding = looks_like_utf_16(head).unwrap_or(encoding_rs::UTF_8);
                let text = encoding.decode(head).0;
                let mut rest = text.trim_start();
                while let Some(comment) = rest.strip_prefix("<!--") {
                    let Some((_, after)) = comment.split_once("-->") else { break };
                    rest = after.trim_start();
                }
                let beginning = rest.to_ascii_lowercase();
                let tag = beginning.strip_prefix('<').unwrap_or_default();
                let is_html = HTML.iter().chain(&["!doctype html"]).any(|name| {
                    tag.strip_prefix(name)
                        .is_some_and(|after| after.starts_with(['>', ' ', '\t', '\r', '\n', '/']))
                });
                let is_xml = tag.starts_with("?xml");
                if is_html || (is_xml && (tag.contains("<html") || tag.contains("xhtml"))) {
                    MediaKind::Html
                } else if is_xml {
                    MediaKind::Text(PageKind::Xml)
                } else if beginning.starts_with(['{', '['])
                    && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
                {
                    MediaKind::Text(PageKind::Json)
                } else {
                    MediaKind::Text(PageKind::Text)
                }
            }
            ("text", "html") | ("application", "xhtml+xml" | "vnd.wap.xhtml+xml") => {
                return MediaKind::Html;
            }
            // If the file is broken, the reader of PDFs says so.
            ("application", "pdf" | "x-pdf") => return MediaKind::Pdf,
            ("text", "markdown" | "x-markdown") => MediaKind::Text(PageKind::Markdown),
            (
                "application" | "text",
                "json" | "x-json" | "json5" | "x-ndjson" | "ndjson" | "jsonl",
            ) => MediaKind::Text(PageKind::Json),
            ("application" | "text", "xml") => MediaKind::Text(PageKind::Xml),
            (_, rest) if rest.ends_with("+json") => MediaKind::Text(PageKind::Json),
            (_, rest) if rest.ends_with("+xml") => MediaKind::Text(PageKind::Xml),
            ("text", _) => MediaKind::Text(PageKind::Text),
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
            ) => MediaKind::Text(PageKind::Text),
            ("image" | "audio" | "video" | "font" | "model", _) => return MediaKind::Binary,
            // Any other type may be text nevertheless.
            _ if std::str::from_utf8(bytes).is_ok() => MediaKind::Text(PageKind::Text),
            _ => return MediaKind::Binary,
        };
        let has_mark = head.starts_with(&[0xfe, 0xff]) || head.starts_with(&[0xff, 0xfe]);
        if has_mark || looks_like_utf_16(head).is_some() {
            return looked_at;
        }
        let controls = bytes.iter().filter(|byte| is_never_text(**byte)).count();
        let looks_binary = head.iter().any(|byte| is_never_text(*byte))
            || controls * CONTROLS_ONE_IN > bytes.len();
        if looks_binary { MediaKind::Binary } else { looked_at }
    }
}

/// Returns whether no character set of text has this byte. The escape is allowed: it begins a shift in ISO-2022-JP.
fn is_never_text(byte: u8) -> bool {
    matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f)
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
