//! Ollama's `/api/chat`: one JSON object per line; calls are whole. It reports neither caches nor
//! reasoning tokens.

use serde_json::{Value, json};

use super::{ReplyEncoder, ReplyToolCall};
use crate::script::{ReplyStopReason, ScriptedUsage};

pub(super) struct OllamaReplyEncoder;

fn line(message: &Value) -> String {
    format!("{}\n", json!({"message": message, "done": false}))
}

impl ReplyEncoder for OllamaReplyEncoder {
    fn begin(&mut self, _: &ScriptedUsage) -> String {
        String::new()
    }

    fn text(&mut self, text: &str) -> String {
        line(&json!({"role": "assistant", "content": text}))
    }

    fn reasoning(&mut self, text: &str) -> String {
        line(&json!({"role": "assistant", "content": "", "thinking": text}))
    }

    fn call(&mut self, call: &ReplyToolCall<'_>) -> Vec<String> {
        let function = json!({"name": call.tool, "arguments": call.input});
        let calls = json!([{"id": call.id, "function": function}]);
        vec![line(&json!({"role": "assistant", "content": "", "tool_calls": calls}))]
    }

    fn end(&mut self, stop: ReplyStopReason, usage: &ScriptedUsage) -> String {
        let reason = match stop {
            ReplyStopReason::Done | ReplyStopReason::ToolCalls | ReplyStopReason::Refused => "stop",
            ReplyStopReason::Length => "length",
        };
        let last = json!({
            "message": {"role": "assistant", "content": ""},
            "done": true,
            "done_reason": reason,
            "prompt_eval_count": usage.input + usage.cache_read + usage.cache_write,
            "eval_count": usage.output + usage.reasoning,
        });
        format!("{last}\n")
    }
}
