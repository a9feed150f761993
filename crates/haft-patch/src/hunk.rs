//! Reads one hunk: its `@@` line and the lines below it.
//!
//! Counts in the `@@` line decide where a hunk ends when they fit what follows, and are ignored
//! when they do not: then a hunk goes on as long as lines look like hunk lines, and blank lines
//! at its end do not belong to it. Where a hunk belongs in a file is decided elsewhere.

use super::error::{HunkName, PatchParseError};
use crate::cursor::PatchCursor;
use crate::passage::lines::LineEnding;

const EXPECTED_HEADER: &str =
    "`@@ -start,count +start,count @@`, or `@@` without numbers above lines that occur once";
const EXPECTED_LINES: &str = "hunk lines, each beginning with a space, `+` or `-`";
const MARKER: char = '\\';

/// One change of a text: lines to find, of which some go, and lines to put there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchHunk {
    pub(crate) name: HunkName,
    /// The line of the original, counted from 0, where the patch says that the hunk begins.
    pub(crate) old_index: Option<usize>,
    /// Lines above the hunk that narrow its place, from `@@ text @@` without numbers.
    pub(crate) anchors: Vec<String>,
    pub(crate) lines: Vec<HunkLine>,
    /// Whether the original ends with this hunk, without a line break.
    pub(crate) old_unterminated: bool,
    /// Whether the result ends with this hunk, without a line break.
    pub(crate) new_unterminated: bool,
    /// Whether the patch says in other words that the file ends with this hunk.
    pub(crate) ends_file: bool,
    /// How lines end when there is no original to learn it from.
    pub(crate) ending_alone: LineEnding,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HunkLine {
    pub(crate) kind: HunkLineKind,
    pub(crate) text: String,
    /// The ending that the line must have; `None` where that is not said.
    pub(crate) ending: Option<LineEnding>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HunkLineKind {
    Context,
    Remove,
    Add,
}

impl PatchHunk {
    /// Returns the lines that the hunk expects, each with a line feed.
    pub fn old_text(&self) -> String {
        self.old_side().flat_map(|line| [line.text.as_str(), "\n"]).collect()
    }

    /// Returns the lines that the hunk leaves, each with a line feed.
    pub fn new_text(&self) -> String {
        self.new_side().flat_map(|line| [line.text.as_str(), "\n"]).collect()
    }

    /// Reads a hunk whose `@@` line is the current one.
    pub(crate) fn parse(
        cursor: &mut PatchCursor<'_>,
        number: usize,
    ) -> Result<Self, PatchParseError> {
        let name = HunkName { number, line: cursor.number() };
        let crlf_header = cursor.line().is_some_and(|line| line.ending == Some(LineEnding::CrLf));
        let mut header = HunkHeader::parse(cursor)?;
        cursor.advance();
        while header.numbers.is_none() && cursor.peek().is_some_and(|text| text.starts_with("@@")) {
            let HunkHeader { numbers: None, anchors } = HunkHeader::parse(cursor)? else { break };
            header.anchors.extend(anchors);
            cursor.advance();
        }
        let count = header.numbers.and_then(|numbers| by_counts(cursor, &numbers));
        let count = count.unwrap_or_else(|| by_shape(cursor));
        let mut hunk = Self::body(cursor, name, count, crlf_header)?;
        let old_lines = hunk.old_side().count();
        hunk.old_index = header.numbers.and_then(|numbers| numbers.old_index(old_lines));
        hunk.anchors = header.anchors;
        Ok(hunk)
    }

    /// Reads a hunk that has no `@@` line, as the envelope allows.
    pub(crate) fn parse_bare(
        cursor: &mut PatchCursor<'_>,
        number: usize,
    ) -> Result<Self, PatchParseError> {
        let name = HunkName { number, line: cursor.number() };
        let count = by_shape(cursor);
        Self::body(cursor, name, count, false)
    }

    fn body(
        cursor: &mut PatchCursor<'_>,
        name: HunkName,
        count: usize,
        crlf_header: bool,
    ) -> Result<Self, PatchParseError> {
        cursor.count_hunk()?;
        if count == 0 {
            return Err(cursor.malformed(EXPECTED_LINES));
        }
        let mut hunk = Self {
            name,
            old_index: None,
            anchors: Vec::new(),
            lines: Vec::new(),
            old_unterminated: false,
            new_unterminated: false,
            ends_file: false,
            ending_alone: LineEnding::Lf,
        };
        for _ in 0..count {
            let Some(line) = cursor.line() else { break };
            if is_marker(line.text) {
                // `\ No newline at end of file` describes the line above it.
                let Some(last) = hunk.lines.last_mut() else {
                    let expected = "a line of the file above `\\ No newline at end of file`";
                    return Err(cursor.malformed(expected));
                };
                last.ending = None;
                hunk.old_unterminated |= last.kind != HunkLineKind::Add;
                hunk.new_unterminated |= last.kind != HunkLineKind::Remove;
            } else {
                let Some((kind, text)) = classify(line.text) else {
                    return Err(cursor.malformed(EXPECTED_LINES));
                };
                if (kind != HunkLineKind::Add && hunk.old_unterminated)
                    || (kind != HunkLineKind::Remove && hunk.new_unterminated)
                {
                    let expected = "no further line after the one marked as the end of the file";
                    return Err(cursor.malformed(expected));
                }
                // A context line without its space may have lost its carriage return as well.
                let ending = if line.text.is_empty() { None } else { line.ending };
                hunk.lines.push(HunkLine { kind, text: text.to_owned(), ending });
            }
            cursor.advance();
        }
        // If all lines of the patch end alike, their ending says nothing about the file. If the endings differ, a tool wrote
        // the patch, and each line keeps its ending.
        let has = |ending| hunk.lines.iter().any(|line| line.ending == Some(ending));
        let (has_crlf, has_lf) = (has(LineEnding::CrLf), has(LineEnding::Lf));
        if !(has_crlf && has_lf) {
            hunk.lines.iter_mut().for_each(|line| line.ending = None);
        }
        if has_crlf && !has_lf && !crlf_header {
            hunk.ending_alone = LineEnding::CrLf;
        }
        let side = |line: &HunkLine| (line.text.clone(), line.ending);
        if hunk.old_unterminated == hunk.new_unterminated
            && hunk.old_side().map(side).eq(hunk.new_side().map(side))
        {
            return Err(PatchParseError::NoChange { line: name.line });
        }
        Ok(hunk)
    }

    /// Returns the lines that the original must have: context and removed ones.
    pub(crate) fn old_side(&self) -> impl Iterator<Item = &HunkLine> {
        self.lines.iter().filter(|line| line.kind != HunkLineKind::Add)
    }

    /// Returns the lines that the result will have: context and added ones.
    pub(crate) fn new_side(&self) -> impl Iterator<Item = &HunkLine> {
        self.lines.iter().filter(|line| line.kind != HunkLineKind::Remove)
    }

    /// Returns how many context lines come before the first change.
    pub(crate) fn leading(&self) -> usize {
        self.lines.iter().take_while(|line| line.kind == HunkLineKind::Context).count()
    }

    /// Returns how many context lines come after the last change.
    pub(crate) fn trailing(&self) -> usize {
        self.lines.iter().rev().take_while(|line| line.kind == HunkLineKind::Context).count()
    }

    /// Returns the lines from the first change to the last.
    pub(crate) fn core(&self) -> impl Iterator<Item = &HunkLine> {
        let changed = self.lines.len() - self.trailing();
        self.lines.iter().take(changed).skip(self.leading())
    }

    pub(crate) fn has(&self, kind: HunkLineKind) -> bool {
        self.lines.iter().any(|line| line.kind == kind)
    }

    /// Whether the patch says that the file ends with this hunk.
    pub(crate) fn reaches_end(&self) -> bool {
        self.ends_file || self.old_unterminated || self.new_unterminated
    }
}

/// The numbers of an `@@` line.
#[derive(Clone, Copy)]
struct HunkRanges {
    old_start: usize,
    old_count: usize,
    new_count: usize,
}

impl HunkRanges {
    fn parse(old: &str, new: &str) -> Option<Self> {
        let (old_start, old_count) = range(old.strip_prefix('-')?)?;
        let (_, new_count) = range(new.strip_prefix('+')?)?;
        Some(Self { old_start, old_count, new_count })
    }

    /// Returns the place they name: of a hunk without old lines, they name the line above it.
    fn old_index(self, old_lines: usize) -> Option<usize> {
        if old_lines == 0 { Some(self.old_start) } else { self.old_start.checked_sub(1) }
    }
}

fn range(text: &str) -> Option<(usize, usize)> {
    match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

struct HunkHeader {
    numbers: Option<HunkRanges>,
    anchors: Vec<String>,
}

impl HunkHeader {
    fn parse(cursor: &PatchCursor<'_>) -> Result<Self, PatchParseError> {
        let text = cursor.peek().unwrap_or_default();
        if text.starts_with("@@@") {
            let instead = "write a patch against one version of the file";
            return Err(cursor.unsupported("combined diffs of merges are", instead));
        }
        let Some(rest) = text.strip_prefix("@@").map(str::trim) else {
            return Err(cursor.malformed(EXPECTED_HEADER));
        };
        let mut words = rest.split_whitespace();
        let old = words.next().unwrap_or_default();
        let new = words.next().unwrap_or_default();
        let begins_with_digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        let is_numbered = old.strip_prefix('-').is_some_and(|rest| {
            begins_with_digit(rest) || (!rest.is_empty() && new.starts_with('+'))
        });
        if is_numbered {
            let Some(numbers) = HunkRanges::parse(old, new) else {
                return Err(cursor.malformed(EXPECTED_HEADER));
            };
            return Ok(Self { numbers: Some(numbers), anchors: Vec::new() });
        }
        let anchor = rest.strip_suffix("@@").unwrap_or(rest).trim();
        let is_filler = matches!(anchor, "" | "..." | "…");
        let anchors = if is_filler { Vec::new() } else { vec![anchor.to_owned()] };
        Ok(Self { numbers: None, anchors })
    }
}

/// Returns how many lines the hunk has if its counts are right: they end where something else
/// can begin.
fn by_counts(cursor: &PatchCursor<'_>, numbers: &HunkRanges) -> Option<usize> {
    let mut old = numbers.old_count;
    let mut new = numbers.new_count;
    let mut count = 0;
    while old > 0 || new > 0 {
        let text = cursor.peek_ahead(count)?;
        if !is_marker(text) {
            let (kind, _) = classify(text)?;
            old = if kind == HunkLineKind::Add { old } else { old.checked_sub(1)? };
            new = if kind == HunkLineKind::Remove { new } else { new.checked_sub(1)? };
        }
        count += 1;
    }
    while cursor.peek_ahead(count).is_some_and(is_marker) {
        count += 1;
    }
    cursor.ends_hunk(count).then_some(count)
}

/// Returns how many lines below look like lines of the hunk, blank ones at the end left out.
fn by_shape(cursor: &PatchCursor<'_>) -> usize {
    let mut count = 0;
    let mut blank = 0;
    while let Some(text) = cursor.peek_ahead(count) {
        let names_file = cursor.begins_names(count)
            && cursor.peek_ahead(count + 2).is_some_and(|text| text.starts_with("@@"));
        if names_file || (!is_marker(text) && classify(text).is_none()) {
            break;
        }
        blank = if text.is_empty() { blank + 1 } else { 0 };
        count += 1;
    }
    count - blank
}

fn classify(text: &str) -> Option<(HunkLineKind, &str)> {
    let mut chars = text.chars();
    let kind = match chars.next() {
        // The space before an empty context line is often lost.
        None | Some(' ') => HunkLineKind::Context,
        Some('-') => HunkLineKind::Remove,
        Some('+') => HunkLineKind::Add,
        Some(_) => return None,
    };
    Some((kind, chars.as_str()))
}

fn is_marker(text: &str) -> bool {
    text.strip_prefix(MARKER).is_some_and(|rest| rest.starts_with(' '))
}
