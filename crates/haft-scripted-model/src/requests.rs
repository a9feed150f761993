//! Recorded requests of a server, and the criteria by which replies are chosen.

use serde::Serialize;
use serde_json::Value;

use crate::script::ReplyCondition;
use crate::wire::WireProtocol;

/// One request to the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordedModelRequest {
    /// The provider whose protocol was used.
    pub wire: WireProtocol,
    /// The requested path.
    pub path: String,
    /// Request line and headers, which may hold a key.
    #[serde(skip)]
    pub head: String,
    /// The body.
    pub body: Value,
    /// The index of the chosen reply in the script.
    pub reply: Option<usize>,
    /// How the reply ended, if it did.
    pub ended: Option<ReplyEnd>,
}

/// How a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyEnd {
    /// It was sent completely.
    Sent,
    /// The client closed the connection before.
    HungUp,
}

impl RecordedModelRequest {
    /// Returns all text that the model was sent, in any protocol.
    pub fn text(&self) -> String {
        self.body.to_string()
    }
}

/// The criteria by which replies are chosen.
pub(crate) struct ReplyCriteria {
    model: String,
    system: String,
    latest_text: String,
    conversation_text: String,
    tools: Vec<String>,
}

impl ReplyCriteria {
    pub(crate) fn from_body(wire: WireProtocol, path: &str, body: &Value) -> Self {
        let messages = wire.messages(body);
        let is_models = |message: &&Value| {
            matches!(message.get("role").and_then(Value::as_str), Some("assistant" | "model"))
        };
        let since = messages.iter().rposition(|message| is_models(&message));
        let last = messages.get(since.map_or(0, |place| place + 1)..).unwrap_or_default();
        Self {
            model: wire.model(path, body),
            system: texts(&wire.system(body)),
            latest_text: last.iter().map(texts).collect::<Vec<_>>().join("\n"),
            conversation_text: messages.iter().map(texts).collect::<Vec<_>>().join("\n"),
            tools: wire.tools(body),
        }
    }

    pub(crate) fn matches(&self, when: &ReplyCondition) -> bool {
        let holds = |text: &str, part: &Option<String>| {
            part.as_deref().is_none_or(|part| text.contains(part))
        };
        when.model.as_ref().is_none_or(|model| *model == self.model)
            && holds(&self.system, &when.system)
            && holds(&self.latest_text, &when.last)
            && holds(&self.conversation_text, &when.said)
            && when.offers.iter().all(|tool| self.tools.contains(tool))
            && !when.lacks.iter().any(|tool| self.tools.contains(tool))
    }

    /// Describes a request that no reply matches.
    pub(crate) fn describe(&self) -> String {
        let beginning = |text: &str| text.chars().take(200).collect::<String>();
        format!(
            "model {:?}, system prompt {:?}, last said {:?}, tools {}",
            self.model,
            beginning(&self.system),
            beginning(&self.latest_text),
            self.tools.join(" ")
        )
    }
}

/// Returns all texts in a part of a request, without names and ids. Protocols differ in where texts
/// are.
fn texts(value: &Value) -> String {
    let mut texts = Vec::new();
    gather(value, &mut texts);
    texts.join("\n")
}

fn gather<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| gather(item, texts)),
        Value::Object(fields) => {
            let names = ["role", "type", "id", "tool_call_id", "tool_use_id"];
            let values = fields.iter().filter(|(key, _)| !names.contains(&key.as_str()));
            values.for_each(|(_, value)| gather(value, texts));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
