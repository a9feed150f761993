//! Converts the client library's events, counts them, and distinguishes a complete answer from a
//! truncated one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use genai::chat::{ChatFrameSink, ChatStreamEvent, FrameCtx, RawFrameRef, StopReason, StreamEnd};

use super::calls::ToolCallAssembler;
use crate::name::ProviderProtocol;
use crate::{ModelAnswerEnd, ModelError, ModelEvent, ModelStopReason, ModelUsage};

/// Facts that are only visible in the frames of a stream, before the library parses them.
#[derive(Debug, Default)]
pub(super) struct StreamFrameFlags {
    any: AtomicBool,
    blocked: AtomicBool,
}

impl StreamFrameFlags {
    pub(super) fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Gemini reports a blocked request in a frame without candidates. The library reports it
    /// without the reason.
    pub(super) fn blocked(&self) -> bool {
        self.blocked.load(Ordering::Relaxed)
    }
}

/// The sink that sets [`StreamFrameFlags`]. The library requires ownership of a sink, while the
/// attempt reads the flags.
#[derive(Debug)]
pub(super) struct StreamFrameObserver(pub(super) Arc<StreamFrameFlags>);

impl ChatFrameSink for StreamFrameObserver {
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
pub(super) struct ProviderStreamReader {
    wire: ProviderProtocol,
    calls: ToolCallAssembler,
    bytes: usize,
    bytes_max: usize,
}

impl ProviderStreamReader {
    pub(super) fn new(wire: ProviderProtocol, bytes_max: usize) -> Self {
        Self { wire, calls: ToolCallAssembler::new(wire), bytes: 0, bytes_max }
    }

    /// Returns the events for an event of the library; the last one of a complete answer is its
    /// end.
    pub(super) fn read(&mut self, event: ChatStreamEvent) -> Result<Vec<ModelEvent>, ModelError> {
        let (grown, event) = match event {
            ChatStreamEvent::Start | ChatStreamEvent::Heartbeat => (0, None),
            ChatStreamEvent::Chunk(chunk) => {
                (chunk.content.len(), Some(ModelEvent::Text(chunk.content)))
            }
            ChatStreamEvent::ReasoningChunk(chunk) => {
                (chunk.content.len(), Some(ModelEvent::Reasoning(chunk.content)))
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

    fn end(&mut self, end: StreamEnd) -> Result<Vec<ModelEvent>, ModelError> {
        let StreamEnd { captured_usage, captured_stop_reason, .. } = end;
        // The library also ends these streams if the connection was lost. In that case the
        // provider's last frame is missing.
        let is_whole = match self.wire {
            ProviderProtocol::OpenAi | ProviderProtocol::Anthropic => true,
            ProviderProtocol::Gemini => captured_stop_reason.is_some(),
            ProviderProtocol::Ollama => captured_stop_reason.is_some() || captured_usage.is_some(),
        };
        if !is_whole {
            return Err(ModelError::CutOff);
        }
        let calls = std::mem::replace(&mut self.calls, ToolCallAssembler::new(self.wire)).finish();
        let stop = match captured_stop_reason {
            Some(StopReason::ContentFilter(reason)) => {
                return Err(ModelError::Refused { detail: reason });
            }
            Some(StopReason::MaxTokens(_)) => ModelStopReason::Length,
            Some(StopReason::StopSequence(_)) => ModelStopReason::StopText,
            Some(StopReason::ToolCall(_)) => ModelStopReason::ToolCalls,
            // Gemini and Ollama send the same reason for an answer with calls.
            Some(StopReason::Completed(_)) | None if !calls.is_empty() => {
                ModelStopReason::ToolCalls
            }
            Some(StopReason::Completed(_)) | None => ModelStopReason::Done,
            Some(StopReason::Other(reason)) => ModelStopReason::Other(reason),
        };
        // The library counts cached tokens as input as well, and reasoning as output.
        let number = |count: Option<i32>| u64::try_from(count.unwrap_or(0)).unwrap_or(0);
        let counted = captured_usage.unwrap_or_default();
        let prompt = counted.prompt_tokens_details.as_ref();
        let cache_read = number(prompt.and_then(|details| details.cached_tokens));
        let cache_write = number(prompt.and_then(|details| details.cache_creation_tokens));
        let completion = counted.completion_tokens_details.as_ref();
        let reasoning = number(completion.and_then(|details| details.reasoning_tokens));
        let input = number(counted.prompt_tokens);
        let usage = ModelUsage {
            input: input.saturating_sub(cache_read).saturating_sub(cache_write),
            output: number(counted.completion_tokens).saturating_sub(reasoning),
            reasoning,
            cache_read,
            cache_write,
        };
        let end = ModelEvent::End(ModelAnswerEnd { stop, usage });
        Ok(calls.into_iter().map(ModelEvent::ToolCall).chain([end]).collect())
    }
}
