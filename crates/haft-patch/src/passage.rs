//! String replacement that never guesses: the engine of the `edit` tool.
//!
//! [`replace`] finds a passage by exact comparison and nothing else. The one thing it looks
//! through is the line ending, which a model cannot see: a passage written with bare line feeds
//! matches lines that end in CR LF, the new text takes the endings of the lines it replaces, and no
//! other line is touched. A passage that is not there is never edited: the error names the [`NearestPassage`] for
//! the model to copy. Callers read and write files, limit their size and check access.

pub(crate) mod lenient;
pub(crate) mod lines;
pub(crate) mod nearest;
pub(crate) mod occurrences;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use thiserror::Error;

use self::lines::LineEnding;
pub use self::nearest::{NearestPassage, PassageDifference};

/// Largest file after an `edit`, in bytes.
///
/// Limit (files): the edit is refused.
pub const REPLACEMENT_BYTES_MAX: usize = 16_000_000;

/// How many places an ambiguity lists.
pub const LINES_LISTED_MAX: usize = 20;

/// How many occurrences are to be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplaceMode {
    /// The only one; a second, even an overlapping one, is an error.
    One,
    /// All, from left to right, none overlapping another.
    All,
}

/// A text with its replacements made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplacedText {
    /// The whole text.
    pub text: String,
    /// How many occurrences were replaced.
    pub replacements: usize,
    /// The first line, counted from 1, that is not as it was.
    pub first_changed_line: usize,
    /// How the given passage differs from the replaced one, if it does.
    pub ignored: Option<IgnoredDifference>,
}

/// A difference between the given passage and the only place in the file that it can mean. It decides nothing that can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IgnoredDifference {
    /// The passage has CR LF where the file has LF.
    LineEndings,
    /// Spaces or tabs at the ends of lines differ.
    TrailingWhitespace,
    /// The lines of the passage have their numbers in front.
    LineNumbers,
    /// The passage is a part of other lines as well, and is a whole line at one place.
    PartialLines,
}

impl fmt::Display for IgnoredDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LineEndings => "the old text has CR LF line ends, the file has LF",
            Self::TrailingWhitespace => "the old text and the file differ in spaces at line ends",
            Self::LineNumbers => "the old text has line numbers in front, which were left out",
            Self::PartialLines => "the one place was taken where the old text is whole lines",
        })
    }
}

/// Why nothing was replaced.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReplaceError {
    /// There is nothing to look for.
    #[error(
        "the text to replace is empty, so it names no place in the file; copy the passage to replace, \
         or use write to create or overwrite a whole file"
    )]
    EmptyOld,
    /// The text would stay as it is.
    #[error(
        "the old and the new text are the same here, so nothing would change; \
         they must differ"
    )]
    Unchanged,
    /// The passage is not there.
    #[error("the text to replace was not found; {}", NearestPassageAdvice(.nearest.as_deref()))]
    NoMatch {
        /// The passage that comes closest, when one resembles it at all.
        nearest: Option<Box<NearestPassage>>,
    },
    /// The passage is not there, and it is written in a way that no file has.
    #[error("the text to replace was not found: {mistake}{}", MiswrittenAdvice(.nearest.as_deref()))]
    Miswritten {
        /// The mistake.
        mistake: PassageMistake,
        /// The passage that comes closest, when one resembles it at all.
        nearest: Option<Box<NearestPassage>>,
    },
    /// The passage is there more than once.
    #[error(
        "the text to replace was found {total} times, at {}; add lines around it until it is unique, \
         or set replace_all to replace every occurrence",
        LineList(.lines, *.total)
    )]
    Ambiguous {
        /// The lines, counted from 1, where occurrences begin: the first [`LINES_LISTED_MAX`].
        lines: Vec<usize>,
        /// How many occurrences there are, overlapping ones included.
        total: usize,
    },
    /// The result would be too large.
    #[error(
        "replacing {replacements} occurrences would write {bytes} bytes, over the limit of \
         {REPLACEMENT_BYTES_MAX}; use a shorter new_string or replace fewer occurrences"
    )]
    ResultTooLarge {
        /// How many occurrences there are.
        replacements: usize,
        /// How many bytes the replacements would write.
        bytes: usize,
    },
}

/// Replaces `old` by `new` in `text`, also if `old` differs from the text in something that cannot be seen and only one place can
/// be meant. See [`IgnoredDifference`].
///
/// # Errors
///
/// As [`replace`].
pub fn replace_leniently(
    text: &str,
    old: &str,
    new: &str,
    mode: ReplaceMode,
) -> Result<ReplacedText, ReplaceError> {
    match (replace(text, old, new, mode), mode) {
        (Err(ReplaceError::NoMatch { nearest }), ReplaceMode::One) => {
            match lenient::replace_unique(text, old, new) {
                Some(replaced) => Ok(replaced),
                None => Err(ReplaceError::NoMatch { nearest }.with_mistake(text, old)),
            }
        }
        (Err(ReplaceError::NoMatch { nearest }), ReplaceMode::All) => {
            Err(ReplaceError::NoMatch { nearest }.with_mistake(text, old))
        }
        (Err(ambiguous @ ReplaceError::Ambiguous { .. }), ReplaceMode::One) => {
            lenient::replace_whole_lines(text, old, new).ok_or(ambiguous)
        }
        (replaced, _) => replaced,
    }
}

impl ReplaceError {
    /// Returns the error with the mistake in how `old` is written, if there is one.
    fn with_mistake(self, text: &str, old: &str) -> Self {
        match (self, lenient::mistake(text, old)) {
            (Self::NoMatch { nearest }, Some(mistake)) => Self::Miswritten { mistake, nearest },
            (err, _) => err,
        }
    }
}

/// A mistake in how a passage is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PassageMistake {
    /// Its lines have their numbers in front.
    LineNumbers,
    /// It has the two characters `\\n` in place of line breaks.
    EscapedLineBreaks,
}

impl fmt::Display for PassageMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LineNumbers => "its lines begin with line numbers; read the file again, and copy the text without them",
            Self::EscapedLineBreaks => {
                "it has the two characters \\n where the file has line breaks; write real line breaks"
            }
        })
    }
}

/// Replaces `old` by `new` in `text`.
///
/// Without a carriage return in `old`, a line feed in it matches CR LF as well. Without one in
/// either string, each line feed of `new` becomes the ending of the line that it replaces, or of
/// the line where the replacement happens. A carriage return in `old` makes both strings literal,
/// one in `new` makes `new` literal. A byte order mark stays unless `old`
/// names it.
///
/// # Errors
///
/// [`ReplaceError`] when `old` is empty, is not found, is found more than once in [`ReplaceMode::One`], or
/// when the result would be unchanged or too large.
pub fn replace(
    text: &str,
    old: &str,
    new: &str,
    mode: ReplaceMode,
) -> Result<ReplacedText, ReplaceError> {
    if old.is_empty() {
        return Err(ReplaceError::EmptyOld);
    }
    if old == new {
        return Err(ReplaceError::Unchanged);
    }
    let source = SourceText::new(text);
    let found = source.occurrences(old, mode)?;
    let edit = PlannedReplacement { source: &source, old, new };
    let replaced = edit.write(&found)?;
    if replaced == text {
        return Err(ReplaceError::Unchanged);
    }
    let edited_line = found.first().map_or(1, |span| edit.first_changed_line(*span));
    // Where only a line's ending changes, the line differs although its text does not.
    let lines = text.split_inclusive('\n').zip(replaced.split_inclusive('\n'));
    let same = lines.take_while(|(before, after)| before == after).count();
    let first_changed_line = edited_line.min(same + 1);
    Ok(ReplacedText {
        text: replaced,
        replacements: found.len(),
        first_changed_line,
        ignored: None,
    })
}

/// A text and where its lines end.
struct SourceText<'t> {
    text: &'t str,
    breaks: Vec<LineBreak>,
    has_crlf: bool,
}

#[derive(Clone, Copy)]
struct LineBreak {
    /// The offset of the ending's first byte.
    at: usize,
    ending: LineEnding,
}

/// One occurrence, as offsets into the text.
#[derive(Clone, Copy)]
struct MatchSpan {
    start: usize,
    end: usize,
}

impl<'t> SourceText<'t> {
    fn new(text: &'t str) -> Self {
        let mut breaks = Vec::new();
        let mut at = 0;
        for line in lines::split_lines(text) {
            if let Some(ending) = line.ending {
                breaks.push(LineBreak { at: at + line.text.len(), ending });
            }
            at += line.bytes();
        }
        let has_crlf = breaks.iter().any(|line_break| line_break.ending == LineEnding::CrLf);
        Self { text, breaks, has_crlf }
    }

    fn occurrences(&self, old: &str, mode: ReplaceMode) -> Result<Vec<MatchSpan>, ReplaceError> {
        let view = NormalizedText::new(self, old);
        let starts = match mode {
            ReplaceMode::One => occurrences::find_overlapping(view.text.as_bytes(), old.as_bytes()),
            ReplaceMode::All => view.text.match_indices(old).map(|(start, _)| start).collect(),
        };
        let spans: Vec<MatchSpan> = starts
            .into_iter()
            .map(|start| MatchSpan {
                start: view.offset_in_source(start),
                end: view.offset_in_source(start + old.len()),
            })
            .collect();
        if spans.is_empty() {
            let nearest = nearest::find_nearest_passage(self.text, old).map(Box::new);
            return Err(ReplaceError::NoMatch { nearest });
        }
        if mode == ReplaceMode::One && spans.len() > 1 {
            let listed = spans.iter().take(LINES_LISTED_MAX);
            let lines = listed.map(|span| self.line_at(span.start)).collect();
            return Err(ReplaceError::Ambiguous { lines, total: spans.len() });
        }
        Ok(spans)
    }

    /// Returns the line, counted from 1, that an offset lies in.
    fn line_at(&self, offset: usize) -> usize {
        self.breaks_before(offset) + 1
    }

    fn breaks_before(&self, offset: usize) -> usize {
        self.breaks.partition_point(|line_break| line_break.at < offset)
    }

    fn slice(&self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).expect("occurrences lie on character boundaries, in order")
    }
}

/// The text as `old` is compared with it: with bare line feeds, unless `old` says otherwise.
struct NormalizedText<'t> {
    text: Cow<'t, str>,
    /// The offsets in the view of the line feeds that stand for CR LF.
    shortened: Vec<usize>,
}

impl<'t> NormalizedText<'t> {
    fn new(source: &SourceText<'t>, old: &str) -> Self {
        if !source.has_crlf || old.contains('\r') {
            return Self { text: Cow::Borrowed(source.text), shortened: Vec::new() };
        }
        let mut text = String::with_capacity(source.text.len());
        let mut shortened = Vec::new();
        for line in lines::split_lines(source.text) {
            text.push_str(line.text);
            if line.ending == Some(LineEnding::CrLf) {
                shortened.push(text.len());
            }
            if line.ending.is_some() {
                text.push('\n');
            }
        }
        Self { text: Cow::Owned(text), shortened }
    }

    fn offset_in_source(&self, offset: usize) -> usize {
        offset + self.shortened.partition_point(|line_feed| *line_feed < offset)
    }
}

/// A replacement whose places are known.
struct PlannedReplacement<'e> {
    source: &'e SourceText<'e>,
    old: &'e str,
    new: &'e str,
}

impl PlannedReplacement<'_> {
    fn write(&self, spans: &[MatchSpan]) -> Result<String, ReplaceError> {
        let bytes = self.new.len().saturating_mul(spans.len());
        if bytes > REPLACEMENT_BYTES_MAX {
            return Err(ReplaceError::ResultTooLarge { replacements: spans.len(), bytes });
        }
        let has_carriage_return = self.old.contains('\r') || self.new.contains('\r');
        let is_literal = has_carriage_return || !self.source.has_crlf || !self.new.contains('\n');
        let mut result = String::with_capacity(self.source.text.len());
        let mut copied = 0;
        for span in spans {
            result.push_str(self.source.slice(copied, span.start));
            copied = span.end;
            if is_literal {
                result.push_str(self.new);
                continue;
            }
            let first = self.source.breaks_before(span.start);
            let last = self.source.breaks_before(span.end);
            let breaks = self.source.breaks.iter().take(last).skip(first);
            let replaced: Vec<LineEnding> = breaks.map(|line_break| line_break.ending).collect();
            let around = self.source.breaks.get(last).or_else(|| self.source.breaks.last());
            let around = around.map_or(LineEnding::Lf, |line_break| line_break.ending);
            result.push_str(&with_endings(self.old, self.new, &replaced, around));
        }
        result.push_str(self.source.slice(copied, self.source.text.len()));
        Ok(result)
    }

    fn first_changed_line(&self, span: MatchSpan) -> usize {
        let same = self.old.bytes().zip(self.new.bytes()).take_while(|(old, new)| old == new);
        self.source.line_at(span.start) + same.filter(|(old, _)| *old == b'\n').count()
    }
}

/// Returns `new` with each line feed written as the ending of the line that it continues.
///
/// Lines that `old` and `new` share at their beginning and at their end keep their own endings,
/// so a mixed file does not change where the edit does not. Lines between pair off in order, and
/// what is left over follows the last line replaced, or `around` when no ending was replaced.
fn with_endings(old: &str, new: &str, replaced: &[LineEnding], around: LineEnding) -> String {
    let breaks = new.matches('\n').count();
    let shared_max = breaks.min(replaced.len());
    let tail = old.rsplit('\n').zip(new.rsplit('\n')).take_while(|(old, new)| old == new).count();
    let tail = tail.saturating_sub(1).min(shared_max);
    let head = old.split('\n').zip(new.split('\n')).take_while(|(old, new)| old == new).count();
    let head = head.min(shared_max);

    let ending_of = |line: usize| {
        let from_end = breaks - line;
        if line >= head && from_end <= tail {
            return replaced.get(replaced.len() - from_end).copied();
        }
        replaced.get(line).or_else(|| replaced.last()).copied()
    };
    let mut result = String::with_capacity(new.len() + breaks);
    for (line, text) in new.split('\n').enumerate() {
        result.push_str(text);
        if line < breaks {
            result.push_str(ending_of(line).unwrap_or(around).as_str());
        }
    }
    result
}

/// The advice about a passage that the text does not have.
pub(crate) struct NearestPassageAdvice<'n>(pub(crate) Option<&'n NearestPassage>);

impl fmt::Display for NearestPassageAdvice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(nearest) = self.0 else {
            return f.write_str(
                "nothing in the file resembles it; read the file again and copy the passage exactly",
            );
        };
        let NearestPassage { line, passage, difference } = nearest;
        write!(
            f,
            "the nearest passage is at line {line}, where {difference}; \
             copy it exactly, including whitespace:\n{passage}"
        )
    }
}

/// The advice behind a mistake in how a passage is written.
pub(crate) struct MiswrittenAdvice<'n>(pub(crate) Option<&'n NearestPassage>);

impl fmt::Display for MiswrittenAdvice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => Ok(()),
            Some(NearestPassage { line, passage, .. }) => {
                write!(f, ". The nearest passage is at line {line}:\n{passage}")
            }
        }
    }
}

/// Some lines, and how many there are in all, in words.
pub(crate) struct LineList<'l>(pub(crate) &'l [usize], pub(crate) usize);

impl fmt::Display for LineList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(lines, total) = self;
        let numbers: Vec<String> = lines.iter().map(usize::to_string).collect();
        write!(f, "lines {}", numbers.join(", "))?;
        match total.saturating_sub(lines.len()) {
            0 => Ok(()),
            more => write!(f, " and {more} more places"),
        }
    }
}
