//! Reads the `*** Begin Patch` envelope that some models are trained to write.
//!
//! Hunks in it look like those of a unified diff, mostly without numbers; a text after `@@` names
//! a line above the hunk. The envelope must be closed: without its last line the patch may have
//! been cut short.

use super::error::PatchParseError;
use super::hunk::PatchHunk;
use super::path;
use super::section::{PatchSection, push};
use super::{FilePatch, PatchOperation};
use crate::cursor::{PatchCursor, is_blank};

/// The beginning of each line that is no part of a hunk.
const MARK: &str = "*** ";
/// Words of lines that models make up to rename a file.
const MOVING_WORDS: [&str; 2] = ["Rename", "Move"];
const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const UPDATE: &str = "*** Update File: ";
const DELETE: &str = "*** Delete File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";

/// Whether the current line opens an envelope.
pub(crate) fn begins(cursor: &PatchCursor<'_>) -> bool {
    cursor.peek().is_some_and(|text| text.trim_end() == BEGIN)
}

/// Reads all files of an envelope, from its first line to its last.
pub(crate) fn sections(cursor: &mut PatchCursor<'_>) -> Result<Vec<PatchSection>, PatchParseError> {
    cursor.advance();
    let mut sections = Vec::new();
    loop {
        cursor.skip_blank();
        let line = cursor.number();
        let text = cursor.peek().unwrap_or_default();
        let file = if text.trim_end() == END {
            cursor.advance();
            return Ok(sections);
        } else if text.starts_with(ADD) {
            let path = path_behind(cursor, ADD)?;
            let is_empty =
                cursor.peek().is_none_or(|text| is_blank(text) || text.starts_with("***"));
            let hunks = if is_empty { Vec::new() } else { vec![PatchHunk::parse_bare(cursor, 1)?] };
            file(PatchOperation::Create, None, Some(path), hunks)
        } else if text.starts_with(UPDATE) {
            let old = path_behind(cursor, UPDATE)?;
            let moves = cursor.peek().is_some_and(|text| text.starts_with(MOVE));
            let new = if moves { path_behind(cursor, MOVE)? } else { old.clone() };
            let hunks = hunks(cursor)?;
            if hunks.is_empty() && new == old {
                return Err(PatchParseError::NothingToDo { line, path: old });
            }
            let operation =
                if new == old { PatchOperation::Modify } else { PatchOperation::Rename };
            file(operation, Some(old), Some(new), hunks)
        } else if text.starts_with(DELETE) {
            let path = path_behind(cursor, DELETE)?;
            file(PatchOperation::Delete, Some(path), None, Vec::new())
        } else if text.starts_with(MARK) && MOVING_WORDS.iter().any(|word| text.contains(word)) {
            return Err(cursor.malformed(
                "`*** Update File: OLD` and below it `*** Move to: NEW`, which rename a file",
            ));
        } else if sections.is_empty() {
            return Err(cursor.malformed(
                "`*** Add File: `, `*** Update File: `, `*** Delete File: ` or `*** End Patch`",
            ));
        } else {
            return Err(cursor.malformed(
                "a hunk line (beginning with a space, `+` or `-`), `@@`, `*** Add File: `, \
                 `*** Update File: `, `*** Delete File: ` or `*** End Patch`",
            ));
        };
        push(&mut sections, PatchSection { line, file })?;
    }
}

fn hunks(cursor: &mut PatchCursor<'_>) -> Result<Vec<PatchHunk>, PatchParseError> {
    let mut hunks: Vec<PatchHunk> = Vec::new();
    loop {
        cursor.skip_blank();
        let text = cursor.peek().unwrap_or_default();
        let number = hunks.len() + 1;
        if text.starts_with("@@") {
            hunks.push(PatchHunk::parse(cursor, number)?);
        } else if number == 1 && text.starts_with([' ', '+', '-']) {
            hunks.push(PatchHunk::parse_bare(cursor, number)?);
        } else if text.trim_end() == END_OF_FILE
            && let Some(last) = hunks.last_mut().filter(|last| !last.ends_file)
        {
            last.ends_file = true;
            cursor.advance();
        } else {
            return Ok(hunks);
        }
    }
}

fn file(
    operation: PatchOperation,
    old_path: Option<String>,
    new_path: Option<String>,
    hunks: Vec<PatchHunk>,
) -> FilePatch {
    FilePatch { old_path, new_path, mode: None, operation, hunks }
}

/// Takes the current line and returns the path in it.
fn path_behind(cursor: &mut PatchCursor<'_>, prefix: &str) -> Result<String, PatchParseError> {
    let raw = cursor.peek().and_then(|text| text.strip_prefix(prefix));
    let path = raw.and_then(|raw| path::checked(raw.trim().to_owned()));
    let path = path.ok_or_else(|| cursor.malformed(path::EXPECTED))?;
    cursor.advance();
    Ok(path)
}
