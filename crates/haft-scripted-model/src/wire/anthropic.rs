//! Anthropic's messages: named events; each text, reasoning and call is a separate block with a
//! start and an end.

use serde_json::{Value, json};

use super::{ReplyEncoder, ReplyToolCall, event};
use crate::script::{ReplyStopReason, ScriptedUsage};

pub(super) struct AnthropicReplyEncoder {
    model: String,
    /// The open block.
    open: Option<AnthropicBlock>,
    /// The number of ended blocks.
    ended: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AnthropicBlock {
    Text,
    Thinking,
}

impl AnthropicReplyEncoder {
    pub(super) fn new(model: &str) -> Self {
        Self { model: model.to_owned(), open: None, ended: 0 }
    }

    /// Adds to a block of this kind; begins one if necessary.
    fn push_delta(&mut self, block: AnthropicBlock, begins: &Value, delta: &Value) -> String {
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

impl ReplyEncoder for AnthropicReplyEncoder {
    fn begin(&mut self, usage: &ScriptedUsage) -> String {
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
        self.push_delta(AnthropicBlock::Text, &begins, &json!({"type": "text_delta", "text": text}))
    }

    fn reasoning(&mut self, text: &str) -> String {
        let begins = json!({"type": "thinking", "thinking": "", "signature": ""});
        self.push_delta(
            AnthropicBlock::Thinking,
            &begins,
            &json!({"type": "thinking_delta", "thinking": text}),
        )
    }

    fn call(&mut self, call: &ReplyToolCall<'_>) -> Vec<String> {
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

    fn end(&mut self, stop: ReplyStopReason, usage: &ScriptedUsage) -> String {
        let reason = match stop {
            ReplyStopReason::Done => "end_turn",
            ReplyStopReason::ToolCalls => "tool_use",
            ReplyStopReason::Length => "max_tokens",
            ReplyStopReason::Refused => "refusal",
        };
        // This protocol does not count reasoning separately.
        let written = usage.output + usage.reasoning;
        let last = json!({
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": written},
        });
        self.close() + &event(&last) + &event(&json!({"type": "message_stop"}))
    }
}
