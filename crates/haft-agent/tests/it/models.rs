//! Models made for tests: what they answer follows from what they are asked, so that a chat which is gone on with gets the
//! answers that it would have got.

use std::sync::{Arc, Mutex};

use haft_contract::BoxFuture;
use haft_model::{
    Arguments, End, Event, Message, Model, ModelError, Request, Responding, Stop, ToolCall, Usage,
};
use serde_json::Value;
use tokio::sync::watch;

/// What a model answers to one request.
pub(crate) enum Reply {
    Events(Vec<Result<Event, ModelError>>),
    /// These events, and then nothing more until somebody stops it.
    Hold(Vec<Event>),
    Refuse(ModelError),
}

type Answers = dyn Fn(&Request) -> Reply + Send + Sync;

/// Answers by a function, and keeps the requests.
pub(crate) struct Actor {
    answers: Box<Answers>,
    pub(crate) requests: Mutex<Vec<Request>>,
    holding: watch::Sender<u32>,
}

impl Actor {
    pub(crate) fn new(answers: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Arc<Self> {
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

    pub(crate) fn request(&self, place: usize) -> Request {
        self.requests.lock().unwrap()[place].clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

impl Model for Actor {
    fn respond(&self, request: Request) -> BoxFuture<'_, Result<Responding, ModelError>> {
        let reply = (self.answers)(&request);
        self.requests.lock().unwrap().push(request);
        Box::pin(async move {
            match reply {
                Reply::Events(events) => Ok(Responding::from_events(events)),
                Reply::Refuse(error) => Err(error),
                Reply::Hold(events) => {
                    let holding = self.holding.clone();
                    let events = events.into_iter().map(Ok);
                    let held = futures_util::stream::once(async move {
                        holding.send_modify(|count| *count += 1);
                        std::future::pending().await
                    });
                    let events = futures_util::stream::iter(events);
                    Ok(Responding::new(futures_util::StreamExt::chain(events, held)))
                }
            }
        })
    }
}

pub(crate) const USAGE: Usage =
    Usage { input: 100, output: 10, reasoning: 1, cache_read: 1_000, cache_write: 5 };

fn end(stop: Stop) -> Event {
    Event::End(End { stop, usage: USAGE })
}

/// Says a text and has done.
pub(crate) fn says(text: &str) -> Reply {
    Reply::Events(vec![Ok(Event::Text(text.to_owned())), Ok(end(Stop::Done))])
}

pub(crate) fn call(id: &str, tool: &str, input: Value) -> Event {
    Event::ToolCall(ToolCall {
        id: id.to_owned(),
        name: tool.to_owned(),
        arguments: Arguments::Object(input),
        signatures: Vec::new(),
    })
}

/// Asks for calls: name, tool and input of each.
pub(crate) fn calls(calls: &[(&str, &str, Value)]) -> Reply {
    let calls = calls.iter().map(|(id, tool, input)| Ok(call(id, tool, input.clone())));
    Reply::Events(calls.chain([Ok(end(Stop::ToolCalls))]).collect())
}

pub(crate) fn ends(events: Vec<Event>, stop: Stop) -> Reply {
    Reply::Events(events.into_iter().chain([end(stop)]).map(Ok).collect())
}

/// Returns the results of calls in a request, as `name: text`.
pub(crate) fn results(request: &Request) -> Vec<String> {
    let result = |message: &Message| match message {
        Message::ToolResult { call_id, text, .. } => Some(format!("{call_id}: {text}")),
        Message::User(_) | Message::Assistant { .. } => None,
    };
    request.messages.iter().filter_map(result).collect()
}

/// Returns what the user is taken to have said last.
pub(crate) fn last_said(request: &Request) -> String {
    let said = request.messages.iter().rev().find_map(|message| match message {
        Message::User(text) => Some(text.clone()),
        Message::Assistant { .. } | Message::ToolResult { .. } => None,
    });
    said.unwrap_or_default()
}
