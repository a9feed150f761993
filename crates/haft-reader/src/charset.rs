//! The character set of a page: the mark at its beginning, what its server says, what it says of itself, and what it looks
//! like, in this order. A claim that the bytes refute is passed over, since servers are often set to one character set for
//! everything that they hold.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::limits::DECLARATION_BYTES;
use crate::page::{FetchedPage, PageKind};

/// What is looked at to tell UTF-16 without a mark, in bytes.
const UTF_16_LOOK_BYTES: usize = 512;
/// Characters among which one that cannot be read is a slip and refutes no claim.
const CHARS_PER_SLIP: usize = 2_000;

/// What is said of a page's character set, most trusted first.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeclaredCharset {
    header: Option<&'static Encoding>,
    content: Option<&'static Encoding>,
    /// The last part of the host's name, in lower case, which tells likely languages.
    top_level: Option<TopLevelDomain>,
}

/// A page's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedText {
    /// The text; what could not be read is U+FFFD.
    pub text: String,
    /// The character set's name.
    pub charset: &'static str,
}

/// A short name, held in place.
#[derive(Clone, Copy, Debug)]
struct TopLevelDomain {
    bytes: [u8; 16],
    length: usize,
}

impl DeclaredCharset {
    /// Returns what is said of a page that is HTML.
    pub fn from_html(page: &FetchedPage<'_>) -> Self {
        let head = page.bytes.get(..page.bytes.len().min(DECLARATION_BYTES)).unwrap_or_default();
        Self { content: in_markup(head), ..Self::from_header(page) }
    }

    pub(crate) fn from_text(page: &FetchedPage<'_>, kind: PageKind) -> Self {
        match kind {
            PageKind::Xml => Self::from_html(page),
            // Without a word about it, JSON is UTF-8.
            PageKind::Json => Self { content: Some(UTF_8), ..Self::from_header(page) },
            PageKind::Html
            | PageKind::Text
            | PageKind::Markdown
            | PageKind::Pdf
            | PageKind::Other => Self::from_header(page),
        }
    }

    fn from_header(page: &FetchedPage<'_>) -> Self {
        Self {
            header: page.content_type.and_then(in_content_type),
            content: None,
            top_level: TopLevelDomain::of(page.url),
        }
    }
}

impl TopLevelDomain {
    fn of(url: &str) -> Option<Self> {
        let url = url::Url::parse(url).ok()?;
        let name = url.domain()?.rsplit('.').next()?;
        // The detector takes no others.
        let is_plain = name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        let mut bytes = [0; 16];
        bytes.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
        is_plain.then_some(Self { bytes, length: name.len() })
    }

    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// Returns the text that the bytes are.
pub fn decode(bytes: &[u8], declared: &DeclaredCharset) -> DecodedText {
    // A mark is part of the content, and nothing else looks like one.
    if let Some((encoding, length)) = Encoding::for_bom(bytes) {
        return decode_as(bytes.get(length..).unwrap_or_default(), encoding).0;
    }
    if let Some(encoding) = looks_like_utf_16(bytes) {
        return decode_as(bytes, encoding).0;
    }
    let claims = [declared.header, declared.content];
    let mut first = None;
    for encoding in claims.into_iter().flatten() {
        let (decoded, is_refuted) = decode_as(bytes, encoding);
        if !is_refuted {
            return decoded;
        }
        first.get_or_insert(decoded);
    }
    let (guessed, is_refuted) = decode_as(bytes, guess(bytes, declared.top_level.as_ref()));
    match first {
        Some(claimed) if is_refuted => claimed,
        _ => guessed,
    }
}

/// Reads bytes as written in this character set, and says whether they refute that they are.
fn decode_as(bytes: &[u8], encoding: &'static Encoding) -> (DecodedText, bool) {
    let (text, has_slips) = encoding.decode_without_bom_handling(bytes);
    let decoded = DecodedText { text: text.into_owned(), charset: encoding.name() };
    let is_refuted = if has_slips {
        let slips = decoded.text.matches('\u{fffd}').count();
        // One may be the end of a page that was cut.
        slips > 1 + decoded.text.len() / CHARS_PER_SLIP
    } else {
        // Nothing in it can be wrong, but whole text does not become sequences of UTF-8 by chance.
        encoding.is_single_byte() && !bytes.is_ascii() && std::str::from_utf8(bytes).is_ok()
    };
    (decoded, is_refuted)
}

fn guess(bytes: &[u8], top_level: Option<&TopLevelDomain>) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    detector.guess(top_level.map(TopLevelDomain::as_bytes), Utf8Detection::Allow)
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

/// Returns the character set that a `Content-Type` names.
fn in_content_type(value: &str) -> Option<&'static Encoding> {
    let parameters = value.split(';').skip(1);
    let mut named = parameters.filter_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    });
    let label = named.next()?.trim().trim_matches(['"', '\'']);
    Encoding::for_label(label.as_bytes())
}

/// Returns the character set that markup names for itself: in a `meta` element, or in the declaration of XML.
fn in_markup(head: &[u8]) -> Option<&'static Encoding> {
    // Whatever the character set, the declaration is readable as this one.
    let text = WINDOWS_1252.decode_without_bom_handling(head).0.to_ascii_lowercase();
    let label = in_declaration(&text).or_else(|| in_meta(&text))?;
    let encoding = Encoding::for_label(label.as_bytes())?;
    // A page that says so in single bytes is neither of them.
    Some(if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding })
}

fn in_declaration(text: &str) -> Option<String> {
    let declaration = text.trim_start().strip_prefix("<?xml")?.split_once("?>")?.0;
    value_after(declaration, "encoding")
}

fn in_meta(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<meta") {
        // One that was taken back by a comment does not count.
        let is_comment = before.rfind("<!--") > before.rfind("-->");
        let tag = after.split_once('>').map_or(after, |(tag, _)| tag);
        if !is_comment && let Some(label) = value_after(tag, "charset") {
            return Some(label);
        }
        rest = after;
    }
    None
}

/// Returns the value after `name=`, with or without quotes.
fn value_after(text: &str, name: &str) -> Option<String> {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(name) {
        rest = after;
        let Some(value) = after.trim_start().strip_prefix('=') else { continue };
        let value = value.trim_start().trim_start_matches(['"', '\'']);
        let end = value.find(|character: char| {
            character.is_ascii_whitespace() || matches!(character, '"' | '\'' | ';' | '>' | '/')
        });
        let value = value.get(..end.unwrap_or(value.len()))?;
        return (!value.is_empty()).then(|| value.to_owned());
    }
    None
}

#[cfg(test)]
mod tests;
