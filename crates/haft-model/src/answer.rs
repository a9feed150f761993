//! What a model answers: events as they come, and the whole of them. An answer that stops without its end is an error and
//! never passes for a whole one.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use serde::{Deserialize, Serialize};

use crate::limits::{ANSWER_BYTES_MAX, TOOL_CALLS_MAX};
use crate::{Arguments, ModelError, ToolCall};

/// One piece of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Nothing was received yet: the request failed, and is made again after a pause.
    Retry(Retry),
    /// More text.
    Text(String),
    /// More of what the model thinks, where it shows that.
    Reasoning(String),
    /// More of the arguments of a call, as they are written. What belongs together has one id; the whole call follows. Not
    /// every model shows calls before they are whole.
    ToolInput {
        /// Names the call, as in [`ToolCall::id`].
        id: String,
        /// The tool, as in [`ToolCall::name`].
        name: String,
        /// What comes after what there was. The first piece may be empty: it says that the call begins.
        text: String,
    },
    /// A call, whole.
    ToolCall(ToolCall),
    /// The answer is complete. Nothing follows.
    End(End),
}

/// That an attempt failed, and when the next one is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Why it failed.
    pub error: ModelError,
    /// How long is waited before the next one.
    pub pause: Duration,
    /// Which attempt the next one is, from 2.
    pub attempt: u32,
    /// How many there are at most.
    pub attempts_max: u32,
}

/// How an answer ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// Why it ended.
    pub stop: Stop,
    /// What it took.
    pub usage: Usage,
}

/// Why an answer ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stop {
    /// The model had said all.
    #[default]
    Done,
    /// It waits for the outcome of calls.
    ToolCalls,
    /// It reached its greatest length: the text is cut.
    Length,
    /// It came to one of the texts to stop at.
    StopText,
    /// Something that only this provider knows.
    Other(String),
}

/// Tokens, each counted in one field only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Read, and neither from a cache nor into one.
    pub input: u64,
    /// Written, reasoning apart.
    pub output: u64,
    /// Thought.
    pub reasoning: u64,
    /// Read from a cache.
    pub cache_read: u64,
    /// Read and put into a cache.
    pub cache_write: u64,
}

impl Usage {
    /// Returns the tokens of both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            reasoning: self.reasoning.saturating_add(other.reasoning),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
        }
    }
}

/// A whole answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Its text.
    pub text: String,
    /// The calls that it asks for, in order.
    pub tool_calls: Vec<ToolCall>,
    /// Why it ended.
    pub stop: Stop,
    /// What it took.
    pub usage: Usage,
}

/// An answer on its way. Dropping it ends the work.
///
/// The last item is [`Event::End`] or an error, whatever the model behind it does. All of it is bounded: an answer that is
/// longer ends with [`ModelError::TooLong`].
pub struct Responding {
    events: Pin<Box<dyn Stream<Item = Result<Event, ModelError>> + Send>>,
    size: Size,
    is_over: bool,
}

impl std::fmt::Debug for Responding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Responding").field("is_over", &self.is_over).finish_non_exhaustive()
    }
}

impl Responding {
    /// Returns an answer that consists of these events.
    pub fn new(events: impl Stream<Item = Result<Event, ModelError>> + Send + 'static) -> Self {
        Self { events: Box::pin(events), size: Size::default(), is_over: false }
    }

    /// Returns an answer that is known beforehand.
    pub fn from_events<I>(events: I) -> Self
    where
        I: IntoIterator<Item = Result<Event, ModelError>>,
        I::IntoIter: Send + 'static,
    {
        Self::new(stream::iter(events))
    }

    /// Returns the next piece, or nothing after the last one.
    pub async fn next(&mut self) -> Option<Result<Event, ModelError>> {
        StreamExt::next(self).await
    }

    /// Waits for the whole answer.
    pub async fn collect(self) -> Result<Answer, ModelError> {
        self.collect_telling(|_| {}).await
    }

    /// Waits for the whole answer, and tells meanwhile that it is asked for again.
    pub async fn collect_telling(
        mut self,
        mut tell: impl FnMut(Retry),
    ) -> Result<Answer, ModelError> {
        let mut answer = Answer::default();
        while let Some(event) = self.next().await {
            match event? {
                Event::Retry(retry) => tell(retry),
                Event::Text(text) => answer.text.push_str(&text),
                Event::Reasoning(_) | Event::ToolInput { .. } => {}
                Event::ToolCall(call) => answer.tool_calls.push(call),
                Event::End(End { stop, usage }) => {
                    (answer.stop, answer.usage) = (stop, usage);
                }
            }
        }
        Ok(answer)
    }
}

impl Stream for Responding {
    type Item = Result<Event, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let event = match self.events.as_mut().poll_next(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(event) => event.unwrap_or(Err(ModelError::CutOff)),
        };
        let event = event.and_then(|event| self.size.counted(event));
        self.is_over = matches!(event, Ok(Event::End(_)) | Err(_));
        Poll::Ready(Some(event))
    }
}

/// How much of an answer was received.
#[derive(Debug, Default)]
struct Size {
    /// Text, thoughts and whole calls.
    bytes: usize,
    /// Pieces of calls. What they say comes again with the whole calls, and is not counted twice.
    input_bytes: usize,
    calls: usize,
}

impl Size {
    /// Returns the event if there is still room for it.
    fn counted(&mut self, event: Event) -> Result<Event, ModelError> {
        match &event {
            Event::Text(text) | Event::Reasoning(text) => grow(&mut self.bytes, text.len()),
            Event::ToolInput { text, .. } => grow(&mut self.input_bytes, text.len()),
            Event::ToolCall(call) => {
                self.calls += 1;
                let arguments = match &call.arguments {
                    Arguments::Object(value) => value.to_string().len(),
                    Arguments::Malformed { text, .. } => text.len(),
                };
                grow(&mut self.bytes, call.name.len() + arguments);
            }
            Event::Retry(_) | Event::End(_) => {}
        }
        let has_room = self.bytes.max(self.input_bytes) <= ANSWER_BYTES_MAX;
        if has_room && self.calls <= TOOL_CALLS_MAX { Ok(event) } else { Err(ModelError::TooLong) }
    }
}

fn grow(bytes: &mut usize, by: usize) {
    *bytes = bytes.saturating_add(by);
}

#[cfg(test)]
mod tests;
