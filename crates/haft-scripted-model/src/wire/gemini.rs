//! Gemini's streamed contents: each event a candidate with parts, calls whole.

use serde_json::{Value, json};

use super::{Speak, Spoken, event};
use crate::script::{Stop, Usage};

pub(super) struct Speaker;

/// Returns the model that a path names.
pub(super) fn model(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.split(':').next().unwrap_or_default()
}

fn part(part: &Value) -> String {
    event(&json!({"candidates": [{"content": {"parts": [part], "role": "model"}}]}))
}

impl Speak for Speaker {
    fn begin(&mut self, _: &Usage) -> String {
        String::new()
    }

    fn text(&mut self, text: &str) -> String {
        part(&json!({"text": text}))
    }

    fn reasoning(&mut self, text: &str) -> String {
        part(&json!({"text": text, "thought": true}))
    }

    fn call(&mut self, call: &Spoken<'_>) -> Vec<String> {
        let whole = json!({"id": call.id, "name": call.tool, "args": call.input});
        vec![part(&json!({"functionCall": whole}))]
    }

    fn end(&mut self, stop: Stop, usage: &Usage) -> String {
        let reason = match stop {
            Stop::Done | Stop::ToolCalls => "STOP",
            Stop::Length => "MAX_TOKENS",
            Stop::Refused => "SAFETY",
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
