//! A page as it comes and what is found in it, as everything here speaks of them. Nothing is found out here.

/// A page as it was fetched.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Its content.
    pub bytes: &'a [u8],
    /// What its server says that it is: the value of `Content-Type`.
    pub content_type: Option<&'a str>,
    /// Where it lies, after all redirects. Links are relative to it.
    pub url: &'a str,
}

/// What a page says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// What the page is.
    pub kind: Kind,
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
pub enum Kind {
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

impl Kind {
    /// Returns its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Html => "html",
            Kind::Text => "text",
            Kind::Markdown => "markdown",
            Kind::Json => "json",
            Kind::Xml => "xml",
            Kind::Pdf => "pdf",
            Kind::Other => "other",
        }
    }
}

/// Returns whether a character says nothing and does harm on a terminal.
pub(crate) fn is_control(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t' | '\r')
}
