//! Splits text into lines that remember how they ended.
//!
//! Both text engines compare lines without their endings and write lines back with them. A lone
//! carriage return is an ordinary character here, as it is to editors and to git; no line is ever
//! converted.

/// The byte order mark that some editors put before the first line.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

/// How a line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEnding {
    Lf,
    CrLf,
}

impl LineEnding {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
        }
    }
}

/// One line and its ending; only the last line of a text can have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextLine<'t> {
    pub(crate) text: &'t str,
    pub(crate) ending: Option<LineEnding>,
}

impl TextLine<'_> {
    /// Returns how many bytes the line takes with its ending.
    pub(crate) fn bytes(self) -> usize {
        self.text.len() + self.ending.map_or(0, |ending| ending.as_str().len())
    }
}

/// Returns the lines of a text; an empty text has none, a final line break opens no further line.
pub(crate) fn split_lines(text: &str) -> Vec<TextLine<'_>> {
    let lines = text.split_inclusive('\n').map(|raw| match raw.strip_suffix('\n') {
        None => TextLine { text: raw, ending: None },
        Some(body) => match body.strip_suffix('\r') {
            Some(text) => TextLine { text, ending: Some(LineEnding::CrLf) },
            None => TextLine { text: body, ending: Some(LineEnding::Lf) },
        },
    });
    lines.collect()
}
