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
/// `original` is the text at `old_path`, or at `new_path` if the patch creates the file. The caller checks whether a file
/// is in the way of a rename.
///
/// # Errors
///
/// [`PatchApplyError`] when the file exists although the patch creates it, when it does not exist although the patch
/// changes it, or when a hunk does not have exactly one place.
pub fn apply(file: &FilePatch, original: Option<&str>) -> Result<Option<String>, PatchApplyError> {
    match (file.operation, original) {
        (PatchOperation::Create, Some(_)) => Err(PatchApplyError::Exists),
        (PatchOperation::Create, None) => {
            let mut text = String::new();
            for hunk in &file.hunks {
                let count = hunk.lines.len();
                for (at, line) in hunk.lines.iter().enumerate() {
                    text.push_str(&line.text);
                    if at + 1 < count || !hunk.new_unterminated {
                        text.push_str(line.ending.unwrap_or(hunk.ending_alone).as_str());
                    }
                }
            }
            Ok(Some(text))
        }
        (_, None) => Err(PatchApplyError::Missing),
        (PatchOperation::Delete, Some(text)) => {
            let original = OriginalText::new(text);
            let places = locate::locate_hunks(&original, &file.hunks)?;
            // A patch without hunks removes any text.
            let Some((hunk, place)) = file.hunks.first().zip(places.first()) else {
                return Ok(None);
            };
            let lines = original.lines.len().saturating_sub(hunk.old_side().count());
            if *place != 0 || lines > 0 {
                return Err(PatchApplyError::DeleteIncomplete { hunk: hunk.name, lines });
            }
            Ok(None)
        }
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
    let mut writer = PatchedTextWriter {
        original: &original,
        text: original.has_mark.then_some(BYTE_ORDER_MARK).into_iter().collect(),
        at: 0,
        last_ending: None,
        last_is_added: false,
        has_lines: false,
    };
    for (hunk, place) in hunks.iter().zip(&places) {
        writer.copy_to(place + hunk.leading());
        writer.change(hunk);
    }
    let ends_changed = writer.at == original.lines.len();
    writer.copy_to(original.lines.len());
    if ends_changed && let Some(hunk) = hunks.last() {
        writer.end(hunk);
    }
    Ok(writer.text)
}

/// The new text so far, and the position in the original.
struct PatchedTextWriter<'w> {
    original: &'w OriginalText<'w>,
    text: String,
    /// The next line of the original.
    at: usize,
    /// The ending of the last line written; `None` while that line is open.
    last_ending: Option<LineEnding>,
    last_is_added: bool,
    /// Whether any line was written. A byte order mark does not count.
    has_lines: bool,
}

impl PatchedTextWriter<'_> {
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
        let has_mark = |line: Option<&HunkLine>| {
            line.is_some_and(|line| line.text.starts_with(BYTE_ORDER_MARK))
        };
        // The hunk removes the byte order mark with the first line.
        if self.at == 0 && has_mark(hunk.old_side().next()) && !has_mark(hunk.new_side().next()) {
            self.text.clear();
        }
        // The next original line that an added line replaces.
        let mut replaced = self.at;
        for line in hunk.core() {
            match line.kind {
                HunkLineKind::Context => {
                    self.copy();
                    replaced = self.at;
                }
                HunkLineKind::Remove => self.at += 1,
                HunkLineKind::Add => {
                    let is_after_mark = !self.has_lines && !self.text.is_empty();
                    let unmarked =
                        line.text.strip_prefix(BYTE_ORDER_MARK).filter(|_| is_after_mark);
                    // The line ends as the one that it replaces, or as a neighbour.
                    let of_replaced = Some(replaced).filter(|line| *line < self.at);
                    let sources = [of_replaced, self.at.checked_sub(1), Some(self.at)];
                    let mut endings = sources
                        .into_iter()
                        .filter_map(|line| self.original.lines.get(line?)?.ending);
                    let ending = line.ending.or_else(|| endings.next());
                    let ending = ending.unwrap_or_else(|| self.usual_ending());
                    self.write(unmarked.unwrap_or(&line.text), Some(ending));
                    self.last_is_added = true;
                    replaced += 1;
                }
            }
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
