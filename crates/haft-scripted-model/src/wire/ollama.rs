//! Ollama's chat: a JSON object a line, calls whole. It counts nothing of caches and tells no thoughts apart.

use serde_json::{Value, json};

use super::{Speak, Spoken};
use crate::script::{Stop, Usage};

pub(super) struct Speaker;

fn line(message: &Value) -> String {
    format!("{}\n", json!({"message": message, "done": false}))
}

impl Speak for Speaker {
    fn begin(&mut self, _: &Usage) -> String {
        String::new()
    }

    fn text(&mut self, text: &str) -> String {
        line(&json!({"role": "assistant", "content": text}))
    }

    fn reasoning(&mut self, text: &str) -> String {
        line(&json!({"role": "assistant", "content": "", "thinking": text}))
    }

    fn call(&mut self, call: &Spoken<'_>) -> Vec<String> {
        let function = json!({"name": call.tool, "arguments": call.input});
        let calls = json!([{"id": call.id, "function": function}]);
        vec![line(&json!({"role": "assistant", "content": "", "tool_calls": calls}))]
    }

    fn end(&mut self, stop: Stop, usage: &Usage) -> String {
        let reason = match stop {
            Stop::Done | Stop::ToolCalls | Stop::Refused => "stop",
            Stop::Length => "length",
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
