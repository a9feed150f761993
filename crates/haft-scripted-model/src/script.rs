//! What a script says: replies, whom each is meant for, and what it consists of. The same words in Rust and in JSON.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Characters of a text or of arguments that are sent at a time.
const PIECE_CHARS: usize = 24;

/// All replies of a server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Each request takes the first that is meant for it and was not used yet.
    pub replies: Vec<Reply>,
    /// In how large pieces texts and arguments are sent, in characters.
    #[serde(default = "piece_chars")]
    pub piece_chars: usize,
}

/// One answer to one request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Reply {
    /// Which requests it is meant for.
    pub when: When,
    /// It is not used up.
    pub repeat: bool,
    /// What it consists of, in order.
    pub parts: Vec<Part>,
    /// Why it ends; by itself, because all was said, or for its calls.
    pub stop: Option<Stop>,
    /// What it took.
    pub usage: Usage,
    /// The connection is closed where the end would be.
    pub breaks_off: bool,
    /// It is no answer but an error.
    pub failure: Option<Failure>,
    #[serde(skip)]
    pub(crate) raw: Option<Raw>,
}

/// Which requests a reply is meant for: those that all of this holds for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    /// The name of the model is this.
    pub model: Option<String>,
    /// The system prompt holds this.
    pub system: Option<String>,
    /// What was said since the model last spoke holds this: a prompt, or results of calls.
    pub last: Option<String>,
    /// Something in the whole conversation holds this.
    pub said: Option<String>,
    /// These tools are offered.
    pub offers: Vec<String>,
    /// These tools are not.
    pub lacks: Vec<String>,
}

/// A part of a reply.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Text.
    Text(String),
    /// Thoughts. A wire without such a thing leaves them out.
    Reasoning(String),
    /// A call.
    Call(Call),
    /// Nothing, until something happens.
    WaitFor(Wait),
}

/// A call that is asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// What the call is called; by itself `c` and a number, from 1 for each server.
    #[serde(default)]
    pub id: Option<String>,
    /// The arguments.
    #[serde(default = "nothing")]
    pub input: Value,
    /// The arguments as they are written, instead, which need not be JSON. Only wires that carry text can send that.
    #[serde(default)]
    pub input_text: Option<String>,
}

/// What a reply waits for, before it goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// That there is this file.
    File(PathBuf),
    /// That somebody releases this name: `POST /release/NAME`.
    Release(String),
}

/// Why an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// All was said.
    Done,
    /// Calls are to be made.
    ToolCalls,
    /// It was too long.
    Length,
    /// The model would not answer.
    Refused,
}

/// Tokens, each counted once; every wire says them in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    /// Read, and neither from a cache nor into one.
    pub input: u64,
    /// Written, reasoning apart.
    pub output: u64,
    /// Thought.
    pub reasoning: u64,
    /// Read from a cache.
    pub cache_read: u64,
    /// Read and put into a cache.
    pub cache_write: u64,
}

/// An error in the words of the provider.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The status of the answer.
    pub status: u16,
    /// What is said.
    pub message: String,
    /// Further headers, each with its value.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
}

/// An answer byte for byte.
#[derive(Clone, Debug)]
pub(crate) struct Raw {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ending: Ending,
}

/// What follows the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Close,
    /// Nothing, until the client hangs up.
    Stall,
    /// Something that never becomes an event, for ever.
    Flood,
}

impl Script {
    /// Returns a script with these replies.
    pub fn of(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { replies: replies.into_iter().collect(), piece_chars: PIECE_CHARS }
    }

    /// Reads a script from JSON. The error says what is wrong and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        let script: Self = serde_json::from_str(text).map_err(|err| err.to_string())?;
        if script.piece_chars == 0 {
            return Err("piece_chars: expected at least 1".to_owned());
        }
        for (place, reply) in script.replies.iter().enumerate() {
            reply.check().map_err(|problem| format!("replies[{place}]: {problem}"))?;
        }
        Ok(script)
    }
}

impl Reply {
    /// Returns a reply that says nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns an error of a provider.
    pub fn failure(status: u16, message: &str) -> Self {
        let failure = Failure { status, message: message.to_owned(), headers: Vec::new() };
        Self { failure: Some(failure), ..Self::default() }
    }

    /// Returns a reply of these bytes, status line and headers included, after which the connection is closed.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        let raw = Raw { bytes: bytes.into(), ending: Ending::Close };
        Self { raw: Some(raw), ..Self::default() }
    }

    /// Adds text.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.part(Part::Text(text.to_owned()))
    }

    /// Adds thoughts.
    #[must_use]
    pub fn reasoning(self, text: &str) -> Self {
        self.part(Part::Reasoning(text.to_owned()))
    }

    /// Adds a call.
    #[must_use]
    pub fn call(self, tool: &str, input: Value) -> Self {
        self.part(Part::Call(Call { tool: tool.to_owned(), id: None, input, input_text: None }))
    }

    /// Waits until [`ScriptedServer::release`](crate::ScriptedServer::release) is told this name.
    #[must_use]
    pub fn waiting_for(self, name: &str) -> Self {
        self.part(Part::WaitFor(Wait::Release(name.to_owned())))
    }

    /// Adds any part.
    #[must_use]
    pub fn part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// Says which requests the reply is meant for.
    #[must_use]
    pub fn when(self, when: When) -> Self {
        Self { when, ..self }
    }

    /// Says that the reply is not used up.
    #[must_use]
    pub fn repeated(self) -> Self {
        Self { repeat: true, ..self }
    }

    /// Says why the reply ends.
    #[must_use]
    pub fn stopping(self, stop: Stop) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// Says what the reply took.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        Self { usage, ..self }
    }

    /// Says that the reply has no end.
    #[must_use]
    pub fn breaking_off(self) -> Self {
        Self { breaks_off: true, ..self }
    }

    /// Says that nothing follows a raw reply, and that nobody hangs up either.
    #[must_use]
    pub fn stalling(self) -> Self {
        self.ending(Ending::Stall)
    }

    /// Says that a raw reply goes on for ever with something that never becomes an event.
    #[must_use]
    pub fn flooding(self) -> Self {
        self.ending(Ending::Flood)
    }

    /// Returns why the reply ends.
    pub(crate) fn stop(&self) -> Stop {
        let has_calls = self.parts.iter().any(|part| matches!(part, Part::Call(_)));
        self.stop.unwrap_or(if has_calls { Stop::ToolCalls } else { Stop::Done })
    }

    fn ending(mut self, ending: Ending) -> Self {
        if let Some(raw) = &mut self.raw {
            raw.ending = ending;
        }
        self
    }

    fn check(&self) -> Result<(), String> {
        let says = !self.parts.is_empty() || self.breaks_off || self.stop.is_some();
        match &self.failure {
            Some(_) if says => {
                Err("expected either a failure or parts with their end, found both".to_owned())
            }
            Some(failure) if !(400..600).contains(&failure.status) => Err(format!(
                "failure.status: expected a number from 400 to 599, found {}",
                failure.status
            )),
            Some(_) | None => Ok(()),
        }
    }
}

impl Default for Usage {
    /// Returns the usage of a reply that says none: a little of everything that is always there.
    fn default() -> Self {
        Self { input: 30, output: 4, reasoning: 0, cache_read: 0, cache_write: 0 }
    }
}

impl Call {
    /// Returns the arguments as they are written.
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
