//! Words the remedies of a refusal in one sentence for the person at the editor, who sees it below the call.

use haft_contract::{Refusal, Remedy};

/// Returns the sentence behind the text of a refusal; nothing if no change lifts it.
pub(crate) fn sentence_for_editor(refusal: &Refusal) -> Option<String> {
    let changes = refusal.remedies.iter().filter_map(|remedy| match remedy {
        // The model is told so, and makes the call again.
        Remedy::NameFiles(_) => None,
        Remedy::AllowTool(_)
        | Remedy::AllowHost(_)
        | Remedy::AddRule(_)
        | Remedy::Unprotect(_)
        | Remedy::Trust
        | Remedy::AnswerQuestion(_)
        | Remedy::Settle(_)
        | Remedy::Login(_) => Some(remedy.to_string()),
    });
    let changes: Vec<String> = changes.collect();
    (!changes.is_empty()).then(|| format!("To lift this, {}.", changes.join(", or ")))
}
