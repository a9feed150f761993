//! The part of a patch that changes one file.

use super::error::PatchParseError;
use super::hunk::HunkLineKind;
use super::{FILES_MAX, FilePatch, PatchOperation};

/// A file of a patch and the line where it begins.
pub(crate) struct PatchSection {
    pub(crate) line: usize,
    pub(crate) file: FilePatch,
}

/// Adds a file once its header and its hunks are known to fit together.
pub(crate) fn push(
    sections: &mut Vec<PatchSection>,
    section: PatchSection,
) -> Result<(), PatchParseError> {
    if sections.len() == FILES_MAX {
        return Err(PatchParseError::OverLimit { what: "files", limit: FILES_MAX });
    }
    match section.file.operation {
        PatchOperation::Create => require_operation(HunkLineKind::Add, &section)?,
        PatchOperation::Delete => require_operation(HunkLineKind::Remove, &section)?,
        PatchOperation::Modify | PatchOperation::Rename => {}
    }
    sections.push(section);
    Ok(())
}

/// Checks the hunk of a file that comes or goes as a whole.
fn require_operation(kind: HunkLineKind, section: &PatchSection) -> Result<(), PatchParseError> {
    let hunks = &section.file.hunks;
    let stray = hunks.get(1).or_else(|| {
        let kinds = [HunkLineKind::Context, HunkLineKind::Remove, HunkLineKind::Add];
        hunks.first().filter(|hunk| kinds.iter().any(|other| *other != kind && hunk.has(*other)))
    });
    let Some(stray) = stray else { return Ok(()) };
    let what = match kind {
        HunkLineKind::Add => {
            "a new file is one hunk whose lines all begin with `+`, empty ones too"
        }
        HunkLineKind::Remove | HunkLineKind::Context => {
            "a deleted file is one hunk whose lines all begin with `-`, empty ones too"
        }
    };
    Err(PatchParseError::Contradiction { line: stray.name.line, what: what.to_owned() })
}
