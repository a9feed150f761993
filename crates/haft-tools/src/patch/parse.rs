//! Reads a whole patch: what stands above it, which dialect it is in, and what its files are.
//!
//! Tolerated above the first header: any text, such as prose, a mail's head or the opening of a
//! Markdown fence. Tolerated below the last hunk: blank lines, the end of that fence, and the
//! signature of `git format-patch`. Anything else there is an error, because it may be a hunk that
//! lost its shape.

use std::collections::HashMap;

use super::cursor::Cursor;
use super::error::PatchError;
use super::hunk::{Hunk, Kind};
use super::{FILES_MAX, FilePatch, Operation, Patch, envelope, unified};

/// A file of a patch and the line where it begins.
pub(super) struct Section {
    pub(super) line: usize,
    pub(super) file: FilePatch,
}

/// Parses a patch over any number of files.
///
/// # Errors
///
/// [`PatchError`], with the line of the patch, when it is empty, malformed, contradicts itself,
/// leaves a file as it is, names a file twice, is binary or exceeds a limit.
pub fn parse(text: &str) -> Result<Patch, PatchError> {
    let mut cursor = Cursor::new(text)?;
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
pub fn parse_single(text: &str) -> Result<Vec<Hunk>, PatchError> {
    let mut cursor = Cursor::new(text)?;
    cursor.skip_preamble(|cursor| begins_patch(cursor) || begins_hunk(cursor))?;
    if begins_hunk(&cursor) {
        let hunks = unified::hunks(&mut cursor)?;
        cursor.finish()?;
        return Ok(hunks);
    }
    let line = cursor.number();
    let unsupported = |what, instead| Err(PatchError::Unsupported { line, what, instead });
    let mut files = files(&mut cursor)?.files.into_iter();
    let (Some(file), None) = (files.next(), files.next()) else {
        return unsupported("several files are", "write one patch for each file");
    };
    match file.operation {
        Operation::Delete | Operation::Rename => {
            unsupported("deleting and renaming are", "change the lines of the file")
        }
        Operation::Modify if file.mode.is_some() => {
            unsupported("changes of the file mode are", "change only the lines of the file")
        }
        Operation::Modify | Operation::Create => Ok(file.hunks),
    }
}

fn begins_patch(cursor: &Cursor<'_>) -> bool {
    cursor.begins_file(0) || envelope::begins(cursor)
}

fn begins_hunk(cursor: &Cursor<'_>) -> bool {
    cursor.peek().is_some_and(|text| text.starts_with("@@"))
}

fn files(cursor: &mut Cursor<'_>) -> Result<Patch, PatchError> {
    let sections = if envelope::begins(cursor) {
        envelope::sections(cursor)?
    } else {
        unified::sections(cursor)?
    };
    cursor.finish()?;
    if sections.is_empty() {
        return Err(PatchError::Empty);
    }
    refuse_duplicates(&sections)?;
    Ok(Patch { files: sections.into_iter().map(|section| section.file).collect() })
}

/// Adds a file once its header and its hunks are known to fit together.
pub(super) fn push(sections: &mut Vec<Section>, section: Section) -> Result<(), PatchError> {
    if sections.len() == FILES_MAX {
        return Err(PatchError::OverLimit { what: "files", limit: FILES_MAX });
    }
    match section.file.operation {
        Operation::Create => only(Kind::Add, &section)?,
        Operation::Delete => only(Kind::Remove, &section)?,
        Operation::Modify | Operation::Rename => {}
    }
    sections.push(section);
    Ok(())
}

/// Checks the hunk of a file that comes or goes as a whole.
fn only(kind: Kind, section: &Section) -> Result<(), PatchError> {
    let hunks = &section.file.hunks;
    let stray = hunks.get(1).or_else(|| {
        let kinds = [Kind::Context, Kind::Remove, Kind::Add];
        hunks.first().filter(|hunk| kinds.iter().any(|other| *other != kind && hunk.has(*other)))
    });
    let Some(stray) = stray else { return Ok(()) };
    let what = match kind {
        Kind::Add => "a new file is one hunk whose lines all begin with `+`, empty ones too",
        Kind::Remove | Kind::Context => {
            "a deleted file is one hunk whose lines all begin with `-`, empty ones too"
        }
    };
    Err(PatchError::Contradiction { line: stray.name.line, what: what.to_owned() })
}

/// Two sections for one file would each start from the original, and the later would win.
fn refuse_duplicates(sections: &[Section]) -> Result<(), PatchError> {
    let mut named: HashMap<&str, usize> = HashMap::new();
    for section in sections {
        let FilePatch { old_path, new_path, .. } = &section.file;
        let new_path = new_path.as_ref().filter(|new| old_path.as_ref() != Some(*new));
        for path in old_path.iter().chain(new_path) {
            if let Some(first) = named.insert(path, section.line) {
                let path = path.clone();
                return Err(PatchError::DuplicatePath { line: section.line, first, path });
            }
        }
    }
    Ok(())
}
