//! A model that says what it was told to, for tests of whatever asks models.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_contract::BoxFuture;

use crate::{End, Event, Model, ModelError, Request, Responding};

/// Answers each request with the next reply of its script, and keeps the requests.
///
/// ```
/// use haft_model::{Model, Request, ScriptedModel};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let model = ScriptedModel::new().reply("four");
/// let answer = model.respond(Request::of_user("2 + 2?")).await.unwrap().collect().await.unwrap();
/// assert_eq!(answer.text, "four");
/// assert_eq!(model.requests().len(), 1);
/// # });
/// ```
#[derive(Debug, Default)]
pub struct ScriptedModel {
    // Callers hold the model shared, and requests come from any of them; each takes one reply.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    replies: VecDeque<Result<Vec<Event>, ModelError>>,
    requests: Vec<Request>,
}

impl ScriptedModel {
    /// Returns a model with an empty script.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a reply of this text.
    #[must_use]
    pub fn reply(self, text: impl Into<String>) -> Self {
        self.events([Event::Text(text.into()), Event::End(End::default())])
    }

    /// Adds a reply of these events. Without an end it is one that breaks off.
    #[must_use]
    pub fn events(self, events: impl IntoIterator<Item = Event>) -> Self {
        self.state().replies.push_back(Ok(events.into_iter().collect()));
        self
    }

    /// Adds a request that fails.
    #[must_use]
    pub fn failure(self, error: ModelError) -> Self {
        self.state().replies.push_back(Err(error));
        self
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for ScriptedModel {
    fn respond(&self, request: Request) -> BoxFuture<'_, Result<Responding, ModelError>> {
        Box::pin(async move {
            let mut state = self.state();
            let is_cancelled = request.cancellation.is_cancelled();
            state.requests.push(request);
            if is_cancelled {
                return Err(ModelError::Cancelled);
            }
            let over = || Err(ModelError::Settings("the script has no further reply".to_owned()));
            let events = state.replies.pop_front().unwrap_or_else(over)?;
            Ok(Responding::from_events(events.into_iter().map(Ok)))
        })
    }
}
