//! From a page to its text: decides what the bytes are and hands them to whoever reads that. What becomes of the text, and
//! how much of it is shown, is not decided here.

use haft_contract::is_invisible;
use thiserror::Error;

use crate::charset::{DeclaredCharset, decode};
use crate::describe::describe;
use crate::html::{self, DeepPage, HtmlContent};
use crate::limits::{DEPTH_MAX, TITLE_CHARS_MAX};
use crate::media::MediaKind;
use crate::page::{FetchedPage, PageContent, PageKind, is_control};
use crate::pdf::{self, PdfReadError};

/// Why a page could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PageReadError {
    /// It is a PDF that cannot be opened.
    #[error("the PDF could not be read: {0}")]
    Pdf(PdfReadError),
    /// Its elements are nested too deep.
    #[error(
        "the page could not be read: it nests elements more than {DEPTH_MAX} deep. Fetch another page instead"
    )]
    TooDeep,
}

/// Returns what a page says.
///
/// May overflow the stack, use much memory or take long, if the page was made for that.
pub fn read_page(page: &FetchedPage<'_>) -> Result<PageContent, PageReadError> {
    match MediaKind::of(page) {
        MediaKind::Html => read_html(page),
        MediaKind::Pdf => {
            let text = pdf::read_pdf(page.bytes).map_err(PageReadError::Pdf)?;
            let title = text.title.and_then(|title| clean_title(&title));
            Ok(PageContent {
                kind: PageKind::Pdf,
                title,
                text: Some(text.text),
                charset: None,
                note: text.note,
            })
        }
        MediaKind::Text(kind) => Ok(read_text(page, kind)),
        MediaKind::Binary => Ok(describe_other(page)),
    }
}

fn read_html(page: &FetchedPage<'_>) -> Result<PageContent, PageReadError> {
    let decoded = decode(page.bytes, &DeclaredCharset::from_html(page));
    let HtmlContent { title, markdown, is_whole } =
        html::read_html(&decoded.text, page.url).map_err(|DeepPage| PageReadError::TooDeep)?;
    let note =
        is_whole.then(|| "no main content could be made out, so this is the whole page".to_owned());
    Ok(PageContent {
        kind: PageKind::Html,
        title: title.and_then(|title| clean_title(&title)),
        text: Some(markdown),
        charset: Some(decoded.charset),
        note,
    })
}

fn read_text(page: &FetchedPage<'_>, kind: PageKind) -> PageContent {
    let decoded = decode(page.bytes, &DeclaredCharset::from_text(page, kind));
    let text = decoded.text.replace(is_control, "\u{fffd}");
    PageContent { kind, title: None, text: Some(text), charset: Some(decoded.charset), note: None }
}

fn describe_other(page: &FetchedPage<'_>) -> PageContent {
    PageContent {
        kind: PageKind::Other,
        title: None,
        text: None,
        charset: None,
        note: describe(page.bytes),
    }
}

/// Returns a title on one line and in its bounds, unless it is empty.
fn clean_title(title: &str) -> Option<String> {
    let visible: String = title.chars().filter(|character| !is_invisible(*character)).collect();
    let words: Vec<&str> = visible.split_whitespace().collect();
    let title: String = words.join(" ").chars().take(TITLE_CHARS_MAX).collect();
    (!title.is_empty()).then_some(title)
}
