//! A parsed patch.

use crate::hunk::PatchHunk;

/// A parsed patch: what is to happen to which files, no file named twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The files, in the order of the patch; at least one.
    pub files: Vec<FilePatch>,
}

/// The change of one file.
///
/// Paths are as written, without the prefixes `a/` and `b/` where both sides have them. An
/// absolute path or one with `..` in it comes through: the caller judges where it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePatch {
    /// The file that is read; `None` for [`PatchOperation::Create`].
    pub old_path: Option<String>,
    /// The file that is written; `None` for [`PatchOperation::Delete`].
    pub new_path: Option<String>,
    /// The permission bits that the file is to have, where the patch sets them.
    pub mode: Option<u32>,
    /// The kind of change.
    pub operation: PatchOperation,
    /// The changes of its text, in order; empty where only the name or mode changes, where an
    /// empty file is created, or where a file is deleted whatever it holds.
    pub hunks: Vec<PatchHunk>,
}

/// The kind of change that a patch makes to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchOperation {
    /// The file must not exist.
    Create,
    /// The file goes.
    Delete,
    /// The file stays where it is.
    Modify,
    /// The file moves, with or without changes.
    Rename,
}
