//! A script: replies, their conditions, and their parts. Rust and JSON use the same names.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Characters of a text or of arguments that are sent at a time.
const PIECE_CHARS: usize = 24;

/// All replies of a server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelScript {
    /// Each request takes the first unused reply that matches it.
    pub replies: Vec<ScriptedReply>,
    /// Size of the pieces in which texts and arguments are sent, in characters.
    #[serde(default = "piece_chars")]
    pub piece_chars: usize,
}

/// One answer to one request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptedReply {
    /// The requests that it matches.
    pub when: ReplyCondition,
    /// Whether it can be used repeatedly.
    pub repeat: bool,
    /// Its parts, in order.
    pub parts: Vec<ReplyPart>,
    /// Why it ends; by default because it is complete, or for its calls.
    pub stop: Option<ReplyStopReason>,
    /// The number of tokens.
    pub usage: ScriptedUsage,
    /// Whether the connection is closed in place of the end.
    pub breaks_off: bool,
    /// An error in place of an answer.
    pub failure: Option<ScriptedFailure>,
    #[serde(skip)]
    pub(crate) raw: Option<RawReply>,
}

/// The requests that a reply matches: those that satisfy all conditions.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReplyCondition {
    /// The model has this name.
    pub model: Option<String>,
    /// The system prompt contains this.
    pub system: Option<String>,
    /// The messages since the model's last answer contain this: a prompt, or results of calls.
    pub last: Option<String>,
    /// The conversation contains this.
    pub said: Option<String>,
    /// These tools are offered.
    pub offers: Vec<String>,
    /// These tools are not offered.
    pub lacks: Vec<String>,
}

/// A part of a reply.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyPart {
    /// Text.
    Text(String),
    /// Reasoning. Protocols without reasoning omit it.
    Reasoning(String),
    /// A call.
    Call(ScriptedToolCall),
    /// Waits for an event.
    WaitFor(ReplyWait),
}

/// A call that the reply requests.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedToolCall {
    /// The tool.
    pub tool: String,
    /// The id of the call; by default `c` and a number, which counts from 1 for each server.
    #[serde(default)]
    pub id: Option<String>,
    /// The arguments.
    #[serde(default = "nothing")]
    pub input: Value,
    /// The arguments as text, instead, which need not be JSON. Only protocols with text arguments
    /// can send it.
    #[serde(default)]
    pub input_text: Option<String>,
}

/// The event that a reply waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyWait {
    /// This file exists.
    File(PathBuf),
    /// A client releases this name: `POST /release/NAME`.
    Release(String),
}

/// Why an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplyStopReason {
    /// The answer is complete.
    Done,
    /// The calls must be executed.
    ToolCalls,
    /// The maximum length was reached.
    Length,
    /// The model refused to answer.
    Refused,
}

/// Tokens, each counted once; every protocol reports them differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptedUsage {
    /// Input tokens, neither read from a cache nor written to one.
    pub input: u64,
    /// Output tokens, without reasoning.
    pub output: u64,
    /// Reasoning tokens.
    pub reasoning: u64,
    /// Input tokens read from a cache.
    pub cache_read: u64,
    /// Input tokens written to a cache.
    pub cache_write: u64,
}

/// An error in the provider's format.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedFailure {
    /// The status of the answer.
    pub status: u16,
    /// The message.
    pub message: String,
    /// Additional headers, each with its value.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
}

/// An answer byte for byte.
#[derive(Clone, Debug)]
pub(crate) struct RawReply {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ending: RawReplyEnding,
}

/// The behaviour after the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RawReplyEnding {
    Close,
    /// Sends nothing until the client closes the connection.
    Stall,
    /// Sends bytes forever that never form an event.
    Flood,
}

impl ModelScript {
    /// Returns a script with these replies.
    pub fn from_replies(replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        Self { replies: replies.into_iter().collect(), piece_chars: PIECE_CHARS }
    }

    /// Parses a script from JSON. The error says what is wrong and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        let script: Self = serde_json::from_str(text).map_err(|err| err.to_string())?;
        if script.piece_chars == 0 {
            return Err("piece_chars: expected at least 1".to_owned());
        }
        for (place, reply) in script.replies.iter().enumerate() {
            let Some(failure) = &reply.failure else { continue };
            let says = !reply.parts.is_empty() || reply.breaks_off || reply.stop.is_some();
            if says {
                return Err(format!(
                    "replies[{place}]: expected either a failure or parts with their end, found both"
                ));
            }
            if !(400..600).contains(&failure.status) {
                return Err(format!(
                    "replies[{place}]: failure.status: expected a number from 400 to 599, found {}",
                    failure.status
                ));
            }
        }
        Ok(script)
    }
}

impl ScriptedReply {
    /// Returns an empty reply.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a provider's error.
    pub fn failure(status: u16, message: &str) -> Self {
        let failure = ScriptedFailure { status, message: message.to_owned(), headers: Vec::new() };
        Self { failure: Some(failure), ..Self::default() }
    }

    /// Returns a reply of these bytes, including the status line and headers. The connection is
    /// closed after it.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        let raw = RawReply { bytes: bytes.into(), ending: RawReplyEnding::Close };
        Self { raw: Some(raw), ..Self::default() }
    }

    /// Adds text.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.part(ReplyPart::Text(text.to_owned()))
    }

    /// Adds reasoning.
    #[must_use]
    pub fn reasoning(self, text: &str) -> Self {
        self.part(ReplyPart::Reasoning(text.to_owned()))
    }

    /// Adds a call.
    #[must_use]
    pub fn call(self, tool: &str, input: Value) -> Self {
        self.part(ReplyPart::Call(ScriptedToolCall {
            tool: tool.to_owned(),
            id: None,
            input,
            input_text: None,
        }))
    }

    /// Adds a wait until [`ScriptedServer::release`](crate::ScriptedServer::release) is called with
    /// this name.
    #[must_use]
    pub fn waiting_for(self, name: &str) -> Self {
        self.part(ReplyPart::WaitFor(ReplyWait::Release(name.to_owned())))
    }

    /// Adds any part.
    #[must_use]
    pub fn part(mut self, part: ReplyPart) -> Self {
        self.parts.push(part);
        self
    }

    /// Sets the requests that the reply matches.
    #[must_use]
    pub fn when(self, when: ReplyCondition) -> Self {
        Self { when, ..self }
    }

    /// Makes the reply reusable.
    #[must_use]
    pub fn repeated(self) -> Self {
        Self { repeat: true, ..self }
    }

    /// Sets why the reply ends.
    #[must_use]
    pub fn stopping(self, stop: ReplyStopReason) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// Sets the number of tokens.
    #[must_use]
    pub fn usage(self, usage: ScriptedUsage) -> Self {
        Self { usage, ..self }
    }

    /// Closes the connection in place of the end.
    #[must_use]
    pub fn breaking_off(self) -> Self {
        Self { breaks_off: true, ..self }
    }

    /// Keeps the connection open and silent after a raw reply.
    #[must_use]
    pub fn stalling(self) -> Self {
        self.ending(RawReplyEnding::Stall)
    }

    /// Continues a raw reply forever with bytes that never form an event.
    #[must_use]
    pub fn flooding(self) -> Self {
        self.ending(RawReplyEnding::Flood)
    }

    /// Returns why the reply ends.
    pub(crate) fn stop(&self) -> ReplyStopReason {
        let has_calls = self.parts.iter().any(|part| matches!(part, ReplyPart::Call(_)));
        self.stop.unwrap_or(if has_calls {
            ReplyStopReason::ToolCalls
        } else {
            ReplyStopReason::Done
        })
    }

    fn ending(mut self, ending: RawReplyEnding) -> Self {
        if let Some(raw) = &mut self.raw {
            raw.ending = ending;
        }
        self
    }
}

impl Default for ScriptedUsage {
    /// Returns the default usage of a reply: small values in the fields that every protocol has.
    fn default() -> Self {
        Self { input: 30, output: 4, reasoning: 0, cache_read: 0, cache_write: 0 }
    }
}

impl ScriptedToolCall {
    /// Returns the arguments as text.
    pub(crate) fn text(&self) -> String {
        self.input_text.clone().unwrap_or_else(|| self.input.to_string())
    }
}

fn piece_chars() -> usize {
    PIECE_CHARS
}

fn nothing() -> Value {
    json!({})
}
