//! OpenAI's `/chat/completions`: unnamed chunks, arguments of calls as differences, and usage in a
//! separate chunk.

use serde_json::{Value, json};

use super::{ReplyEncoder, ReplyToolCall, event};
use crate::script::{ReplyStopReason, ScriptedUsage};

pub(super) struct OpenAiReplyEncoder {
    model: String,
    calls: usize,
}

impl OpenAiReplyEncoder {
    pub(super) fn new(model: &str) -> Self {
        Self { model: model.to_owned(), calls: 0 }
    }

    fn chunk(&self, choices: &Value, usage: Option<Value>) -> String {
        let mut chunk = json!({
            "id": "chatcmpl-scripted",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": self.model,
            "choices": choices,
        });
        if let (Value::Object(fields), Some(usage)) = (&mut chunk, usage) {
            fields.insert("usage".to_owned(), usage);
        }
        event(&chunk)
    }

    fn delta(&self, delta: &Value) -> String {
        self.chunk(&json!([{"index": 0, "delta": delta, "finish_reason": null}]), None)
    }

    fn call_delta(&self, call: &Value) -> String {
        self.delta(&json!({"tool_calls": [call]}))
    }
}

impl ReplyEncoder for OpenAiReplyEncoder {
    fn begin(&mut self, _: &ScriptedUsage) -> String {
        self.delta(&json!({"role": "assistant", "content": ""}))
    }

    fn text(&mut self, text: &str) -> String {
        self.delta(&json!({"content": text}))
    }

    fn reasoning(&mut self, text: &str) -> String {
        self.delta(&json!({"reasoning_content": text}))
    }

    fn call(&mut self, call: &ReplyToolCall<'_>) -> Vec<String> {
        let index = self.calls;
        self.calls += 1;
        let begins = json!({
            "index": index,
            "id": call.id,
            "type": "function",
            "function": {"name": call.tool, "arguments": ""},
        });
        let pieces = call.pieces.iter().map(|piece| {
            self.call_delta(&json!({"index": index, "function": {"arguments": piece}}))
        });
        [self.call_delta(&begins)].into_iter().chain(pieces).collect()
    }

    fn end(&mut self, stop: ReplyStopReason, usage: &ScriptedUsage) -> String {
        let reason = match stop {
            ReplyStopReason::Done => "stop",
            ReplyStopReason::ToolCalls => "tool_calls",
            ReplyStopReason::Length => "length",
            ReplyStopReason::Refused => "content_filter",
        };
        let read = usage.input + usage.cache_read + usage.cache_write;
        let written = usage.output + usage.reasoning;
        let usage = json!({
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": usage.cache_read},
            "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
        });
        let last = self.chunk(&json!([{"index": 0, "delta": {}, "finish_reason": reason}]), None);
        format!("{last}{}data: [DONE]\n\n", self.chunk(&json!([]), Some(usage)))
    }
}
