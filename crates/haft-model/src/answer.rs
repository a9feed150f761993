//! A model's answer: its events as they arrive, and the complete answer. An answer that stops
//! without its end is an error and never counts as complete.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use serde::{Deserialize, Serialize};

use crate::limits::{ANSWER_BYTES_MAX, TOOL_CALLS_MAX};
use crate::{ModelError, ToolCall, ToolCallArguments};

/// One event of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// Nothing has been received: the attempt failed, and the next one follows after a pause.
    Retry(ModelRetry),
    /// More text.
    Text(String),
    /// More of the model's reasoning, if the model shows it.
    Reasoning(String),
    /// More of the arguments of a call, as the model writes them. Pieces of one call have the same
    /// id; the complete call follows. Some models send only complete calls.
    ToolInput {
        /// The id of the call, as in [`ToolCall::id`].
        id: String,
        /// The tool, as in [`ToolCall::name`].
        name: String,
        /// The new text. The first piece may be empty: it shows that the call begins.
        text: String,
    },
    /// A complete call.
    ToolCall(ToolCall),
    /// The answer is complete. No event follows.
    End(ModelAnswerEnd),
}

/// A failed attempt, and the time of the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRetry {
    /// Why it failed.
    pub error: ModelError,
    /// The pause before the next attempt.
    pub pause: Duration,
    /// The number of the next attempt, from 2.
    pub attempt: u32,
    /// The maximum number of attempts.
    pub attempts_max: u32,
}

/// How an answer ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelAnswerEnd {
    /// Why it ended.
    pub stop: ModelStopReason,
    /// The number of tokens.
    pub usage: ModelUsage,
}

/// Why an answer ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ModelStopReason {
    /// The model finished.
    #[default]
    Done,
    /// The model waits for the results of its calls.
    ToolCalls,
    /// The maximum length was reached: the text is truncated.
    Length,
    /// The model reached one of the stop texts.
    StopText,
    /// A reason that only this provider defines.
    Other(String),
}

/// Tokens, each counted in one field only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUsage {
    /// Input tokens, neither read from a cache nor written to one.
    pub input: u64,
    /// Output tokens, without reasoning.
    pub output: u64,
    /// Reasoning tokens.
    pub reasoning: u64,
    /// Input tokens read from a cache.
    pub cache_read: u64,
    /// Input tokens written to a cache.
    pub cache_write: u64,
}

impl ModelUsage {
    /// Returns the sum of both.
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

/// A complete answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelAnswer {
    /// Its text.
    pub text: String,
    /// The calls that it requests, in order.
    pub tool_calls: Vec<ToolCall>,
    /// Why it ended.
    pub stop: ModelStopReason,
    /// The number of tokens.
    pub usage: ModelUsage,
}

/// An answer in progress. Dropping it cancels the request.
///
/// The last item is always [`ModelEvent::End`] or an error. The size is limited: a longer answer
/// ends with [`ModelError::TooLong`].
pub struct ModelAnswerStream {
    events: Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>,
    /// The received bytes of text, reasoning and complete calls.
    bytes: usize,
    /// The received bytes of pieces of calls, which the complete calls repeat.
    input_bytes: usize,
    calls: usize,
    is_over: bool,
}

impl std::fmt::Debug for ModelAnswerStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Responding").field("is_over", &self.is_over).finish_non_exhaustive()
    }
}

impl ModelAnswerStream {
    /// Returns an answer that consists of these events.
    pub fn new(
        events: impl Stream<Item = Result<ModelEvent, ModelError>> + Send + 'static,
    ) -> Self {
        Self { events: Box::pin(events), bytes: 0, input_bytes: 0, calls: 0, is_over: false }
    }

    /// Returns an answer with known events.
    pub fn from_events<I>(events: I) -> Self
    where
        I: IntoIterator<Item = Result<ModelEvent, ModelError>>,
        I::IntoIter: Send + 'static,
    {
        Self::new(stream::iter(events))
    }

    /// Returns the next event, or `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        StreamExt::next(self).await
    }

    /// Waits for the complete answer.
    pub async fn collect(self) -> Result<ModelAnswer, ModelError> {
        self.collect_with_retries(|_| {}).await
    }

    /// Waits for the complete answer, and reports retries meanwhile.
    pub async fn collect_with_retries(
        mut self,
        mut tell: impl FnMut(ModelRetry),
    ) -> Result<ModelAnswer, ModelError> {
        let mut answer = ModelAnswer::default();
        while let Some(event) = self.next().await {
            match event? {
                ModelEvent::Retry(retry) => tell(retry),
                ModelEvent::Text(text) => answer.text.push_str(&text),
                ModelEvent::Reasoning(_) | ModelEvent::ToolInput { .. } => {}
                ModelEvent::ToolCall(call) => answer.tool_calls.push(call),
                ModelEvent::End(ModelAnswerEnd { stop, usage }) => {
                    (answer.stop, answer.usage) = (stop, usage);
                }
            }
        }
        Ok(answer)
    }
}

impl Stream for ModelAnswerStream {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let event = match self.events.as_mut().poll_next(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(event) => event.unwrap_or(Err(ModelError::CutOff)),
        };
        match &event {
            Ok(ModelEvent::Text(text) | ModelEvent::Reasoning(text)) => {
                self.bytes = self.bytes.saturating_add(text.len());
            }
            Ok(ModelEvent::ToolInput { text, .. }) => {
                self.input_bytes = self.input_bytes.saturating_add(text.len());
            }
            Ok(ModelEvent::ToolCall(call)) => {
                self.calls += 1;
                let arguments = match &call.arguments {
                    ToolCallArguments::Object(value) => value.to_string().len(),
                    ToolCallArguments::Malformed { text, .. } => text.len(),
                };
                self.bytes = self.bytes.saturating_add(call.name.len() + arguments);
            }
            Ok(ModelEvent::Retry(_) | ModelEvent::End(_)) | Err(_) => {}
        }
        let has_room =
            self.bytes.max(self.input_bytes) <= ANSWER_BYTES_MAX && self.calls <= TOOL_CALLS_MAX;
        let event = if has_room { event } else { Err(ModelError::TooLong) };
        self.is_over = matches!(event, Ok(ModelEvent::End(_)) | Err(_));
        Poll::Ready(Some(event))
    }
}

#[cfg(test)]
mod tests;
