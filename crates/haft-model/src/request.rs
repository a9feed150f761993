//! A request to a model: only the features that planning and an agent's loop need, and none that is
//! specific to one provider.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// One request to a model.
#[derive(Clone, Debug, Default)]
pub struct ModelRequest {
    /// The system prompt.
    pub system: Option<String>,
    /// The conversation, oldest message first; the model answers the last one.
    pub messages: Vec<ModelMessage>,
    /// The tools that the model may call.
    pub tools: Vec<ToolOffer>,
    /// Maximum length of the answer in tokens, including reasoning; the provider's default if
    /// absent.
    pub max_output_tokens: Option<u32>,
    /// Randomness of the answer; the provider's default if absent.
    pub temperature: Option<f64>,
    /// Texts at which the answer stops.
    pub stop: Vec<String>,
    /// Cancels the request.
    pub cancellation: CancellationToken,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelMessage {
    /// A message from the user.
    User(UserMessage),
    /// The model's answer.
    Assistant {
        /// Its text, which may be empty.
        text: String,
        /// The calls that it requested.
        tool_calls: Vec<ToolCall>,
    },
    /// The result of a call.
    ToolResult {
        /// The id of the call, as in [`ToolCall::id`].
        call_id: String,
        /// The tool, as in [`ToolCall::name`].
        name: String,
        /// The result as text.
        text: String,
        /// The images of the result. A model that takes none gets none.
        images: Vec<ModelImage>,
    },
}

/// A message from the user: a text, and the images that come with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserMessage {
    /// The text.
    pub text: String,
    /// The images, in order. A model that takes none gets none.
    pub images: Vec<ModelImage>,
}

impl From<String> for UserMessage {
    fn from(text: String) -> Self {
        Self { text, images: Vec::new() }
    }
}

impl From<&str> for UserMessage {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

/// An image that a model sees.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ModelImage {
    /// Its MIME type.
    pub mime_type: String,
    /// Its bytes as base64.
    pub data: String,
}

/// A tool that is offered to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOffer {
    /// Its name: letters, digits, `_` and `-`, at most 64 characters, which every provider accepts.
    pub name: String,
    /// The description from which a model decides whether to call it.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
}

/// A call that a model requests.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The id of the call within the conversation.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments.
    pub arguments: ToolCallArguments,
    /// Opaque data that a provider requires back unchanged with the call; usually empty.
    pub signatures: Vec<String>,
}

/// Arguments as a model wrote them, which need not be JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ToolCallArguments {
    /// A JSON object.
    Object(Value),
    /// Text that is not a JSON object.
    Malformed {
        /// The text.
        text: String,
        /// The problem, for the model to correct.
        problem: String,
    },
}

impl ModelRequest {
    /// Returns a request with one message from the user.
    pub fn from_user_text(text: impl Into<String>) -> Self {
        Self { messages: vec![ModelMessage::User(text.into().into())], ..Self::default() }
    }
}

impl ToolCallArguments {
    /// Parses arguments from a model's text; an empty text means no arguments.
    pub fn parse(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Object(Value::Object(serde_json::Map::new()));
        }
        match serde_json::from_str(text) {
            Ok(value @ Value::Object(_)) => Self::Object(value),
            Ok(_) => Self::malformed(text, "expected a JSON object".to_owned()),
            Err(err) => Self::malformed(text, format!("expected a JSON object: {err}")),
        }
    }

    pub(crate) fn of_value(value: Value) -> Self {
        match value {
            Value::Object(_) => Self::Object(value),
            Value::Null => Self::parse(""),
            Value::String(text) => Self::parse(&text),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                Self::malformed(&value.to_string(), "expected a JSON object".to_owned())
            }
        }
    }

    fn malformed(text: &str, problem: String) -> Self {
        Self::Malformed { text: text.to_owned(), problem }
    }
}
