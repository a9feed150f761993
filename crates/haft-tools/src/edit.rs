//! `edit`: replaces a passage of a file, and never guesses which.

use haft_contract::{
    Access, ApplyError, Cx, Effect, ErrorCode, FileChange, Kind, Precondition, Tool, ToolError,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::edit_match::{self, MatchError, Mode};
use crate::text_file::{changes_workspace, load};

/// Times that a change is worked out anew because somebody else changed the file in between. Each lost try means that
/// another one won, so this many calls at the same time on one file all come through.
pub(crate) const TRIES_MAX: usize = 64;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
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
struct Edited {
    /// How many passages were replaced.
    replacements: usize,
    /// Where the first change begins.
    first_changed_line: usize,
}

pub(crate) fn edit() -> Tool {
    Tool::new("edit")
        .description("Replace an exact passage of a file. If it does not match, the answer shows the nearest passage.")
        .kind(Kind::Edit)
        .effect(Effect::Once)
        .dangerous()
        .requires(changes_workspace())
        .digested(&["old_string", "new_string"])
        .only_changes_files()
        .accesses(|input: &Input| vec![Access::read(&input.path), Access::write(&input.path)])
        .execute_blocking(run)
}

fn run(input: Input, cx: &Cx) -> Result<Edited, ToolError> {
    let mode = if input.replace_all.unwrap_or(false) { Mode::All } else { Mode::One };
    changing(cx, || {
        let file = load(cx, &input.path)?;
        let replaced = edit_match::replace(&file.text, &input.old_string, &input.new_string, mode)
            .map_err(|err| {
                let code = code_of(&err);
                // The message quotes the passage, which the journal must not hold.
                ToolError::new(code, format!("{}: {err}", input.path))
                    .recorded_as(format!("{}: old_string and the file do not fit", input.path))
            })?;
        let change = FileChange::Write {
            path: file.path,
            contents: replaced.text.into_bytes(),
            mode: None,
            precondition: Precondition::Unchanged(file.stamp),
        };
        let (replacements, first_changed_line) =
            (replaced.replacements, replaced.first_changed_line);
        Ok((vec![change], Edited { replacements, first_changed_line }))
    })
}

/// Works out changes and makes them, anew for as long as somebody else changes the files in between.
pub(crate) fn changing<T: Serialize>(
    cx: &Cx,
    work_out: impl Fn() -> Result<(Vec<FileChange>, T), ToolError>,
) -> Result<T, ToolError> {
    let mut tries = 1;
    loop {
        let (changes, answer) = work_out()?;
        let recorded = serde_json::to_value(&answer).unwrap_or_default();
        match cx.fs().apply_answering(changes, &recorded) {
            Ok(()) => return Ok(answer),
            Err(ApplyError::Changed { .. }) if tries < TRIES_MAX && !cx.is_cancelled() => {
                tries += 1
            }
            Err(err) => return Err(err.into()),
        }
    }
}

fn code_of(err: &MatchError) -> ErrorCode {
    match err {
        MatchError::NoMatch { .. } => ErrorCode::EditNoMatch,
        MatchError::Ambiguous { .. } => ErrorCode::EditAmbiguous,
        _ => ErrorCode::InvalidInput,
    }
}
