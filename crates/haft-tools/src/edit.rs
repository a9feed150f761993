//! `edit`: replaces a passage of a file, and never guesses which.

use haft_contract::{
    Access, Cx, Effect, ErrorCode, FileChange, FileChangeError, Precondition, Tool, ToolError,
    ToolKind,
};
use haft_patch::{ReplaceError, ReplaceMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::aliases;
use crate::text_file::{FileUser, load_text_file, workspace_write_requirements};

/// Tries of an `edit` while others change the file. Each lost try means that another one won, so
/// this many calls at the same time on one file all come through.
///
/// Limit (files): the edit fails and nothing is written.
pub(crate) const TRIES_MAX: usize = 64;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditInput {
    /// Relative to the root, or absolute within it.
    path: String,
    /// The exact text to replace; must occur exactly once unless replace_all.
    old_string: String,
    /// The text in its place.
    new_string: String,
    /// Replace every occurrence.
    replace_all: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
struct EditOutput {
    /// How many passages were replaced.
    replacements: usize,
    /// Where the first change begins.
    first_changed_line: usize,
    /// How old_string differs from what was replaced, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

pub(crate) fn edit() -> Tool {
    Tool::new("edit")
        .description("Replace an exact passage of a file. If it does not match, the answer shows the nearest passage.")
        .kind(ToolKind::Edit)
        .example_output(json!({"replacements": 1, "first_changed_line": 1}))
        .effect(Effect::Once)
        .dangerous()
        .requires(workspace_write_requirements())
        .redacted(&["old_string", "new_string"])
        .aliases(aliases::PATH)
        .aliases(aliases::EDIT)
        .only_changes_files()
        .accesses(|input: &EditInput| vec![Access::read(&input.path), Access::write(&input.path)])
        .execute_blocking(|input: EditInput, cx: &Cx| {
            let EditInput { path, old_string, new_string, replace_all } = input;
            let all = replace_all.unwrap_or(false);
            let mode = if all { ReplaceMode::All } else { ReplaceMode::One };
            apply_with_retries(cx, || {
                let file = load_text_file(cx, &path, FileUser::Edit)
                    .map_err(|err| with_advice_to_create(cx, &path, &old_string, err))?;
                let replaced = haft_patch::replace_leniently(&file.text, &old_string, &new_string, mode)
                    .map_err(|err| {
                        let code = match err {
                            ReplaceError::NoMatch { .. } | ReplaceError::Miswritten { .. } => ErrorCode::EditNoMatch,
                            ReplaceError::Ambiguous { .. } => ErrorCode::EditAmbiguous,
                            _ => ErrorCode::InvalidInput,
                        };
                        // The message quotes the passage, which the journal must not hold.
                        ToolError::new(code, format!("{path}: {err}"))
                            .recorded_as(format!("{path}: old_string and the file do not fit"))
                    })?;
                let change = FileChange::Write {
                    path: file.path,
                    contents: replaced.text.into_bytes(),
                    mode: None,
                    precondition: Precondition::Unchanged(file.stamp),
                };
                let answer = EditOutput {
                    replacements: replaced.replacements,
                    first_changed_line: replaced.first_changed_line,
                    note: replaced.ignored.map(|ignored| format!("applied, although {ignored}")),
                };
                Ok((vec![change], answer))
            })
        })
}

/// Adds to the error about a missing file how to create it, if that is what an empty passage means.
fn with_advice_to_create(cx: &Cx, path: &str, old_string: &str, mut err: ToolError) -> ToolError {
    if old_string.is_empty() && matches!(cx.fs().resolve(path), Ok((_, None))) {
        err.message = format!("path {path:?} does not exist, and edit creates no files: use write");
    }
    err
}

/// Works out changes and applies them. If another writer changes a file in between, it starts over.
pub(crate) fn apply_with_retries<T: Serialize>(
    cx: &Cx,
    work_out: impl Fn() -> Result<(Vec<FileChange>, T), ToolError>,
) -> Result<T, ToolError> {
    let mut tries = 1;
    loop {
        let (changes, answer) = work_out()?;
        let recorded = serde_json::to_value(&answer).unwrap_or_default();
        match cx.fs().apply_with_answer(changes, &recorded) {
            Ok(()) => return Ok(answer),
            Err(FileChangeError::Changed { .. }) if tries < TRIES_MAX && !cx.is_cancelled() => {
                tries += 1
            }
            Err(err) => return Err(err.into()),
        }
    }
}
