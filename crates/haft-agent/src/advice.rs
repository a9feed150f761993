//! Words the remedies of a refusal for the model whose call was refused. The user reads along, so the model is told what it can do
//! itself, and what is the user's to decide.

use haft_contract::{Refusal, Remedy};

/// Returns the sentence behind the text of a refusal; nothing if the reason says all.
pub(crate) fn sentence_for_agent(refusal: &Refusal) -> Option<String> {
    refusal.advice_for_model(Remedy::to_string)
}
