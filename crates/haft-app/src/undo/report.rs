//! The result of an undo: as the journal records it, and the words for the paths that stay.

use haft::{CallSelection, RootChanges};
use haft_snapshot::{RestoreReport, SkipReason};
use serde_json::{Value, json};

use super::repositories::repositories_json;

/// Returns the undone calls in one word or two, as the journal names them.
pub fn selection_words(of: &CallSelection) -> String {
    match of {
        CallSelection::Call(call) => call.to_string(),
        CallSelection::After(call) => format!("after {call}"),
        CallSelection::Run(run) => run.to_string(),
    }
}

/// Returns what undoing did to one root.
pub fn report_json(root: &RootChanges, restored: &RestoreReport) -> Value {
    let left = restored
        .skipped
        .iter()
        .map(|left| json!({"path": left.path.to_string_lossy(), "reason": skip_reason_text(left.reason)}));
    let lossy = |path: &std::path::PathBuf| path.to_string_lossy().into_owned();
    json!({
        "root": root.root().to_string_lossy(),
        "written": restored.written,
        "made": restored.created_directories,
        "removed": restored.removed,
        "modes": restored.changed_modes,
        "already": restored.unchanged,
        "paths": restored.paths.iter().map(lossy).collect::<Vec<_>>(),
        "left_alone": left.collect::<Vec<_>>(),
        "weakened": restored.weakened.iter().map(lossy).collect::<Vec<_>>(),
        "repositories": repositories_json(root),
    })
}

/// Returns why a path stays as it is, in words.
pub fn skip_reason_text(reason: SkipReason) -> String {
    match reason {
        SkipReason::NotRecorded(reason) | SkipReason::Gone(reason) => {
            format!("it was not recorded: {reason}")
        }
        SkipReason::Outgrown => "it became too large to be recorded".to_owned(),
        SkipReason::NotEmpty => "something that is not to be removed is in it".to_owned(),
        SkipReason::Hidden => {
            "it holds credentials or haft's own state, which is not brought back".to_owned()
        }
        _ => "it cannot be brought back".to_owned(),
    }
}
