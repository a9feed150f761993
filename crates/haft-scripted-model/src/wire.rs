//! The protocols of providers: how requests are parsed and answers encoded. Each protocol has a
//! file below `wire/`. Only fields that clients read are sent, and errors use the provider's
//! format.

mod anthropic;
mod gemini;
mod ollama;
mod openai;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::script::{ReplyStopReason, ScriptedUsage};

/// The supported providers' protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WireProtocol {
    /// `/chat/completions`.
    OpenAi,
    /// Messages.
    Anthropic,
    /// `streamGenerateContent`.
    Gemini,
    /// `/api/chat`.
    Ollama,
}

/// Encodes an answer, piece by piece, in the frames of a protocol.
pub(crate) trait ReplyEncoder {
    fn begin(&mut self, usage: &ScriptedUsage) -> String;
    fn text(&mut self, text: &str) -> String;
    fn reasoning(&mut self, text: &str) -> String;
    /// Returns the frames of a call whose arguments are sent in these pieces.
    fn call(&mut self, call: &ReplyToolCall<'_>) -> Vec<String>;
    fn end(&mut self, stop: ReplyStopReason, usage: &ScriptedUsage) -> String;
}

/// A call to encode.
pub(crate) struct ReplyToolCall<'a> {
    pub(crate) id: &'a str,
    pub(crate) tool: &'a str,
    /// The arguments, for protocols that send them whole.
    pub(crate) input: &'a Value,
    /// The arguments as text, in pieces.
    pub(crate) pieces: &'a [String],
}

impl WireProtocol {
    /// All protocols.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::Anthropic, Self::Gemini, Self::Ollama];

    /// Returns the provider's name.
    pub fn provider(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// Returns the protocol of a path.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        let ends = [
            ("/chat/completions", Self::OpenAi),
            ("/messages", Self::Anthropic),
            (":streamGenerateContent", Self::Gemini),
            ("/api/chat", Self::Ollama),
        ];
        ends.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, wire)| wire)
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::OpenAi | Self::Anthropic | Self::Gemini => "text/event-stream",
            Self::Ollama => "application/x-ndjson",
        }
    }

    pub(crate) fn speaker(self, model: &str) -> Box<dyn ReplyEncoder> {
        match self {
            Self::OpenAi => Box::new(openai::OpenAiReplyEncoder::new(model)),
            Self::Anthropic => Box::new(anthropic::AnthropicReplyEncoder::new(model)),
            Self::Gemini => Box::new(gemini::GeminiReplyEncoder),
            Self::Ollama => Box::new(ollama::OllamaReplyEncoder),
        }
    }

    /// Returns an error in the provider's format.
    pub(crate) fn failure(self, message: &str) -> Value {
        match self {
            Self::OpenAi | Self::Gemini => json!({"error": {"message": message}}),
            Self::Anthropic => {
                json!({"type": "error", "error": {"type": "scripted_error", "message": message}})
            }
            Self::Ollama => json!({"error": message}),
        }
    }

    /// Returns whether a request asks for a stream; other answers are not supported.
    pub(crate) fn is_stream(self, body: &Value) -> bool {
        match self {
            Self::OpenAi | Self::Anthropic => body.get("stream") == Some(&Value::Bool(true)),
            // The path decides, or streaming is the default.
            Self::Gemini => true,
            Self::Ollama => body.get("stream") != Some(&Value::Bool(false)),
        }
    }

    /// Returns the name of the requested model.
    pub(crate) fn model(self, path: &str, body: &Value) -> String {
        match self {
            Self::OpenAi | Self::Anthropic | Self::Ollama => text_at(body, "/model").to_owned(),
            Self::Gemini => gemini::model(path).to_owned(),
        }
    }

    /// Returns the system prompt in the protocol's form.
    pub(crate) fn system(self, body: &Value) -> Value {
        match self {
            Self::OpenAi | Self::Ollama => {
                let systems = list_at(body, "/messages").iter().filter(|one| is_system(one));
                Value::Array(systems.cloned().collect())
            }
            Self::Anthropic => body.get("system").cloned().unwrap_or_default(),
            Self::Gemini => body.get("systemInstruction").cloned().unwrap_or_default(),
        }
    }

    /// Returns the conversation without the system prompt, in the protocol's form.
    pub(crate) fn messages(self, body: &Value) -> Vec<Value> {
        match self {
            Self::OpenAi | Self::Anthropic | Self::Ollama => {
                let messages = list_at(body, "/messages").iter();
                messages.filter(|one| !is_system(one)).cloned().collect()
            }
            Self::Gemini => list_at(body, "/contents").to_vec(),
        }
    }

    /// Returns the names of the offered tools.
    pub(crate) fn tools(self, body: &Value) -> Vec<String> {
        let offers = list_at(body, "/tools").iter();
        match self {
            Self::OpenAi | Self::Ollama => {
                offers.map(|one| text_at(one, "/function/name").to_owned()).collect()
            }
            Self::Anthropic => offers.map(|one| text_at(one, "/name").to_owned()).collect(),
            Self::Gemini => offers
                .flat_map(|one| list_at(one, "/functionDeclarations"))
                .map(|one| text_at(one, "/name").to_owned())
                .collect(),
        }
    }
}

/// Returns an event of a stream, with its name if it has one.
fn event(data: &Value) -> String {
    match data.get("type").and_then(Value::as_str) {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}

fn is_system(message: &Value) -> bool {
    matches!(text_at(message, "/role"), "system" | "developer")
}

fn text_at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn list_at<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
