//! Words a refusal for a model whose haft has no front end with commands to name.

use haft_contract::{Refusal, Remedy};

/// Returns what a model can do about a refusal, with the remedies in plain words.
pub fn plain_advice(refusal: &Refusal) -> Option<String> {
    refusal.advice_for_model(Remedy::to_string)
}
