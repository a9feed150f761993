//! Gemini's streamed contents: each event is a candidate with parts; calls are whole.

use serde_json::{Value, json};

use super::{ReplyEncoder, ReplyToolCall, event};
use crate::script::{ReplyStopReason, ScriptedUsage};

pub(super) struct GeminiReplyEncoder;

/// Returns the model that a path names.
pub(super) fn model(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.split(':').next().unwrap_or_default()
}

fn part(part: &Value) -> String {
    event(&json!({"candidates": [{"content": {"parts": [part], "role": "model"}}]}))
}

impl ReplyEncoder for GeminiReplyEncoder {
    fn begin(&mut self, _: &ScriptedUsage) -> String {
        String::new()
    }

    fn text(&mut self, text: &str) -> String {
        part(&json!({"text": text}))
    }

    fn reasoning(&mut self, text: &str) -> String {
        part(&json!({"text": text, "thought": true}))
    }

    fn call(&mut self, call: &ReplyToolCall<'_>) -> Vec<String> {
        let whole = json!({"id": call.id, "name": call.tool, "args": call.input});
        vec![part(&json!({"functionCall": whole}))]
    }

    fn end(&mut self, stop: ReplyStopReason, usage: &ScriptedUsage) -> String {
        let reason = match stop {
            ReplyStopReason::Done | ReplyStopReason::ToolCalls => "STOP",
            ReplyStopReason::Length => "MAX_TOKENS",
            ReplyStopReason::Refused => "SAFETY",
        };
        let read = usage.input + usage.cache_read + usage.cache_write;
        event(&json!({
            "candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": reason}],
            "usageMetadata": {
                "promptTokenCount": read,
                "cachedContentTokenCount": usage.cache_read,
                "candidatesTokenCount": usage.output,
                "thoughtsTokenCount": usage.reasoning,
                "totalTokenCount": read + usage.output + usage.reasoning,
            },
        }))
    }
}
