//! Reads a whole patch: what stands above it, which dialect it is in, and what its files are.
//!
//! Tolerated above the first header: any text, such as prose, a mail's head or the opening of a
//! Markdown fence. Tolerated below the last hunk: blank lines, the end of that fence, and the
//! signature of `git format-patch`. Anything else there is an error, because it may be a hunk that
//! lost its shape.

use std::collections::HashMap;

use super::error::PatchParseError;
use super::hunk::PatchHunk;
use super::{FilePatch, Patch, PatchOperation, begin_patch, unified_diff};
use crate::cursor::PatchCursor;

/// Parses a patch over any number of files.
///
/// # Errors
///
/// [`PatchParseError`], with the line of the patch, when it is empty, malformed, contradicts itself,
/// leaves a file as it is, names a file twice, is binary or exceeds a limit.
pub fn parse(text: &str) -> Result<Patch, PatchParseError> {
    let mut cursor = PatchCursor::new(text)?;
    cursor.skip_preamble(|cursor| begins_patch(cursor) || begins_hunk(cursor))?;
    if begins_hunk(&cursor) {
        return Err(
            cursor.malformed("`--- a/path` and `+++ b/path` above the first hunk of each file")
        );
    }
    files(&mut cursor)
}

/// Parses a patch for one file whose path is known: hunks alone, or under the header of one file.
///
/// The path in the header is not compared with anything.
///
/// # Errors
///
/// As [`parse`]; also when the patch is for several files, or deletes, renames or changes the mode.
pub fn parse_single(text: &str) -> Result<Vec<PatchHunk>, PatchParseError> {
    let mut cursor = PatchCursor::new(text)?;
    cursor.skip_preamble(|cursor| begins_patch(cursor) || begins_hunk(cursor))?;
    if begins_hunk(&cursor) {
        let hunks = unified_diff::hunks(&mut cursor)?;
        cursor.finish()?;
        return Ok(hunks);
    }
    let line = cursor.number();
    let unsupported = |what, instead| Err(PatchParseError::Unsupported { line, what, instead });
    let mut files = files(&mut cursor)?.files.into_iter();
    let (Some(file), None) = (files.next(), files.next()) else {
        return unsupported("several files are", "write one patch for each file");
    };
    match file.operation {
        PatchOperation::Delete | PatchOperation::Rename => {
            unsupported("deleting and renaming are", "change the lines of the file")
        }
        PatchOperation::Modify if file.mode.is_some() => {
            unsupported("changes of the file mode are", "change only the lines of the file")
        }
        PatchOperation::Modify | PatchOperation::Create => Ok(file.hunks),
    }
}

fn begins_patch(cursor: &PatchCursor<'_>) -> bool {
    cursor.begins_file(0) || begin_patch::begins(cursor)
}

fn begins_hunk(cursor: &PatchCursor<'_>) -> bool {
    cursor.peek().is_some_and(|text| text.starts_with("@@"))
}

fn files(cursor: &mut PatchCursor<'_>) -> Result<Patch, PatchParseError> {
    let sections = if begin_patch::begins(cursor) {
        begin_patch::sections(cursor)?
    } else {
        unified_diff::sections(cursor)?
    };
    cursor.finish()?;
    if sections.is_empty() {
        return Err(PatchParseError::Empty);
    }
    // Two sections for one file would each start from the original, and the later would win.
    let mut named: HashMap<&str, usize> = HashMap::new();
    for section in &sections {
        let FilePatch { old_path, new_path, .. } = &section.file;
        let new_path = new_path.as_ref().filter(|new| old_path.as_ref() != Some(*new));
        for path in old_path.iter().chain(new_path) {
            if let Some(first) = named.insert(path, section.line) {
                let path = path.clone();
                return Err(PatchParseError::DuplicatePath { line: section.line, first, path });
            }
        }
    }
    Ok(Patch { files: sections.into_iter().map(|section| section.file).collect() })
}
