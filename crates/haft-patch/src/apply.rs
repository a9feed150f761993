//! Makes the patched text, once every hunk has its place.
//!
//! Lines that the patch does not name are copied byte for byte. An added line ends as the line it
//! replaces does, or as its neighbours do; whether the text ends with a line break stays as it is,
//! unless the patch says `\ No newline at end of file` on either side.

use super::error::PatchApplyError;
use super::hunk::{HunkLine, HunkLineKind, PatchHunk};
use super::locate::{self, OriginalText};
use super::{FilePatch, PatchOperation};
use crate::passage::lines::{BYTE_ORDER_MARK, LineEnding};

/// Returns the text that a file has after its patch, or `None` where the patch deletes it.
///
/// `original` is the text at `old_path`; for a file to be created, what is at `new_path`.
/// Whether something is in the way of a rename is for the caller to see.
///
/// # Errors
///
/// [`PatchApplyError`] when a file is there or not there against what the patch says, or when a hunk has
/// no place or not just one.
pub fn apply(file: &FilePatch, original: Option<&str>) -> Result<Option<String>, PatchApplyError> {
    match (file.operation, original) {
        (PatchOperation::Create, Some(_)) => Err(PatchApplyError::Exists),
        (PatchOperation::Create, None) => Ok(Some(created(&file.hunks))),
        (_, None) => Err(PatchApplyError::Missing),
        (PatchOperation::Delete, Some(text)) => delete(&file.hunks, text).map(|()| None),
        (PatchOperation::Modify | PatchOperation::Rename, Some(text)) => {
            apply_hunks(&file.hunks, text).map(Some)
        }
    }
}

/// Returns the text with all hunks applied.
///
/// # Errors
///
/// [`PatchApplyError`] when a hunk has no place or several. Then no hunk is applied.
pub fn apply_hunks(hunks: &[PatchHunk], original: &str) -> Result<String, PatchApplyError> {
    let original = OriginalText::new(original);
    let places = locate::locate_hunks(&original, hunks)?;
    let mut weaver = PatchedTextWriter::new(&original);
    for (hunk, place) in hunks.iter().zip(&places) {
        weaver.copy_to(place + hunk.leading());
        weaver.change(hunk);
    }
    let ends_changed = weaver.at == original.lines.len();
    weaver.copy_to(original.lines.len());
    if ends_changed && let Some(hunk) = hunks.last() {
        weaver.end(hunk);
    }
    Ok(weaver.text)
}

fn created(hunks: &[PatchHunk]) -> String {
    let mut text = String::new();
    for hunk in hunks {
        let count = hunk.lines.len();
        for (at, line) in hunk.lines.iter().enumerate() {
            text.push_str(&line.text);
            if at + 1 < count || !hunk.new_unterminated {
                text.push_str(line.ending.unwrap_or(hunk.ending_alone).as_str());
            }
        }
    }
    text
}

/// Checks that the removed lines are the whole text; a patch without hunks removes whatever is there.
fn delete(hunks: &[PatchHunk], text: &str) -> Result<(), PatchApplyError> {
    let original = OriginalText::new(text);
    let places = locate::locate_hunks(&original, hunks)?;
    let Some((hunk, place)) = hunks.first().zip(places.first()) else { return Ok(()) };
    let removed = hunk.old_side().count();
    let lines = original.lines.len().saturating_sub(removed);
    if *place != 0 || lines > 0 {
        return Err(PatchApplyError::DeleteIncomplete { hunk: hunk.name, lines });
    }
    Ok(())
}

/// The new text while it is written, and how much of the original has gone into it.
struct PatchedTextWriter<'w> {
    original: &'w OriginalText<'w>,
    text: String,
    /// The next line of the original.
    at: usize,
    /// The ending of the last line written; `None` while that line is open.
    last_ending: Option<LineEnding>,
    last_is_added: bool,
    /// Whether any line was written; a byte order mark is none.
    has_lines: bool,
}

impl<'w> PatchedTextWriter<'w> {
    fn new(original: &'w OriginalText<'w>) -> Self {
        let mark = original.has_mark.then_some(BYTE_ORDER_MARK);
        Self {
            original,
            text: mark.into_iter().collect(),
            at: 0,
            last_ending: None,
            last_is_added: false,
            has_lines: false,
        }
    }

    /// Copies the lines of the original up to `end`.
    fn copy_to(&mut self, end: usize) {
        while self.at < end {
            self.copy();
        }
    }

    fn copy(&mut self) {
        if let Some(line) = self.original.lines.get(self.at) {
            self.write(line.text, line.ending);
        }
        self.at += 1;
    }

    /// Writes the changes of a hunk, whose first changed line comes next.
    fn change(&mut self, hunk: &PatchHunk) {
        self.drop_mark(hunk);
        let mut run = ChangedLines { start: self.at, added: 0 };
        for line in hunk.core() {
            match line.kind {
                HunkLineKind::Context => {
                    self.copy();
                    run = ChangedLines { start: self.at, added: 0 };
                }
                HunkLineKind::Remove => self.at += 1,
                HunkLineKind::Add => {
                    self.add(line, &run);
                    run.added += 1;
                }
            }
        }
    }

    fn add(&mut self, line: &HunkLine, run: &ChangedLines) {
        let stands_already = !self.has_lines && !self.text.is_empty();
        let unmarked = line.text.strip_prefix(BYTE_ORDER_MARK).filter(|_| stands_already);
        let ending = line.ending.unwrap_or_else(|| self.ending_here(run));
        self.write(unmarked.unwrap_or(&line.text), Some(ending));
        self.last_is_added = true;
    }

    /// Removes the byte order mark where a hunk shows it in a removed first line, and in no added one.
    fn drop_mark(&mut self, hunk: &PatchHunk) {
        let marked = |line: Option<&HunkLine>| {
            line.is_some_and(|line| line.text.starts_with(BYTE_ORDER_MARK))
        };
        if self.at == 0 && marked(hunk.old_side().next()) && !marked(hunk.new_side().next()) {
            self.text.clear();
        }
    }

    /// Writes a line, closing the one before it if the original left it open at its end.
    fn write(&mut self, text: &str, ending: Option<LineEnding>) {
        if self.has_lines && self.last_ending.is_none() {
            self.text.push_str(self.usual_ending().as_str());
        }
        self.text.push_str(text);
        self.text.push_str(ending.map_or("", LineEnding::as_str));
        self.has_lines = true;
        self.last_ending = ending;
        self.last_is_added = false;
    }

    /// Returns the ending for an added line: of the line it replaces, or of one beside it.
    fn ending_here(&self, run: &ChangedLines) -> LineEnding {
        let replaced = run.start + run.added;
        let replaced = if replaced < self.at { self.ending_of(replaced) } else { None };
        let above = self.at.checked_sub(1);
        replaced
            .or_else(|| above.and_then(|above| self.ending_of(above)))
            .or_else(|| self.ending_of(self.at))
            .unwrap_or_else(|| self.usual_ending())
    }

    fn ending_of(&self, line: usize) -> Option<LineEnding> {
        self.original.lines.get(line).and_then(|line| line.ending)
    }

    /// Returns the ending of the nearest line above that has one.
    fn usual_ending(&self) -> LineEnding {
        let mut above = self.original.lines.iter().take(self.at).rev();
        above.find_map(|line| line.ending).unwrap_or(LineEnding::Lf)
    }

    /// Ends a text whose last lines a hunk changed.
    fn end(&mut self, hunk: &PatchHunk) {
        let terminated = match (hunk.new_unterminated, hunk.old_unterminated) {
            (true, _) => false,
            (false, true) => true,
            (false, false) if self.last_is_added => self.original.is_terminated(),
            (false, false) => return,
        };
        match self.last_ending {
            Some(ending) if !terminated => {
                self.text.truncate(self.text.len() - ending.as_str().len());
            }
            None if terminated && self.has_lines => {
                self.text.push_str(self.usual_ending().as_str());
            }
            Some(_) | None => {}
        }
    }
}

/// A run of changed lines: where it begins in the original and how many lines it has added.
struct ChangedLines {
    start: usize,
    added: usize,
}
