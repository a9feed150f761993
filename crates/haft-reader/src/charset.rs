//! Decodes a page. The sources of its character set, in this order: its byte order mark, its server, its own markup, and a
//! guess from its bytes. A claim that the bytes refute is ignored, since many servers claim one character set for every page.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::limits::DECLARATION_BYTES;
use crate::page::{FetchedPage, PageKind};

/// Beginning of a page that is searched for UTF-16 without a mark, in bytes.
const UTF_16_LOOK_BYTES: usize = 512;
/// Characters among which one unreadable character refutes no claim.
const CHARS_PER_SLIP: usize = 2_000;

/// A page's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedText {
    /// The text, with U+FFFD for each unreadable character.
    pub text: String,
    /// The character set's name.
    pub charset: &'static str,
}

/// Returns the text of a page.
pub fn decode(page: &FetchedPage<'_>, kind: PageKind) -> DecodedText {
    let bytes = page.bytes;
    // A mark is part of the content, and nothing else looks like one.
    if let Some((encoding, length)) = Encoding::for_bom(bytes) {
        return decode_as(bytes.get(length..).unwrap_or_default(), encoding).0;
    }
    if let Some(encoding) = looks_like_utf_16(bytes) {
        return decode_as(bytes, encoding).0;
    }
    let from_server = page.content_type.and_then(|value| {
        let mut parameters = value.split(';').skip(1).filter_map(|each| each.split_once('='));
        let (_, label) =
            parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
        Encoding::for_label(label.trim().trim_matches(['"', '\'']).as_bytes())
    });
    let from_page = match kind {
        // Markup names its character set in the declaration of XML, or in a `meta` element.
        PageKind::Html | PageKind::Xml => {
            let head = bytes.get(..bytes.len().min(DECLARATION_BYTES)).unwrap_or_default();
            // The declaration is readable as this character set, whichever one it names.
            let text = WINDOWS_1252.decode_without_bom_handling(head).0.to_ascii_lowercase();
            let xml = text.trim_start().strip_prefix("<?xml").and_then(|xml| xml.split_once("?>"));
            let mut label = xml.and_then(|(declaration, _)| value_after(declaration, "encoding"));
            let mut rest = text.as_str();
            while label.is_none()
                && let Some((before, after)) = rest.split_once("<meta")
            {
                // An element inside a comment does not count.
                if before.rfind("<!--") <= before.rfind("-->") {
                    let tag = after.split_once('>').map_or(after, |(tag, _)| tag);
                    label = value_after(tag, "charset");
                }
                rest = after;
            }
            // A page that names UTF-16 in single bytes is not UTF-16.
            let named = label.and_then(|label| Encoding::for_label(label.as_bytes()));
            named.map(|named| if [UTF_16LE, UTF_16BE].contains(&named) { UTF_8 } else { named })
        }
        // JSON is UTF-8 by default.
        PageKind::Json => Some(UTF_8),
        PageKind::Text | PageKind::Markdown | PageKind::Pdf | PageKind::Other => None,
    };
    let mut first = None;
    for encoding in [from_server, from_page].into_iter().flatten() {
        let (decoded, is_refuted) = decode_as(bytes, encoding);
        if !is_refuted {
            return decoded;
        }
        first.get_or_insert(decoded);
    }
    // The host's top-level domain hints at languages. The detector accepts only these characters in it.
    let url = url::Url::parse(page.url).ok();
    let top_level = url
        .as_ref()
        .and_then(|url| url.domain()?.rsplit('.').next())
        .filter(|name| name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')));
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    let guess = detector.guess(top_level.map(str::as_bytes), Utf8Detection::Allow);
    let (guessed, is_refuted) = decode_as(bytes, guess);
    first.filter(|_| is_refuted).unwrap_or(guessed)
}

/// Reads bytes as text in one character set. Also returns whether the bytes refute that character set.
fn decode_as(bytes: &[u8], encoding: &'static Encoding) -> (DecodedText, bool) {
    let (text, has_slips) = encoding.decode_without_bom_handling(bytes);
    let decoded = DecodedText { text: text.into_owned(), charset: encoding.name() };
    let is_refuted = if has_slips {
        let slips = decoded.text.matches('\u{fffd}').count();
        // One may be the end of a page that was cut.
        slips > 1 + decoded.text.len() / CHARS_PER_SLIP
    } else {
        // Every byte is valid in a single-byte set, but whole text does not become sequences of UTF-8 by chance.
        encoding.is_single_byte() && !bytes.is_ascii() && std::str::from_utf8(bytes).is_ok()
    };
    (decoded, is_refuted)
}

/// Returns which UTF-16 these bytes are, if they are mostly characters of Latin markup or text without a mark.
pub(crate) fn looks_like_utf_16(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..bytes.len().min(UTF_16_LOOK_BYTES)).unwrap_or_default();
    let pairs = head.chunks_exact(2);
    let count = pairs.len();
    let zeros = |place: usize| pairs.clone().filter(|pair| pair.get(place) == Some(&0)).count();
    let (first, second) = (zeros(0), zeros(1));
    match count {
        0..4 => None,
        _ if second * 4 >= count * 3 && first == 0 => Some(UTF_16LE),
        _ if first * 4 >= count * 3 && second == 0 => Some(UTF_16BE),
        _ => None,
    }
}

/// Returns the value after `name=`, with or without quotes.
fn value_after<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(name) {
        rest = after;
        let Some(value) = after.trim_start().strip_prefix('=') else { continue };
        let value = value.trim_start().trim_start_matches(['"', '\'']);
        let end = value.find(|character: char| {
            character.is_ascii_whitespace() || matches!(character, '"' | '\'' | ';' | '>' | '/')
        });
        return value.get(..end.unwrap_or(value.len())).filter(|value| !value.is_empty());
    }
    None
}

#[cfg(test)]
mod tests;
