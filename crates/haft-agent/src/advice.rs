//! Words the remedies of a refusal in one sentence for the model whose call was refused. The user reads along, so the model is told
//! what it can do itself, and what is the user's to decide.

use haft_contract::{Refusal, Remedy};

/// Returns the sentence behind the text of a refusal; nothing if no change lifts it.
pub(crate) fn sentence_for_agent(refusal: &Refusal) -> Option<String> {
    let mut decisions = Vec::new();
    for remedy in &refusal.remedies {
        match remedy {
            Remedy::Settle(call) => {
                return Some(format!(
                    "Do not make it again. Tell the user, who can find out what became of call {call} and settle it."
                ));
            }
            Remedy::NameFiles(_) => return Some(format!("You can make the call again: {remedy}.")),
            Remedy::AllowTool(_)
            | Remedy::AllowHost(_)
            | Remedy::AddRule(_)
            | Remedy::Unprotect(_)
            | Remedy::Trust
            | Remedy::Login(_) => decisions.push(remedy.to_string()),
        }
    }
    let decisions = (!decisions.is_empty()).then(|| decisions.join(", or "))?;
    Some(format!("Go on without it, or ask the user to {decisions}."))
}
