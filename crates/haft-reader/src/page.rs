//! A page as it comes and what is found in it, as everything here speaks of them. Nothing is found out here.

/// A page as it was fetched.
#[derive(Clone, Copy, Debug)]
pub struct FetchedPage<'a> {
    /// Its content.
    pub bytes: &'a [u8],
    /// What its server says that it is: the value of `Content-Type`.
    pub content_type: Option<&'a str>,
    /// Where it lies, after all redirects. Links are relative to it.
    pub url: &'a str,
}

/// What a page says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageContent {
    /// What the page is.
    pub kind: PageKind,
    /// Its title, on one line.
    pub title: Option<String>,
    /// What it says: Markdown, if the page is HTML. None, if it is no text.
    pub text: Option<String>,
    /// The character set that it was written in.
    pub charset: Option<&'static str>,
    /// What a reader of the text should know of how it came about.
    pub note: Option<String>,
}

/// What a page is.
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

/// Returns whether a character says nothing and does harm on a terminal.
pub(crate) fn is_control(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t' | '\r')
}
