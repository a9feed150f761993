//! Anthropic's messages: named events, each text, thought and call a block of its own that begins and ends.

use serde_json::{Value, json};

use super::{Speak, Spoken, event};
use crate::script::{Stop, Usage};

pub(super) struct Speaker {
    model: String,
    /// The block that has begun.
    open: Option<Block>,
    /// Blocks that have ended.
    ended: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Text,
    Thinking,
}

impl Speaker {
    pub(super) fn new(model: &str) -> Self {
        Self { model: model.to_owned(), open: None, ended: 0 }
    }

    /// Adds to a block of this kind, which begins unless it has.
    fn say(&mut self, block: Block, begins: &Value, delta: &Value) -> String {
        let mut frames = String::new();
        if self.open != Some(block) {
            frames += &self.close();
            frames += &self.begins(begins);
            self.open = Some(block);
        }
        frames + &self.delta(delta)
    }

    fn begins(&self, block: &Value) -> String {
        event(&json!({"type": "content_block_start", "index": self.ended, "content_block": block}))
    }

    fn delta(&self, delta: &Value) -> String {
        event(&json!({"type": "content_block_delta", "index": self.ended, "delta": delta}))
    }

    fn ends(&mut self) -> String {
        let index = self.ended;
        self.ended += 1;
        event(&json!({"type": "content_block_stop", "index": index}))
    }

    fn close(&mut self) -> String {
        self.open.take().map(|_| self.ends()).unwrap_or_default()
    }
}

impl Speak for Speaker {
    fn begin(&mut self, usage: &Usage) -> String {
        event(&json!({
            "type": "message_start",
            "message": {
                "id": "msg_scripted",
                "type": "message",
                "role": "assistant",
                "model": self.model,
                "content": [],
                "stop_reason": null,
                "stop_sequence": null,
                "usage": {
                    "input_tokens": usage.input,
                    "cache_read_input_tokens": usage.cache_read,
                    "cache_creation_input_tokens": usage.cache_write,
                    "output_tokens": 1,
                },
            },
        }))
    }

    fn text(&mut self, text: &str) -> String {
        let begins = json!({"type": "text", "text": ""});
        self.say(Block::Text, &begins, &json!({"type": "text_delta", "text": text}))
    }

    fn reasoning(&mut self, text: &str) -> String {
        let begins = json!({"type": "thinking", "thinking": "", "signature": ""});
        self.say(Block::Thinking, &begins, &json!({"type": "thinking_delta", "thinking": text}))
    }

    fn call(&mut self, call: &Spoken<'_>) -> Vec<String> {
        let block = json!({"type": "tool_use", "id": call.id, "name": call.tool, "input": {}});
        let begins = self.close() + &self.begins(&block);
        let pieces = call
            .pieces
            .iter()
            .map(|piece| self.delta(&json!({"type": "input_json_delta", "partial_json": piece})));
        let mut frames: Vec<String> = [begins].into_iter().chain(pieces).collect();
        frames.push(self.ends());
        frames
    }

    fn end(&mut self, stop: Stop, usage: &Usage) -> String {
        let reason = match stop {
            Stop::Done => "end_turn",
            Stop::ToolCalls => "tool_use",
            Stop::Length => "max_tokens",
            Stop::Refused => "refusal",
        };
        // This wire does not tell thoughts from the rest.
        let written = usage.output + usage.reasoning;
        let last = json!({
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": written},
        });
        self.close() + &event(&last) + &event(&json!({"type": "message_stop"}))
    }
}
