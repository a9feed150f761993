//! What a server was asked, kept for whoever wrote the script, and what of a request replies are chosen by.

use serde::Serialize;
use serde_json::Value;

use crate::script::When;
use crate::wire::Wire;

/// One request to the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Request {
    /// The provider whose wire was spoken.
    pub wire: Wire,
    /// The path that was asked for.
    pub path: String,
    /// Request line and headers, which may hold a key.
    #[serde(skip)]
    pub head: String,
    /// What was asked.
    pub body: Value,
    /// The reply that was chosen, by its place in the script.
    pub reply: Option<usize>,
    /// How it ended, if it did.
    pub ended: Option<Ended>,
}

/// How a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// All of it was sent.
    Sent,
    /// The client hung up before.
    HungUp,
}

impl Request {
    /// Returns all that the model was told, whatever the wire.
    pub fn text(&self) -> String {
        self.body.to_string()
    }
}

/// What replies are chosen by.
pub(crate) struct Asked {
    model: String,
    system: String,
    last: String,
    said: String,
    tools: Vec<String>,
}

impl Asked {
    pub(crate) fn of(wire: Wire, path: &str, body: &Value) -> Self {
        let messages = wire.messages(body);
        let is_models = |message: &&Value| {
            matches!(message.get("role").and_then(Value::as_str), Some("assistant" | "model"))
        };
        let since = messages.iter().rposition(|message| is_models(&message));
        let last = messages.get(since.map_or(0, |place| place + 1)..).unwrap_or_default();
        Self {
            model: wire.model(path, body),
            system: texts(&wire.system(body)),
            last: last.iter().map(texts).collect::<Vec<_>>().join("\n"),
            said: messages.iter().map(texts).collect::<Vec<_>>().join("\n"),
            tools: wire.tools(body),
        }
    }

    pub(crate) fn suits(&self, when: &When) -> bool {
        let holds = |text: &str, part: &Option<String>| {
            part.as_deref().is_none_or(|part| text.contains(part))
        };
        when.model.as_ref().is_none_or(|model| *model == self.model)
            && holds(&self.system, &when.system)
            && holds(&self.last, &when.last)
            && holds(&self.said, &when.said)
            && when.offers.iter().all(|tool| self.tools.contains(tool))
            && !when.lacks.iter().any(|tool| self.tools.contains(tool))
    }

    /// Says what was asked, for a request that no reply is meant for.
    pub(crate) fn words(&self) -> String {
        let beginning = |text: &str| text.chars().take(200).collect::<String>();
        format!(
            "model {:?}, system prompt {:?}, last said {:?}, tools {}",
            self.model,
            beginning(&self.system),
            beginning(&self.last),
            self.tools.join(" ")
        )
    }
}

/// Returns all texts in a part of a request, without what only names things. Wires differ in where they put them.
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
            let told = fields.iter().filter(|(key, _)| !names.contains(&key.as_str()));
            told.for_each(|(_, value)| gather(value, texts));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
