//! Reads the client library's events into ours, counts them, and tells a whole answer from one that only stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use genai::chat::{
    ChatFrameSink, ChatStreamEvent, FrameCtx, RawFrameRef, StopReason, StreamEnd,
    Usage as WireUsage,
};

use super::calls::Calls;
use super::name::Wire;
use crate::{End, Event, ModelError, Stop, Usage};

/// What can only be told from the frames of a stream, before the library reads them.
#[derive(Debug, Default)]
pub(super) struct Frames {
    any: AtomicBool,
    blocked: AtomicBool,
}

impl Frames {
    pub(super) fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Gemini says in a frame without candidates that it blocked a request. The library reports that without the reason.
    pub(super) fn blocked(&self) -> bool {
        self.blocked.load(Ordering::Relaxed)
    }
}

/// The sink that fills [`Frames`]; the library wants to own one, and the attempt reads along.
#[derive(Debug)]
pub(super) struct Watch(pub(super) Arc<Frames>);

impl ChatFrameSink for Watch {
    fn on_frame(&self, _cx: &FrameCtx, frame: RawFrameRef<'_>) {
        if !frame.data.is_empty() {
            self.0.any.store(true, Ordering::Relaxed);
        }
        if frame.data.contains("\"blockReason\"") {
            self.0.blocked.store(true, Ordering::Relaxed);
        }
    }
}

#[derive(Debug)]
pub(super) struct Reader {
    wire: Wire,
    calls: Calls,
    bytes: usize,
    bytes_max: usize,
}

impl Reader {
    pub(super) fn new(wire: Wire, bytes_max: usize) -> Self {
        Self { wire, calls: Calls::new(wire), bytes: 0, bytes_max }
    }

    /// Returns what an event of the library means; the last one of a whole answer is its end.
    pub(super) fn read(&mut self, event: ChatStreamEvent) -> Result<Vec<Event>, ModelError> {
        let (grown, event) = match event {
            ChatStreamEvent::Start | ChatStreamEvent::Heartbeat => (0, None),
            ChatStreamEvent::Chunk(chunk) => {
                (chunk.content.len(), Some(Event::Text(chunk.content)))
            }
            ChatStreamEvent::ReasoningChunk(chunk) => {
                (chunk.content.len(), Some(Event::Reasoning(chunk.content)))
            }
            ChatStreamEvent::ThoughtSignatureChunk(chunk) => (chunk.content.len(), None),
            ChatStreamEvent::ToolCallChunk(chunk) => {
                let grown = self.calls.add(chunk.tool_call)?;
                (grown.bytes, grown.event)
            }
            ChatStreamEvent::End(end) => return self.end(end),
        };
        self.bytes = self.bytes.saturating_add(grown);
        if self.bytes > self.bytes_max {
            return Err(ModelError::TooLong);
        }
        Ok(event.into_iter().collect())
    }

    fn end(&mut self, end: StreamEnd) -> Result<Vec<Event>, ModelError> {
        let StreamEnd { captured_usage, captured_stop_reason, .. } = end;
        // The library ends these streams also when the connection did. What a provider sends last is missing then.
        let is_whole = match self.wire {
            Wire::OpenAi | Wire::Anthropic => true,
            Wire::Gemini => captured_stop_reason.is_some(),
            Wire::Ollama => captured_stop_reason.is_some() || captured_usage.is_some(),
        };
        if !is_whole {
            return Err(ModelError::CutOff);
        }
        let calls = std::mem::replace(&mut self.calls, Calls::new(self.wire)).finish();
        let stop = match captured_stop_reason {
            Some(StopReason::ContentFilter(reason)) => {
                return Err(ModelError::Refused { detail: reason });
            }
            Some(StopReason::MaxTokens(_)) => Stop::Length,
            Some(StopReason::StopSequence(_)) => Stop::StopText,
            Some(StopReason::ToolCall(_)) => Stop::ToolCalls,
            // Gemini and Ollama say the same of an answer that asks for calls.
            Some(StopReason::Completed(_)) | None if !calls.is_empty() => Stop::ToolCalls,
            Some(StopReason::Completed(_)) | None => Stop::Done,
            Some(StopReason::Other(reason)) => Stop::Other(reason),
        };
        let usage = captured_usage.map(|usage| counted(&usage)).unwrap_or_default();
        let end = Event::End(End { stop, usage });
        Ok(calls.into_iter().map(Event::ToolCall).chain([end]).collect())
    }
}

/// The library counts what was read from a cache or put there as input, too, and reasoning as output.
fn counted(usage: &WireUsage) -> Usage {
    let number = |count: Option<i32>| u64::try_from(count.unwrap_or(0)).unwrap_or(0);
    let prompt = usage.prompt_tokens_details.as_ref();
    let cache_read = number(prompt.and_then(|details| details.cached_tokens));
    let cache_write = number(prompt.and_then(|details| details.cache_creation_tokens));
    let completion = usage.completion_tokens_details.as_ref();
    let reasoning = number(completion.and_then(|details| details.reasoning_tokens));
    Usage {
        input: number(usage.prompt_tokens).saturating_sub(cache_read).saturating_sub(cache_write),
        output: number(usage.completion_tokens).saturating_sub(reasoning),
        reasoning,
        cache_read,
        cache_write,
    }
}
