//! Turns the matches in one file into the entries of an answer: `file:line:text`, with context lines as
//! `file-line-text` in the entry of their match. Lines are shown without their ends, lossily where they are not
//! UTF-8, and cut around the match where they are long.

use std::borrow::Cow;
use std::fmt::Write;
use std::io;
use std::ops::Range;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};
use haft_contract::Cx;
use haft_contract::limits::SEARCH_SIDECAR_BYTES_MAX;

/// Longest matched line that `grep` shows, in bytes.
///
/// Limit (files): the line is cut around its match.
pub(crate) const LINE_BYTES_MAX: usize = 1_000;
/// Longest part of a long line that is shown before the match, in bytes.
const LEAD_BYTES_MAX: usize = 200;
/// Stands between groups of lines that are not neighbours.
pub(crate) const GROUP_SEPARATOR: &str = "--";

/// Collects the entries of one file.
pub(crate) struct MatchCollector<'a> {
    cx: &'a Cx,
    matcher: &'a RegexMatcher,
    /// The file as models read it.
    display: &'a str,
    /// Lines that belong to the next match.
    before: String,
    entries: Vec<String>,
    bytes: usize,
    is_binary: bool,
}

/// The matches in one file.
#[derive(Debug, Default)]
pub(crate) struct FileMatches {
    /// One per match, in the order of lines.
    pub(crate) entries: Vec<String>,
    /// Their size, line ends included.
    pub(crate) bytes: usize,
    /// Whether the file turned out to be binary; nothing of it is shown then.
    pub(crate) is_binary: bool,
}

impl<'a> MatchCollector<'a> {
    /// Returns an empty collector for the file shown as `display`.
    pub(crate) fn new(cx: &'a Cx, matcher: &'a RegexMatcher, display: &'a str) -> Self {
        let (before, entries) = (String::new(), Vec::new());
        Self { cx, matcher, display, before, entries, bytes: 0, is_binary: false }
    }

    /// Returns what was collected.
    pub(crate) fn finish(self) -> FileMatches {
        if self.is_binary {
            return FileMatches { is_binary: true, ..FileMatches::default() };
        }
        FileMatches { entries: self.entries, bytes: self.bytes, is_binary: false }
    }

    fn line(&self, separator: char, number: Option<u64>, text: &str) -> String {
        let number = number.unwrap_or(0);
        format!("{}{separator}{number}{separator}{text}", self.display)
    }
}

impl Sink for &mut MatchCollector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let line = without_end(found.bytes());
        // Only a long line is cut around its match, so only there haft looks up the place of the match.
        let focus = (line.len() > LINE_BYTES_MAX).then(|| self.matcher.find(line).ok().flatten());
        let focus = focus.flatten().map_or(0..0, |focus| focus.start()..focus.end());
        let text = self.line(':', found.line_number(), &shown(line, focus));
        let mut entry = std::mem::take(&mut self.before);
        entry.push_str(&text);
        self.bytes += entry.len() + 1;
        self.entries.push(entry);
        // One entry more than fits tells that something was left out.
        Ok(self.bytes <= SEARCH_SIDECAR_BYTES_MAX && !self.cx.is_cancelled())
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        let text = self.line('-', found.line_number(), &shown(without_end(found.bytes()), 0..0));
        match (found.kind(), self.entries.last_mut()) {
            (SinkContextKind::After, Some(entry)) => {
                self.bytes += text.len() + 1;
                // Writing to a string cannot fail.
                let _ = write!(entry, "\n{text}");
            }
            _ => {
                self.before.push_str(&text);
                self.before.push('\n');
            }
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        self.before.push_str(GROUP_SEPARATOR);
        self.before.push('\n');
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.is_binary = true;
        Ok(false)
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns what is shown of a line; of a long one, a window that holds the beginning of `focus`.
fn shown(line: &[u8], focus: Range<usize>) -> Cow<'_, str> {
    if line.len() <= LINE_BYTES_MAX {
        return String::from_utf8_lossy(line);
    }
    let start =
        if focus.end <= LINE_BYTES_MAX { 0 } else { focus.start.saturating_sub(LEAD_BYTES_MAX) };
    let start = start.min(line.len() - LINE_BYTES_MAX);
    let (start, end) = (boundary_from(line, start), boundary_from(line, start + LINE_BYTES_MAX));
    let window = line.get(start..end).unwrap_or_default();
    let mut text = String::new();
    if start > 0 {
        let _ = write!(text, "[{start} bytes cut]");
    }
    text.push_str(&String::from_utf8_lossy(window));
    if end < line.len() {
        let _ = write!(text, "[{} bytes cut]", line.len() - end);
    }
    Cow::Owned(text)
}

/// Returns the first place from `at` on where a character starts, as far as bytes tell.
fn boundary_from(line: &[u8], at: usize) -> usize {
    const CONTINUATION_BYTES_MAX: usize = 3;
    let rest = line.get(at..).unwrap_or_default();
    let is_continuation = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let skipped = rest.iter().take(CONTINUATION_BYTES_MAX).take_while(is_continuation).count();
    at.min(line.len()) + skipped
}
