//! A model with prepared answers, for tests of code that asks models.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_contract::BoxFuture;

use crate::{Model, ModelAnswerEnd, ModelAnswerStream, ModelError, ModelEvent, ModelRequest};

/// Answers each request with the next reply of its script, and records the requests.
///
/// ```
/// use haft_model::{Model, ModelRequest, ScriptedModel};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let model = ScriptedModel::new().reply("four");
/// let answer = model.respond(ModelRequest::from_user_text("2 + 2?")).await.unwrap().collect().await.unwrap();
/// assert_eq!(answer.text, "four");
/// assert_eq!(model.requests().len(), 1);
/// # });
/// ```
#[derive(Debug, Default)]
pub struct ScriptedModel {
    // Callers share the model, and each request takes one reply.
    state: Mutex<ScriptedModelState>,
}

#[derive(Debug, Default)]
struct ScriptedModelState {
    replies: VecDeque<Result<Vec<ModelEvent>, ModelError>>,
    requests: Vec<ModelRequest>,
}

impl ScriptedModel {
    /// Returns a model with an empty script.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a reply of this text.
    #[must_use]
    pub fn reply(self, text: impl Into<String>) -> Self {
        self.events([ModelEvent::Text(text.into()), ModelEvent::End(ModelAnswerEnd::default())])
    }

    /// Adds a reply of these events. Without an end, it is a reply that is cut off.
    #[must_use]
    pub fn events(self, events: impl IntoIterator<Item = ModelEvent>) -> Self {
        self.state().replies.push_back(Ok(events.into_iter().collect()));
        self
    }

    /// Adds an error as a reply.
    #[must_use]
    pub fn failure(self, error: ModelError) -> Self {
        self.state().replies.push_back(Err(error));
        self
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.state().requests.clone()
    }

    fn state(&self) -> MutexGuard<'_, ScriptedModelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for ScriptedModel {
    fn respond(
        &self,
        request: ModelRequest,
    ) -> BoxFuture<'_, Result<ModelAnswerStream, ModelError>> {
        Box::pin(async move {
            let mut state = self.state();
            let is_cancelled = request.cancellation.is_cancelled();
            state.requests.push(request);
            if is_cancelled {
                return Err(ModelError::Cancelled);
            }
            let over = || Err(ModelError::Settings("the script has no further reply".to_owned()));
            let events = state.replies.pop_front().unwrap_or_else(over)?;
            Ok(ModelAnswerStream::from_events(events.into_iter().map(Ok)))
        })
    }

    fn takes_images(&self) -> bool {
        true
    }
}
