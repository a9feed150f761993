//! Turns a trace into an answer: one request to a model, after everything was run. The answer is text for a person and is
//! never acted upon.

use haft_contract::canonical_json;
use haft_model::{Model, ModelAnswer, ModelError, ModelRequest};

use super::excerpt::excerpt;
use super::limits::{REQUEST_BYTES_MAX, TRACE_BYTES_MAX};
use super::prompt::ANSWERING;

/// Why there is no answer. The trace is not touched by that.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SynthesisError {
    /// The model gave none.
    #[error("the plan was run, but its outcome was not put into words: {0}")]
    Model(#[from] ModelError),
    /// The model said nothing.
    #[error(
        "the plan was run, but the model said nothing about its outcome: look at the trace, or take another model"
    )]
    Empty,
}

/// Asks `model` once to answer `request` from the trace. [`ModelAnswer::stop`] says whether the answer was cut.
pub async fn synthesise(
    model: &dyn Model,
    request: &str,
    trace_json: &str,
) -> Result<ModelAnswer, SynthesisError> {
    let request = canonical_json(&excerpt(request.trim(), REQUEST_BYTES_MAX).into());
    let trace = excerpt(trace_json, TRACE_BYTES_MAX);
    let text = format!(
        "Request, as a JSON string:\n{request}\n\nRecord of the plan:\n{trace}\n\nThe answer:"
    );
    let request =
        ModelRequest { system: Some(ANSWERING.to_owned()), ..ModelRequest::from_user_text(text) };
    let answer = model.respond(request).await?.collect().await?;
    match answer.text.trim().is_empty() {
        true => Err(SynthesisError::Empty),
        false => Ok(answer),
    }
}
