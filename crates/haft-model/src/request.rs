//! What a model is asked: as much as planning and an agent's loop need, and nothing that only one provider knows.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// One request to a model.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// What holds for the whole conversation.
    pub system: Option<String>,
    /// The conversation, oldest first; the last one is what the model answers.
    pub messages: Vec<Message>,
    /// The tools that the model may ask to be called.
    pub tools: Vec<ToolOffer>,
    /// Where the answer is cut, in tokens, reasoning included; left to the provider when absent.
    pub max_output_tokens: Option<u32>,
    /// How much chance there is in the answer; left to the provider when absent.
    pub temperature: Option<f64>,
    /// Texts before which the answer ends.
    pub stop: Vec<String>,
    /// Ends the work when it is cancelled.
    pub cancellation: CancellationToken,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// What the user says.
    User(String),
    /// What the model said.
    Assistant {
        /// Its text, which may be empty.
        text: String,
        /// The calls that it asked for.
        tool_calls: Vec<ToolCall>,
    },
    /// What came of a call.
    ToolResult {
        /// Names the call, as in [`ToolCall::id`].
        call_id: String,
        /// The tool, as in [`ToolCall::name`].
        name: String,
        /// What it answered.
        text: String,
    },
}

/// A tool as a model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOffer {
    /// Its name: letters, digits, `_` and `-`, at most 64, which every provider takes.
    pub name: String,
    /// What a model reads to decide whether to call.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
}

/// A call that a model asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Names the call within the conversation.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What it shall be called with.
    pub arguments: Arguments,
    /// What a provider wants back unchanged with the call; opaque, empty with most.
    pub signatures: Vec<String>,
}

/// Arguments as a model wrote them, which need not be JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Arguments {
    /// A JSON object.
    Object(Value),
    /// Something else.
    Malformed {
        /// What was written.
        text: String,
        /// What is wrong with it, for the model to mend.
        problem: String,
    },
}

impl Request {
    /// Returns a request with one message of the user.
    pub fn of_user(text: impl Into<String>) -> Self {
        Self { messages: vec![Message::User(text.into())], ..Self::default() }
    }
}

impl Arguments {
    /// Reads arguments from the text that a model wrote; nothing at all stands for no arguments.
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
