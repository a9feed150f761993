//! `edit`: replaces a passage of a file, and never guesses which.

use haft_contract::{
    Access, ApplyError, Cx, Effect, ErrorCode, FileChange, Kind, Precondition, Tool, ToolError,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::edit_match::{self, MatchError, Mode};
use crate::text_file::{changes_workspace, load};

/// Times that an edit is tried again because somebody else changed the file in between.
pub(crate) const TRIES_MAX: usize = 5;

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
        .accesses(|input: &Input| vec![Access::read(&input.path), Access::write(&input.path)])
        .execute_blocking(run)
}

fn run(input: Input, cx: &Cx) -> Result<Edited, ToolError> {
    let mode = if input.replace_all.unwrap_or(false) { Mode::All } else { Mode::One };
    let mut changed = None;
    for _ in 0..TRIES_MAX {
        let file = load(cx, &input.path)?;
        let replaced = edit_match::replace(&file.text, &input.old_string, &input.new_string, mode)
            .map_err(|err| ToolError::new(code_of(&err), format!("{}: {err}", input.path)))?;
        let change = FileChange::Write {
            path: file.path,
            contents: replaced.text.into_bytes(),
            mode: None,
            precondition: Precondition::Unchanged(file.stamp),
        };
        match cx.fs().apply(vec![change]) {
            Ok(()) => {
                return Ok(Edited {
                    replacements: replaced.replacements,
                    first_changed_line: replaced.first_changed_line,
                });
            }
            Err(ApplyError::Failed(err)) => return Err(err),
            Err(err @ ApplyError::Changed { .. }) => changed = Some(err),
        }
    }
    Err(changed.map_or_else(
        || ToolError::new(ErrorCode::ToolFailed, "the edit was never tried"),
        ToolError::from,
    ))
}

fn code_of(err: &MatchError) -> ErrorCode {
    match err {
        MatchError::NoMatch { .. } => ErrorCode::EditNoMatch,
        MatchError::Ambiguous { .. } => ErrorCode::EditAmbiguous,
        _ => ErrorCode::InvalidInput,
    }
}
