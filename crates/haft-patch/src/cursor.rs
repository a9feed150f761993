//! Walks the lines of a patch, and knows which lines can begin a file.
//!
//! It reads nothing into the lines beyond that: headers and hunks are parsed elsewhere.

use super::error::PatchParseError;
use super::{HUNKS_MAX, LINE_BYTES_MAX, PATCH_BYTES_MAX};
use crate::passage::lines::{self, BYTE_ORDER_MARK, TextLine};
use crate::passage::nearest::excerpt;

/// The headers of git that may begin a file or follow its `diff --git`.
const EXTENDED_HEADERS: [&str; 6] = [
    "rename from ",
    "copy from ",
    "new file mode ",
    "deleted file mode ",
    "old mode ",
    "new mode ",
];

pub(crate) struct PatchCursor<'p> {
    lines: Vec<TextLine<'p>>,
    at: usize,
    /// Whether the patch began inside a Markdown fence.
    fenced: bool,
    /// The word that ends the shell here-document that the patch began in.
    here_document: Option<&'p str>,
    hunks: usize,
}

impl<'p> PatchCursor<'p> {
    pub(crate) fn new(text: &'p str) -> Result<Self, PatchParseError> {
        if text.len() > PATCH_BYTES_MAX {
            return Err(PatchParseError::OverLimit { what: "bytes", limit: PATCH_BYTES_MAX });
        }
        let lines = lines::split_lines(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text));
        if lines.iter().all(|line| line.text.trim().is_empty()) {
            return Err(PatchParseError::Empty);
        }
        if lines.iter().any(|line| line.text.len() > LINE_BYTES_MAX) {
            let what = "a line with a number of bytes";
            return Err(PatchParseError::OverLimit { what, limit: LINE_BYTES_MAX });
        }
        let lines = unpadded(lines);
        Ok(Self { lines, at: 0, fenced: false, here_document: None, hunks: 0 })
    }

    /// Returns the current line with its ending.
    pub(crate) fn line(&self) -> Option<TextLine<'p>> {
        self.lines.get(self.at).copied()
    }

    /// Returns the text of the current line.
    pub(crate) fn peek(&self) -> Option<&'p str> {
        self.peek_ahead(0)
    }

    pub(crate) fn peek_ahead(&self, ahead: usize) -> Option<&'p str> {
        self.lines.get(self.at + ahead).map(|line| line.text)
    }

    /// Returns the number of the current line, counted from 1.
    pub(crate) fn number(&self) -> usize {
        self.at + 1
    }

    pub(crate) fn advance(&mut self) {
        self.at += 1;
    }

    /// Takes the next `count` lines.
    pub(crate) fn take(&mut self, count: usize) -> Vec<TextLine<'p>> {
        let taken = self.lines.iter().skip(self.at).take(count).copied().collect();
        self.at += count;
        taken
    }

    pub(crate) fn skip_blank(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.advance();
        }
    }

    /// Goes to the first line that satisfies `begins`, past whatever a model or a mail wrote above.
    pub(crate) fn skip_preamble(
        &mut self,
        begins: impl Fn(&Self) -> bool,
    ) -> Result<(), PatchParseError> {
        while let Some(text) = self.peek() {
            if begins(self) {
                return Ok(());
            }
            if text.starts_with("Binary files ") && text.ends_with(" differ") {
                return Err(self.binary());
            }
            if !is_blank(text) {
                self.fenced = text.trim_start().starts_with("```");
                self.here_document = here_document_end(text);
            }
            self.advance();
        }
        Err(PatchParseError::NoHeader)
    }

    /// Whether a line begins a file of a unified diff, judged with the one or two after it.
    pub(crate) fn begins_file(&self, ahead: usize) -> bool {
        let Some(text) = self.peek_ahead(ahead) else { return false };
        text.starts_with("diff --git ")
            || EXTENDED_HEADERS.iter().any(|header| text.starts_with(header))
            || self.begins_names(ahead)
    }

    /// Whether a line is `--- old`, followed by `+++ new`.
    pub(crate) fn begins_names(&self, ahead: usize) -> bool {
        let starts = |ahead, prefix| {
            self.peek_ahead(ahead).is_some_and(|text: &str| text.starts_with(prefix))
        };
        starts(ahead, "--- ") && starts(ahead + 1, "+++ ")
    }

    /// Whether the text ahead can follow a complete hunk.
    pub(crate) fn ends_hunk(&self, ahead: usize) -> bool {
        let blanks = (ahead..).take_while(|at| self.peek_ahead(*at).is_some_and(is_blank)).count();
        let ahead = ahead + blanks;
        let Some(text) = self.peek_ahead(ahead) else { return true };
        text.starts_with("@@")
            || text.starts_with("*** ")
            || text.starts_with("Index: ")
            || text.starts_with("diff -")
            || self.begins_file(ahead)
            || self.is_closing_fence(ahead)
            || self.is_here_document_end(ahead)
            || self.is_signature(ahead)
    }

    /// Goes past what may stand below a patch: blank lines, the fence's end, a mail's signature.
    pub(crate) fn finish(&mut self) -> Result<(), PatchParseError> {
        self.skip_blank();
        if self.is_signature(0) {
            self.take(2);
            self.skip_blank();
        }
        if self.is_closing_fence(0) || self.is_here_document_end(0) {
            self.advance();
            self.skip_blank();
        }
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.malformed(
                "a hunk line (beginning with a space, `+` or `-`), `@@`, a file header, or the \
                 end of the patch",
            )),
        }
    }

    pub(crate) fn count_hunk(&mut self) -> Result<(), PatchParseError> {
        self.hunks += 1;
        if self.hunks > HUNKS_MAX {
            return Err(PatchParseError::OverLimit { what: "hunks", limit: HUNKS_MAX });
        }
        Ok(())
    }

    pub(crate) fn malformed(&self, expected: &'static str) -> PatchParseError {
        let found = match self.peek() {
            Some(text) => format!("`{}`", excerpt(text, 0)),
            None => "the end of the patch".to_owned(),
        };
        PatchParseError::Malformed { line: self.number(), expected, found }
    }

    pub(crate) fn contradiction(&self, what: impl Into<String>) -> PatchParseError {
        PatchParseError::Contradiction { line: self.number(), what: what.into() }
    }

    pub(crate) fn unsupported(&self, what: &'static str, instead: &'static str) -> PatchParseError {
        PatchParseError::Unsupported { line: self.number(), what, instead }
    }

    pub(crate) fn binary(&self) -> PatchParseError {
        self.unsupported("binary patches are", "replace the file by other means")
    }

    fn is_closing_fence(&self, ahead: usize) -> bool {
        self.fenced && self.peek_ahead(ahead).is_some_and(|text| text.trim() == "```")
    }

    fn is_here_document_end(&self, ahead: usize) -> bool {
        self.here_document.is_some()
            && self.peek_ahead(ahead).map(str::trim) == self.here_document
            && self.lines.iter().skip(self.at + ahead + 1).all(|line| is_blank(line.text))
    }

    /// Whether `-- ` and a version, the last lines of `git format-patch`, are all that is left.
    fn is_signature(&self, ahead: usize) -> bool {
        self.peek_ahead(ahead) == Some("-- ")
            && self.peek_ahead(ahead + 1).is_some_and(|text| text.starts_with(char::is_numeric))
            && self.lines.iter().skip(self.at + ahead + 2).all(|line| is_blank(line.text))
    }
}

/// The markers of the `*** Begin Patch` envelope.
const ENVELOPE_BEGIN: &str = "*** Begin Patch";
const ENVELOPE_MARKERS: [&str; 6] = [
    ENVELOPE_BEGIN,
    ENVELOPE_END,
    "*** Update File: ",
    "*** Add File: ",
    "*** Delete File: ",
    "*** Move to: ",
];
const ENVELOPE_END: &str = "*** End Patch";

/// Takes the padding off the markers of an envelope. Markers with the padding of the first one are markers, and so is the last
/// line of the patch: it closes the envelope, and no file can hold it in that place.
fn unpadded(mut lines: Vec<TextLine<'_>>) -> Vec<TextLine<'_>> {
    let Some(begin) = lines.iter().find(|line| line.text.trim() == ENVELOPE_BEGIN) else {
        return lines;
    };
    let padding = begin.text.len() - begin.text.trim_start().len();
    for line in &mut lines {
        let text = line.text.trim_start();
        let is_marker = ENVELOPE_MARKERS.iter().any(|marker| text.starts_with(marker));
        if padding > 0 && is_marker && line.text.len() - text.len() == padding {
            line.text = text;
        }
    }
    let last = lines.iter_mut().rev().find(|line| {
        !is_blank(line.text) && line.text.trim().chars().any(|one| !one.is_alphanumeric())
    });
    if let Some(last) = last.filter(|line| line.text.trim() == ENVELOPE_END) {
        last.text = last.text.trim_start();
    }
    lines
}

/// Returns the word that ends the here-document that a shell line opens.
fn here_document_end(line: &str) -> Option<&str> {
    let (_, behind) = line.split_once("<<")?;
    let behind = behind.strip_prefix('-').unwrap_or(behind).trim_start();
    let behind = behind.trim_start_matches(['\'', '"', '\\']);
    let end = behind.find(|one: char| !(one.is_ascii_alphanumeric() || one == '_'));
    let word = behind.get(..end.unwrap_or(behind.len()))?;
    (!word.is_empty()).then_some(word)
}

pub(crate) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
