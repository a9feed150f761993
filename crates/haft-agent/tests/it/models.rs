//! Models for tests. Their answers depend only on the requests, so a resumed session gets the same answers.

use std::sync::{Arc, Mutex};

use haft_contract::BoxFuture;
use haft_model::{
    Model, ModelAnswerEnd, ModelAnswerStream, ModelError, ModelEvent, ModelMessage, ModelRequest,
    ModelStopReason, ModelUsage, ToolCall, ToolCallArguments,
};
use serde_json::Value;
use tokio::sync::watch;

/// The answer of a model to one request.
pub(crate) enum Reply {
    Events(Vec<Result<ModelEvent, ModelError>>),
    /// These events, and then nothing until the request is stopped.
    Hold(Vec<ModelEvent>),
    Refuse(ModelError),
}

type Answers = dyn Fn(&ModelRequest) -> Reply + Send + Sync;

/// Answers by a function, and keeps the requests.
pub(crate) struct Actor {
    answers: Box<Answers>,
    pub(crate) requests: Mutex<Vec<ModelRequest>>,
    holding: watch::Sender<u32>,
}

impl Actor {
    pub(crate) fn new(
        answers: impl Fn(&ModelRequest) -> Reply + Send + Sync + 'static,
    ) -> Arc<Self> {
        let (holding, _) = watch::channel(0);
        Arc::new(Self { answers: Box::new(answers), requests: Mutex::default(), holding })
    }

    /// Answers the request that comes as the n-th with the n-th of these.
    pub(crate) fn in_order(replies: Vec<Reply>) -> Arc<Self> {
        let replies = Mutex::new(std::collections::VecDeque::from(replies));
        Self::new(move |_| {
            let over = || Reply::Refuse(ModelError::Settings("the script is over".to_owned()));
            replies.lock().unwrap().pop_front().unwrap_or_else(over)
        })
    }

    /// Waits until it holds an answer back for so many requests.
    pub(crate) async fn until_holding(&self, count: u32) {
        self.holding.subscribe().wait_for(|holding| *holding >= count).await.unwrap();
    }

    pub(crate) fn request(&self, place: usize) -> ModelRequest {
        self.requests.lock().unwrap()[place].clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

impl Model for Actor {
    fn respond(
        &self,
        request: ModelRequest,
    ) -> BoxFuture<'_, Result<ModelAnswerStream, ModelError>> {
        let reply = (self.answers)(&request);
        self.requests.lock().unwrap().push(request);
        Box::pin(async move {
            match reply {
                Reply::Events(events) => Ok(ModelAnswerStream::from_events(events)),
                Reply::Refuse(error) => Err(error),
                Reply::Hold(events) => {
                    let holding = self.holding.clone();
                    let events = events.into_iter().map(Ok);
                    let held = futures_util::stream::once(async move {
                        holding.send_modify(|count| *count += 1);
                        std::future::pending().await
                    });
                    let events = futures_util::stream::iter(events);
                    Ok(ModelAnswerStream::new(futures_util::StreamExt::chain(events, held)))
                }
            }
        })
    }

    fn takes_images(&self) -> bool {
        false
    }
}

pub(crate) const USAGE: ModelUsage =
    ModelUsage { input: 100, output: 10, reasoning: 1, cache_read: 1_000, cache_write: 5 };

fn end(stop: ModelStopReason) -> ModelEvent {
    ModelEvent::End(ModelAnswerEnd { stop, usage: USAGE })
}

/// Says a text and has done.
pub(crate) fn says(text: &str) -> Reply {
    Reply::Events(vec![Ok(ModelEvent::Text(text.to_owned())), Ok(end(ModelStopReason::Done))])
}

pub(crate) fn call(id: &str, tool: &str, input: Value) -> ModelEvent {
    ModelEvent::ToolCall(ToolCall {
        id: id.to_owned(),
        name: tool.to_owned(),
        arguments: ToolCallArguments::Object(input),
        signatures: Vec::new(),
    })
}

/// Asks for calls: name, tool and input of each.
pub(crate) fn calls(calls: &[(&str, &str, Value)]) -> Reply {
    let calls = calls.iter().map(|(id, tool, input)| Ok(call(id, tool, input.clone())));
    Reply::Events(calls.chain([Ok(end(ModelStopReason::ToolCalls))]).collect())
}

pub(crate) fn ends(events: Vec<ModelEvent>, stop: ModelStopReason) -> Reply {
    Reply::Events(events.into_iter().chain([end(stop)]).map(Ok).collect())
}

/// Returns the results of calls in a request, as `name: text`.
pub(crate) fn results(request: &ModelRequest) -> Vec<String> {
    let result = |message: &ModelMessage| match message {
        ModelMessage::ToolResult { call_id, text, .. } => Some(format!("{call_id}: {text}")),
        ModelMessage::User(_) | ModelMessage::Assistant { .. } => None,
    };
    request.messages.iter().filter_map(result).collect()
}

/// Returns what the user is taken to have said last.
pub(crate) fn last_said(request: &ModelRequest) -> String {
    let said = request.messages.iter().rev().find_map(|message| match message {
        ModelMessage::User(message) => Some(message.text.clone()),
        ModelMessage::Assistant { .. } | ModelMessage::ToolResult { .. } => None,
    });
    said.unwrap_or_default()
}
