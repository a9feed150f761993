//! Words the remedies of a refusal in one sentence that a model can act on. The model has no terminal of haft's: what only a person
//! can do it asks the user for.

use haft_contract::{Refusal, Remedy};

/// Returns the sentence behind the text of a refusal; nothing if no change lifts it.
pub(crate) fn sentence_for_model(refusal: &Refusal) -> Option<String> {
    let mut requests = Vec::new();
    for remedy in &refusal.remedies {
        match remedy {
            Remedy::Settle(call) => {
                return Some(format!(
                    "You cannot settle this call, and making it again will not help. Tell the user what it was to do and \
                     that its end is not known; once they have found out, they settle call {call} in haft as happened, \
                     not happened or to be retried."
                ));
            }
            Remedy::NameFiles(_) => return Some(format!("You can make the call again: {remedy}.")),
            Remedy::AllowTool(_)
            | Remedy::AllowHost(_)
            | Remedy::AddRule(_)
            | Remedy::Unprotect(_)
            | Remedy::Trust
            | Remedy::Login(_) => requests.push(remedy.to_string()),
        }
    }
    let requests = (!requests.is_empty()).then(|| requests.join(", or "))?;
    Some(format!("Tell the user what lifts this in haft: {requests}."))
}
