//! From a page to its text: decides what the bytes are and hands them to whoever reads that. What becomes of the text, and
//! how much of it is shown, is not decided here.

use haft_contract::is_unseen;
use thiserror::Error;

use crate::charset::{Declared, decode};
use crate::crude::strip_tags;
use crate::describe::describe;
use crate::html::{self, Reading};
use crate::limits::{DEPTH_MAX, TITLE_CHARS_MAX};
use crate::media::Media;
use crate::page::{Extracted, Kind, Page, is_control};
use crate::pdf::{self, PdfError};

/// Why a page could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// It is a PDF that cannot be opened.
    #[error("the PDF could not be read: {0}")]
    Pdf(PdfError),
    /// It is a PDF, which cannot be read crudely.
    #[error("the PDF could not be read: it is too large or too unusual")]
    PdfCrudely,
}

/// Returns what a page says.
///
/// May overflow the stack, use much memory or take long, if the page was made for that.
pub fn extract(page: &Page<'_>) -> Result<Extracted, ExtractError> {
    match Media::of(page) {
        Media::Html => Ok(extract_html(page)),
        Media::Pdf => {
            let text = pdf::read(page.bytes).map_err(ExtractError::Pdf)?;
            let title = text.title.and_then(|title| clean_title(&title));
            Ok(Extracted {
                kind: Kind::Pdf,
                title,
                text: Some(text.text),
                charset: None,
                note: text.note,
            })
        }
        Media::Text(kind) => Ok(extract_text(page, kind)),
        Media::Binary => Ok(described(page)),
    }
}

/// Returns what a page says, in time and memory that grow with its size only, and without recursion: HTML is stripped of
/// its tags, and a PDF is not read.
///
/// ```
/// use haft_extract::{Page, extract_crudely};
///
/// let bytes = b"<title>Tea</title><script>steep()</script><p>Steep for <b>3</b> minutes.";
/// let page = Page { bytes, content_type: Some("text/html"), url: "https://tea.example/" };
/// let extracted = extract_crudely(&page)?;
/// assert_eq!(extracted.title.as_deref(), Some("Tea"));
/// assert_eq!(extracted.text.as_deref(), Some("Steep for 3 minutes."));
/// # Ok::<(), haft_extract::ExtractError>(())
/// ```
pub fn extract_crudely(page: &Page<'_>) -> Result<Extracted, ExtractError> {
    match Media::of(page) {
        Media::Html => {
            let decoded = decode(page.bytes, &Declared::of_html(page));
            let note = "the page was only stripped of its tags";
            Ok(stripped(&decoded.text, decoded.charset, note.to_owned()))
        }
        Media::Pdf => Err(ExtractError::PdfCrudely),
        Media::Text(kind) => Ok(extract_text(page, kind)),
        Media::Binary => Ok(described(page)),
    }
}

fn extract_html(page: &Page<'_>) -> Extracted {
    let decoded = decode(page.bytes, &Declared::of_html(page));
    if crate::crude::depth(&decoded.text) > DEPTH_MAX {
        let note = format!(
            "the page nests elements more than {DEPTH_MAX} deep, so it was only stripped of its tags"
        );
        return stripped(&decoded.text, decoded.charset, note);
    }
    let Reading { title, markdown, is_whole } = html::read(&decoded.text, page.url);
    let note =
        is_whole.then(|| "no main content could be made out, so this is the whole page".to_owned());
    Extracted {
        kind: Kind::Html,
        title: title.and_then(|title| clean_title(&title)),
        text: Some(markdown),
        charset: Some(decoded.charset),
        note,
    }
}

fn stripped(html: &str, charset: &'static str, note: String) -> Extracted {
    let stripped = strip_tags(html);
    Extracted {
        kind: Kind::Html,
        title: stripped.title.and_then(|title| clean_title(&title)),
        text: Some(stripped.text),
        charset: Some(charset),
        note: Some(note),
    }
}

fn extract_text(page: &Page<'_>, kind: Kind) -> Extracted {
    let decoded = decode(page.bytes, &Declared::of_text(page, kind));
    let text = decoded.text.replace(is_control, "\u{fffd}");
    Extracted { kind, title: None, text: Some(text), charset: Some(decoded.charset), note: None }
}

fn described(page: &Page<'_>) -> Extracted {
    Extracted {
        kind: Kind::Other,
        title: None,
        text: None,
        charset: None,
        note: describe(page.bytes),
    }
}

/// Returns a title on one line and in its bounds, unless it is empty.
fn clean_title(title: &str) -> Option<String> {
    let visible: String = title.chars().filter(|character| !is_unseen(*character)).collect();
    let words: Vec<&str> = visible.split_whitespace().collect();
    let title: String = words.join(" ").chars().take(TITLE_CHARS_MAX).collect();
    (!title.is_empty()).then_some(title)
}
