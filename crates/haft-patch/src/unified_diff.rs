//! Reads unified diffs: the headers of each file, with git's or without, and its hunks.
//!
//! If headers name a file twice, both names must agree. Copies, links, submodules and binary files are refused.

use super::error::PatchParseError;
use super::hunk::PatchHunk;
use super::path::{self, PatchNames};
use super::section::{PatchSection, push};
use super::{FilePatch, PatchOperation};
use crate::cursor::PatchCursor;

const PERMISSION_BITS: u32 = 0o777;
const FILE_KIND_BITS: u32 = 0o170_000;
const REGULAR_FILE: u32 = 0o100_000;
const SYMBOLIC_LINK: u32 = 0o120_000;
const SUBMODULE: u32 = 0o160_000;

/// Reads all files of a unified diff.
pub(crate) fn sections(cursor: &mut PatchCursor<'_>) -> Result<Vec<PatchSection>, PatchParseError> {
    let mut sections = Vec::new();
    loop {
        cursor.skip_blank();
        if !cursor.begins_file(0) && !cursor.peek().is_some_and(is_noise) {
            return Ok(sections);
        }
        let section = section(cursor)?;
        push(&mut sections, section)?;
    }
}

/// Reads the hunks of one file.
pub(crate) fn hunks(cursor: &mut PatchCursor<'_>) -> Result<Vec<PatchHunk>, PatchParseError> {
    let mut hunks = Vec::new();
    loop {
        cursor.skip_blank();
        if !cursor.peek().is_some_and(|text| text.starts_with("@@")) {
            return Ok(hunks);
        }
        hunks.push(PatchHunk::parse(cursor, hunks.len() + 1)?);
    }
}

fn section(cursor: &mut PatchCursor<'_>) -> Result<PatchSection, PatchParseError> {
    let line = cursor.number();
    let mut headers = DiffHeaders::default();
    while headers.names.is_none() && headers.read(cursor)? {
        cursor.advance();
    }
    let ((old_path, new_path), operation) = headers.change(cursor)?;
    let hunks = hunks(cursor)?;
    let new_mode = headers.new_mode.filter(|new| headers.old_mode != Some(*new));
    let file =
        FilePatch { old_path, new_path, mode: headers.created_mode.or(new_mode), operation, hunks };
    let has_effect = !file.hunks.is_empty()
        || match file.operation {
            PatchOperation::Create => headers.created_mode.is_some(),
            PatchOperation::Delete => headers.deleted,
            PatchOperation::Modify => file.mode.is_some(),
            PatchOperation::Rename => true,
        };
    if !has_effect {
        let path = file.new_path.or(file.old_path).unwrap_or_default();
        return Err(PatchParseError::NothingToDo { line, path });
    }
    Ok(PatchSection { line, file })
}

/// Lines that other tools than git put above a file, and that say nothing more.
fn is_noise(text: &str) -> bool {
    text.starts_with("Index: ")
        || text.starts_with("diff -") && !text.starts_with("diff --")
        || text.len() > 2 && text.bytes().all(|byte| byte == b'=')
}

/// The headers above the first hunk of a file.
#[derive(Default)]
struct DiffHeaders {
    git_names: Option<PatchNames>,
    names: Option<PatchNames>,
    renamed_from: Option<String>,
    renamed_to: Option<String>,
    created_mode: Option<u32>,
    old_mode: Option<u32>,
    new_mode: Option<u32>,
    deleted: bool,
    has_git_line: bool,
    has_other_line: bool,
}

impl DiffHeaders {
    /// Takes the current line if it belongs to the headers of this file.
    fn read(&mut self, cursor: &mut PatchCursor<'_>) -> Result<bool, PatchParseError> {
        let Some(text) = cursor.peek() else { return Ok(false) };
        let git_names = text.strip_prefix("diff --git ");
        if git_names.is_some() || is_noise(text) {
            // Below other headers, this line begins the next file.
            if self.has_git_line || self.has_other_line {
                return Ok(false);
            }
            if let Some(names) = git_names {
                self.has_git_line = true;
                self.git_names = path::parse_git(names).map(path::without_prefixes);
            }
            return Ok(true);
        }
        if cursor.begins_names(0) {
            let old = name_in(cursor, "--- ")?;
            cursor.advance();
            let new = name_in(cursor, "+++ ")?;
            self.names = Some(path::without_prefixes((old, new)));
            return Ok(true);
        }
        if text.starts_with("--- ") {
            cursor.advance();
            return Err(cursor.malformed("`+++ b/path` below `--- a/path`"));
        }
        if text.starts_with("+++ ") {
            return Err(cursor.malformed("`--- a/path` above `+++ b/path`"));
        }
        self.has_other_line = true;
        self.read_extended(text, cursor)
    }

    fn read_extended(
        &mut self,
        text: &str,
        cursor: &PatchCursor<'_>,
    ) -> Result<bool, PatchParseError> {
        if let Some(rest) = text.strip_prefix("index ") {
            if let Some((_, digits)) = rest.trim_end().split_once(' ') {
                mode(digits, cursor)?;
            }
        } else if let Some(digits) = text.strip_prefix("new file mode ") {
            self.created_mode = Some(mode(digits, cursor)?);
        } else if let Some(digits) = text.strip_prefix("deleted file mode ") {
            mode(digits, cursor)?;
            self.deleted = true;
        } else if let Some(digits) = text.strip_prefix("old mode ") {
            self.old_mode = Some(mode(digits, cursor)?);
        } else if let Some(digits) = text.strip_prefix("new mode ") {
            self.new_mode = Some(mode(digits, cursor)?);
        } else if text.starts_with("rename from ") {
            self.renamed_from = name_in(cursor, "rename from ")?;
        } else if text.starts_with("rename to ") {
            self.renamed_to = name_in(cursor, "rename to ")?;
        } else if text.starts_with("copy from ") || text.starts_with("copy to ") {
            let instead = "create the new file with all its lines";
            return Err(cursor.unsupported("copies are", instead));
        } else if text.starts_with("GIT binary patch") || text.starts_with("Binary files ") {
            return Err(cursor.binary());
        } else {
            return Ok(
                text.starts_with("similarity index ") || text.starts_with("dissimilarity index ")
            );
        }
        Ok(true)
    }

    /// Returns the names of the file before and after the patch, and the kind of change.
    fn change(
        &mut self,
        cursor: &PatchCursor<'_>,
    ) -> Result<(PatchNames, PatchOperation), PatchParseError> {
        let renamed: Option<PatchNames> = match (&self.renamed_from, &self.renamed_to) {
            (None, None) => None,
            (Some(from), Some(to)) if from != to => Some((Some(from.clone()), Some(to.clone()))),
            _ => {
                let what = "a rename needs `rename from` and `rename to` with two paths";
                return Err(cursor.contradiction(what));
            }
        };
        let names = self.names.take().or_else(|| renamed.clone()).or_else(|| {
            let (old, new) = self.git_names.clone()?;
            Some((old.filter(|_| self.created_mode.is_none()), new.filter(|_| !self.deleted)))
        });
        let Some(names) = names else {
            return Err(cursor.malformed("`--- a/path` and `+++ b/path`"));
        };
        let agrees = |said: &Option<PatchNames>| {
            said.as_ref().is_none_or(|said| same(&said.0, &names.0) && same(&said.1, &names.1))
        };
        if !agrees(&self.git_names) || !agrees(&renamed) {
            return Err(cursor.contradiction(
                "the headers above name different files; write the same path in all of them",
            ));
        }
        let operation = match &names {
            (None, None) => {
                return Err(cursor.contradiction("`/dev/null` on both sides names no file"));
            }
            (None, Some(_)) => PatchOperation::Create,
            (Some(_), None) => PatchOperation::Delete,
            (Some(_), Some(_)) if renamed.is_some() => PatchOperation::Rename,
            (Some(old), Some(new)) if old == new => PatchOperation::Modify,
            (Some(old), Some(new)) => {
                return Err(cursor.contradiction(format!(
                    "the headers name two files, `{old}` and `{new}`; to rename, add \
                     `rename from` and `rename to` lines below `diff --git`"
                )));
            }
        };
        if self.created_mode.is_some() && operation != PatchOperation::Create {
            return Err(cursor.contradiction(
                "`new file mode` creates a file, so the old side must be `--- /dev/null`",
            ));
        }
        if self.deleted && operation != PatchOperation::Delete {
            return Err(cursor.contradiction(
                "`deleted file mode` deletes a file, so the new side must be `+++ /dev/null`",
            ));
        }
        let changes_mode = self.old_mode.is_some() || self.new_mode.is_some();
        if changes_mode && matches!(operation, PatchOperation::Create | PatchOperation::Delete) {
            return Err(cursor.contradiction(
                "`old mode` and `new mode` are for files that stay; use `new file mode` or \
                 `deleted file mode`",
            ));
        }
        if self.old_mode.is_some() != self.new_mode.is_some() {
            return Err(cursor.contradiction("`old mode` and `new mode` belong together"));
        }
        Ok((names, operation))
    }
}

/// Whether two headers name the same file; `/dev/null` in one of them speaks of no file.
fn same(left: &Option<String>, right: &Option<String>) -> bool {
    left.is_none() || right.is_none() || left == right
}

/// Returns the path behind a prefix in the current line; `None` stands for `/dev/null`.
fn name_in(cursor: &PatchCursor<'_>, prefix: &str) -> Result<Option<String>, PatchParseError> {
    let raw = cursor.peek().and_then(|text| text.strip_prefix(prefix));
    raw.and_then(path::parse).ok_or_else(|| cursor.malformed(path::EXPECTED))
}

/// Returns the permission bits of a file mode as git writes it.
fn mode(digits: &str, cursor: &PatchCursor<'_>) -> Result<u32, PatchParseError> {
    let Ok(mode) = u32::from_str_radix(digits.trim(), 8) else {
        return Err(cursor.malformed("a file mode such as 100644 or 100755"));
    };
    match mode & FILE_KIND_BITS {
        REGULAR_FILE => Ok(mode & PERMISSION_BITS),
        SYMBOLIC_LINK => Err(cursor.unsupported("symbolic links are", "patch the file linked to")),
        SUBMODULE => Err(cursor.unsupported("submodules are", "patch inside the submodule")),
        _ => Err(cursor.malformed("a file mode such as 100644 or 100755")),
    }
}
