//! The types of a fetched page and of its content.

/// A page as it was fetched.
#[derive(Clone, Copy, Debug)]
pub struct FetchedPage<'a> {
    /// Its content.
    pub bytes: &'a [u8],
    /// The `Content-Type` header of the server.
    pub content_type: Option<&'a str>,
    /// Its URL after all redirects. Links are relative to it.
    pub url: &'a str,
}

/// The content of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageContent {
    /// The kind of page.
    pub kind: PageKind,
    /// Its title, on one line.
    pub title: Option<String>,
    /// Its text, as Markdown if the page is HTML. `None` if the page is not text.
    pub text: Option<String>,
    /// The page's character set.
    pub charset: Option<&'static str>,
    /// A remark on the text, for its reader.
    pub note: Option<String>,
}

/// The kind of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PageKind {
    /// HTML, whose text is Markdown.
    Html,
    /// Text as it is.
    Text,
    /// Markdown as it is.
    Markdown,
    /// JSON as it is.
    Json,
    /// XML as it is.
    Xml,
    /// A PDF.
    Pdf,
    /// No text.
    Other,
}

impl PageKind {
    /// Returns its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            PageKind::Html => "html",
            PageKind::Text => "text",
            PageKind::Markdown => "markdown",
            PageKind::Json => "json",
            PageKind::Xml => "xml",
            PageKind::Pdf => "pdf",
            PageKind::Other => "other",
        }
    }
}

/// Returns whether a character is a control character that could harm a terminal.
pub(crate) fn is_control(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t' | '\r')
}
