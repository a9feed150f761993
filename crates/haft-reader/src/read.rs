//! Converts a page to its text: decides which kind of media the page is and calls the reader for this kind.

use haft_contract::is_invisible;
use thiserror::Error;

use crate::charset::decode;
use crate::describe::describe;
use crate::html::{self, DeepPage, HtmlContent};
use crate::limits::{DEPTH_MAX, TITLE_CHARS_MAX};
use crate::media::MediaKind;
use crate::page::{FetchedPage, PageContent, PageKind, is_control};
use crate::pdf::{self, PdfReadError, PdfText};

/// Why a page could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PageReadError {
    /// It is a PDF that cannot be opened.
    #[error("the PDF could not be read: {0}")]
    Pdf(PdfReadError),
    /// Its elements are nested too deeply.
    #[error(
        "the page could not be read: it nests elements more than {DEPTH_MAX} deep. Fetch another page instead"
    )]
    TooDeep,
}

/// Returns the content of a page.
///
/// A page that was made for that may overflow the stack, use much memory or take long.
pub fn read_page(page: &FetchedPage<'_>) -> Result<PageContent, PageReadError> {
    let (kind, title, text, charset, note) = match MediaKind::of(page) {
        MediaKind::Html => {
            let decoded = decode(page, PageKind::Html);
            let HtmlContent { title, markdown, is_whole } =
                html::read_html(&decoded.text, page.url)
                    .map_err(|DeepPage| PageReadError::TooDeep)?;
            let note = is_whole
                .then(|| "no main content could be made out, so this is the whole page".to_owned());
            (PageKind::Html, title, Some(markdown), Some(decoded.charset), note)
        }
        MediaKind::Pdf => {
            let PdfText { title, text, note } =
                pdf::read_pdf(page.bytes).map_err(PageReadError::Pdf)?;
            (PageKind::Pdf, title, Some(text), None, note)
        }
        MediaKind::Text(kind) => {
            let decoded = decode(page, kind);
            let text = decoded.text.replace(is_control, "\u{fffd}");
            (kind, None, Some(text), Some(decoded.charset), None)
        }
        MediaKind::Binary => (PageKind::Other, None, None, None, describe(page.bytes)),
    };
    // A title is one line of visible characters.
    let title = title.unwrap_or_default().replace(is_invisible, "");
    let words: Vec<&str> = title.split_whitespace().collect();
    let title: String = words.join(" ").chars().take(TITLE_CHARS_MAX).collect();
    let title = (!title.is_empty()).then_some(title);
    Ok(PageContent { kind, title, text, charset, note })
}
