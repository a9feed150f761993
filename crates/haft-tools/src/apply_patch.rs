//! `apply_patch`: one patch over several files, all of it or nothing.

use std::io::Read;
use std::path::Path;

use haft_contract::limits::OUTPUT_BYTES_MAX;
use haft_contract::{
    Access, Cx, Effect, ErrorCode, FileChange, FilePath, FileStamp, FsEntryKind, Precondition,
    Tool, ToolError, ToolKind,
};
use haft_patch::{FilePatch, Patch, PatchOperation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::aliases;
use crate::edit::apply_with_retries;
use crate::text_file::{decode_text, missing_file_error, open_file, workspace_write_requirements};

/// The permission bits in a file's mode.
const PERMISSION_BITS: u32 = 0o7777;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ApplyPatchInput {
    /// A unified diff over one or more files (a/ b/ prefixes, /dev/null, renames), or the *** Begin Patch form.
    patch: String,
}

#[derive(Serialize, JsonSchema)]
struct ApplyPatchOutput {
    /// Always "ok".
    status: &'static str,
    /// The changed files, in the order of the patch.
    files: Vec<ChangedFile>,
}

#[derive(Clone, Serialize, JsonSchema)]
struct ChangedFile {
    path: String,
    /// create, delete, modify or rename.
    operation: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    renamed_from: Option<String>,
}

pub(crate) fn apply_patch() -> Tool {
    Tool::new("apply_patch")
        .description(
            "Apply a patch to several files, all of it or nothing. Creates, changes, deletes and renames. Context \
             lines must match the files exactly.",
        )
        .kind(ToolKind::Edit)
        .example_output(json!({"status": "ok", "files": [{"operation": "modify", "path": "a.txt"}]}))
        .effect(Effect::Once)
        .dangerous()
        .requires(workspace_write_requirements())
        .redacted(&["patch"])
        .aliases(aliases::APPLY_PATCH)
        .only_changes_files()
        .try_accesses(accesses)
        .execute_blocking(|input: ApplyPatchInput, cx: &Cx| {
            let (bytes, bytes_max) = (input.patch.len(), cx.max_output_bytes());
            if bytes > bytes_max {
                let message = format!("the patch has {bytes} bytes, at most {bytes_max} are possible: split it");
                return Err(ToolError::new(ErrorCode::PatchTooLarge, message));
            }
            let patch = parse(&input.patch)?;
            apply_with_retries(cx, || {
                let mut changes = Vec::new();
                for file in &patch.files {
                    plan(cx, file, &mut changes)?;
                }
                let changed = patch.files.iter().map(|file| {
                    let path = file.new_path.as_ref().or(file.old_path.as_ref());
                    let (operation, renamed_from) = match file.operation {
                        PatchOperation::Create => ("create", None),
                        PatchOperation::Delete => ("delete", None),
                        PatchOperation::Modify => ("modify", None),
                        PatchOperation::Rename => ("rename", file.old_path.clone()),
                    };
                    ChangedFile { path: path.cloned().unwrap_or_default(), operation, renamed_from }
                });
                Ok((changes, ApplyPatchOutput { status: "ok", files: changed.collect() }))
            })
        })
}

fn accesses(input: &ApplyPatchInput) -> Result<Vec<Access>, ToolError> {
    let mut accesses = Vec::new();
    for file in &parse(&input.patch)?.files {
        accesses.extend(file.old_path.iter().map(Access::read));
        let changed = file
            .old_path
            .iter()
            .chain(file.new_path.iter().filter(|path| file.old_path.as_ref() != Some(path)));
        accesses.extend(changed.map(Access::write));
    }
    Ok(accesses)
}

fn parse(text: &str) -> Result<Patch, ToolError> {
    haft_patch::parse(text).map_err(|err| {
        let code = match err {
            haft_patch::PatchParseError::OverLimit {
                limit: haft_patch::PATCH_BYTES_MAX, ..
            } => ErrorCode::PatchTooLarge,
            _ => ErrorCode::PatchFailed,
        };
        // The message quotes the patch, which the journal must not hold.
        ToolError::new(code, err.to_string()).recorded_as("the patch cannot be read")
    })
}

/// A file as it is before the patch.
struct FileBeforePatch {
    path: FilePath,
    contents: Vec<u8>,
    stamp: FileStamp,
}

/// Adds the changes of one file to the list, without making them.
fn plan(cx: &Cx, file: &FilePatch, changes: &mut Vec<FileChange>) -> Result<(), ToolError> {
    let original = file.old_path.as_deref().map(|path| original(cx, path)).transpose()?;
    if matches!(file.operation, PatchOperation::Delete | PatchOperation::Rename)
        && let Some(path) = file.old_path.as_deref()
    {
        // The file that a symlink points to would go instead of the symlink.
        let (place, _) = cx.fs().resolve(path)?;
        let given = Path::new(path);
        let parent = given.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let (directory, _) = cx.fs().resolve(&parent.to_string_lossy())?;
        let itself = given.file_name().map(|name| directory.join(name));
        if itself.is_none_or(|itself| itself.relative() != place.relative()) {
            let message = format!(
                "nothing was changed: path {path:?} is a symlink to {:?}. Name the file itself, or remove the link with bash.",
                place.display()
            );
            return Err(ToolError::new(ErrorCode::PatchFailed, message));
        }
    }
    let contents = patched(file, original.as_ref())?;
    let target =
        file.new_path.as_deref().map(|path| target(cx, path, file.operation)).transpose()?;
    match (original, target, contents) {
        (Some(FileBeforePatch { path, stamp, .. }), None, _) => {
            changes.push(FileChange::Remove { path, precondition: Precondition::Unchanged(stamp) });
        }
        (original, Some(target), Some(contents)) => {
            let in_place = original.as_ref().filter(|original| original.path == target);
            let precondition = match in_place {
                Some(original) => Precondition::Unchanged(original.stamp),
                None => Precondition::Absent,
            };
            let moved = original.filter(|original| original.path != target);
            let mode =
                file.mode.or(moved.as_ref().map(|original| original.stamp.mode & PERMISSION_BITS));
            changes.push(FileChange::Write { path: target, contents, mode, precondition });
            if let Some(FileBeforePatch { path, stamp, .. }) = moved {
                changes.push(FileChange::Remove {
                    path,
                    precondition: Precondition::Unchanged(stamp),
                });
            }
        }
        (None, None, _) | (_, Some(_), None) => {
            return Err(ToolError::new(
                ErrorCode::PatchFailed,
                "the patch names no file to change",
            ));
        }
    }
    Ok(())
}

fn original(cx: &Cx, path: &str) -> Result<FileBeforePatch, ToolError> {
    let (place, opened) = open_file(cx.fs(), path)?;
    let limit = u64::try_from(OUTPUT_BYTES_MAX).unwrap_or(u64::MAX);
    if opened.stamp.size > limit {
        let message = format!(
            "file {path:?} has {} bytes, and apply_patch takes at most {limit}: change it with a command",
            opened.stamp.size
        );
        return Err(ToolError::new(ErrorCode::FileTooLarge, message));
    }
    let mut contents = Vec::new();
    opened.file.take(limit).read_to_end(&mut contents)?;
    Ok(FileBeforePatch { path: place, contents, stamp: opened.stamp })
}

/// Returns the content after the patch, `None` where the file goes. Files that only move need not be text.
fn patched(
    file: &FilePatch,
    original: Option<&FileBeforePatch>,
) -> Result<Option<Vec<u8>>, ToolError> {
    let name = file.old_path.as_deref().or(file.new_path.as_deref()).unwrap_or_default();
    match original {
        Some(original) if file.hunks.is_empty() => {
            let keeps = !matches!(file.operation, PatchOperation::Delete);
            Ok(keeps.then(|| original.contents.clone()))
        }
        original => {
            let text = original
                .map(|original| decode_text(name, original.contents.clone()))
                .transpose()?;
            let patched = haft_patch::apply(file, text.as_deref()).map_err(|err| {
                ToolError::new(
                    ErrorCode::PatchFailed,
                    format!("nothing was changed: {name}: {err}"),
                )
                .recorded_as(format!("nothing was changed: {name}: the patch does not fit"))
            })?;
            Ok(patched.map(String::into_bytes))
        }
    }
}

/// Resolves the path that a file is written to. A created or moved file must not exist there.
fn target(cx: &Cx, path: &str, operation: PatchOperation) -> Result<FilePath, ToolError> {
    let (place, kind) = cx.fs().resolve(path)?;
    match (operation, kind) {
        (PatchOperation::Create | PatchOperation::Rename, Some(kind)) => {
            let (what, next) = match kind {
                FsEntryKind::Regular => {
                    ("exists already", "Use *** Update File, or --- a/path, to change it.")
                }
                _ => ("is not a file", "Name another path."),
            };
            let message = format!(
                "nothing was changed: path {path:?} {what}, so the patch cannot create it. {next}"
            );
            Err(ToolError::new(ErrorCode::PatchFailed, message))
        }
        (PatchOperation::Modify, None) => Err(missing_file_error(cx.fs(), path, &place)),
        (PatchOperation::Create | PatchOperation::Rename, None)
        | (PatchOperation::Modify, Some(_))
        | (PatchOperation::Delete, _) => Ok(place),
    }
}
