//! The rows of sessions, as they are recorded, read and exported. Their texts come from models and people, and may have
//! been changed by others since: it is not trusted to be well formed.

use serde::Serialize;

use super::{
    MessageFinish, MessageKind, MessageRole, PartKind, PartState, SessionMode, SessionStatus,
};
use crate::row::{as_json, as_optional_json};
use crate::{MessageId, PartId, SessionId};

/// One session: a row of `chat_sessions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionRow {
    /// Names the session, and the run that its calls are made in.
    pub id: SessionId,
    /// The session that began it, for a task.
    pub parent_id: Option<SessionId>,
    /// The tool call of the parent that began it.
    pub parent_tool_call_id: Option<String>,
    /// The session whose beginning it shares.
    pub forked_from_id: Option<SessionId>,
    /// The last message of that beginning.
    pub forked_from_message_id: Option<MessageId>,
    /// The agent that answers.
    pub agent: String,
    /// The subject, in a few words.
    pub title: Option<String>,
    /// The model that answers, as the configuration names it.
    pub model: String,
    /// The workspace root.
    pub root: String,
    /// How it stands.
    pub status: SessionStatus,
    /// Whether a person or a call waits for it.
    pub mode: SessionMode,
    /// Whether people are to see it; what one that is opaque did is part of its parent's call.
    pub inspectable: bool,
    /// Whether its end was told to the session that began it.
    pub delivered: bool,
    /// The restrictions of the session, as JSON.
    #[serde(serialize_with = "as_json")]
    pub permissions_json: String,
    /// Notes of the program that began it, as a JSON object.
    #[serde(serialize_with = "as_json")]
    pub metadata_json: String,
    /// How many sessions are above it.
    pub depth: u32,
    /// The tokens of all its messages.
    #[serde(flatten)]
    pub tokens: TokenCounts,
    /// How many answers of the model it has.
    pub steps: u32,
    /// When it began, in milliseconds since 1970.
    pub created_at_ms: u64,
    /// When anything of it was recorded last, in milliseconds since 1970.
    pub updated_at_ms: u64,
}

/// One message of a session: a row of `chat_messages`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionMessage {
    /// Names the message; a later one has a greater id.
    pub id: MessageId,
    /// The session.
    pub session_id: SessionId,
    /// Who it is from.
    pub role: MessageRole,
    /// The purpose of the message.
    pub kind: MessageKind,
    /// The agent that answered.
    pub agent: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// Why a message of a model ended, `None` while it comes in.
    pub finish: Option<MessageFinish>,
    /// The error, for people.
    pub error: Option<String>,
    /// Of a summary: the last message that it stands for.
    pub covers_through: Option<MessageId>,
    /// The tokens of the message.
    #[serde(flatten)]
    pub tokens: TokenCounts,
    /// When it began, in milliseconds since 1970.
    pub created_at_ms: u64,
    /// When it was whole, in milliseconds since 1970.
    pub completed_at_ms: Option<u64>,
    /// When it was set aside, in milliseconds since 1970. Only [rewinding](super::SessionJournal::rewind_session) says so: of
    /// a message
    /// that is recorded this is not looked at.
    pub rewound_at_ms: Option<u64>,
}

/// One part of a message: a row of `chat_parts`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MessagePart {
    /// Names the part; a later one of the message has a greater id.
    pub id: PartId,
    /// The message.
    pub message_id: MessageId,
    /// The session.
    pub session_id: SessionId,
    /// The kind of part.
    #[serde(rename = "type")]
    pub kind: PartKind,
    /// The text of a text or of reasoning.
    pub text: Option<String>,
    /// Names the call of a tool; no other part of the session has the same.
    pub tool_call_id: Option<String>,
    /// The tool that is called, by the name that the model used.
    pub tool: Option<String>,
    /// How far the call has come.
    pub state: Option<PartState>,
    /// The arguments, as JSON once they are whole.
    #[serde(serialize_with = "as_optional_json")]
    pub input_json: Option<String>,
    /// The envelope that answered the call, as JSON.
    #[serde(serialize_with = "as_optional_json")]
    pub output_json: Option<String>,
    /// The call in this journal, `run/node/iteration/attempt/seq`, if one was made.
    pub call_id: Option<String>,
    /// The signatures that a provider needs with the part in later requests, as JSON.
    #[serde(serialize_with = "as_optional_json")]
    pub signatures_json: Option<String>,
    /// Whether the arguments lie in the content store, and so does the answer if it is an error, which may quote them. The row
    /// then has their size and SHA-256. A part that is read has the texts again.
    #[serde(skip)]
    pub lies_apart: bool,
    /// When it began, in milliseconds since 1970.
    pub created_at_ms: u64,
    /// When it was recorded last, in milliseconds since 1970.
    pub updated_at_ms: u64,
}

/// Tokens, each counted once: what was read from a cache is not among the input, and reasoning not among the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TokenCounts {
    /// Read by the model.
    #[serde(rename = "tokens_input")]
    pub input: u64,
    /// Written by the model as its answer.
    #[serde(rename = "tokens_output")]
    pub output: u64,
    /// Written by the model before its answer.
    #[serde(rename = "tokens_reasoning")]
    pub reasoning: u64,
    /// Taken from the provider's cache.
    #[serde(rename = "tokens_cache_read")]
    pub cache_read: u64,
    /// Put into the provider's cache.
    #[serde(rename = "tokens_cache_write")]
    pub cache_write: u64,
}

impl SessionRow {
    /// Returns how much its texts hold.
    pub(crate) fn text_bytes(&self) -> usize {
        self.agent.len()
            + self.model.len()
            + self.root.len()
            + bytes(&[self.title.as_deref(), self.parent_tool_call_id.as_deref()])
            + self.permissions_json.len()
            + self.metadata_json.len()
    }
}

impl SessionMessage {
    /// Returns how much its texts hold.
    pub(crate) fn text_bytes(&self) -> usize {
        bytes(&[self.agent.as_deref(), self.model.as_deref(), self.error.as_deref()])
    }

    /// Returns whether the session has come further by it: a person said something, or a model has answered.
    pub(crate) fn is_step_ahead(&self) -> bool {
        match (self.role, self.kind) {
            (MessageRole::User, MessageKind::Said) => true,
            (MessageRole::User, MessageKind::Summary | MessageKind::Notice) => false,
            (MessageRole::Assistant, _) => self.finish.is_some_and(MessageFinish::is_step_ahead),
        }
    }
}

impl MessagePart {
    /// Returns what of the part does not go together with what it is.
    pub(crate) fn misfit(&self) -> Option<&'static str> {
        let is_tool = self.kind == PartKind::Tool;
        let is_over = self.state.is_some_and(PartState::is_finished);
        if self.state.is_some() != is_tool {
            Some(if is_tool { "no state" } else { "a state" })
        } else if self.tool_call_id.is_some() != is_tool {
            Some(if is_tool { "no tool call id" } else { "a tool call id" })
        } else if self.output_json.is_some() != is_over {
            Some(if is_over { "no output" } else { "an output" })
        } else {
            None
        }
    }

    /// Says what goes together with what the part is.
    pub(crate) fn shape(&self) -> &'static str {
        match self.kind {
            PartKind::Text | PartKind::Reasoning => "neither state, tool call id nor output",
            PartKind::Tool => "a state and a tool call id, and an output once the call is over",
        }
    }

    /// Returns how much its texts hold.
    pub(crate) fn text_bytes(&self) -> usize {
        bytes(&[
            self.text.as_deref(),
            self.tool_call_id.as_deref(),
            self.tool.as_deref(),
            self.input_json.as_deref(),
            self.output_json.as_deref(),
            self.call_id.as_deref(),
            self.signatures_json.as_deref(),
        ])
    }
}

fn bytes(texts: &[Option<&str>]) -> usize {
    texts.iter().flatten().map(|text| text.len()).sum()
}
