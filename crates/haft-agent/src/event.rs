//! The events of sessions. Terminals, programs that read lines of JSON, and editors get the same events. Each front end decides how it
//! shows them.

use haft_contract::{Envelope, ToolKind};
use haft_journal::{MessageFinish, MessageId, SessionId};
use haft_model::{ModelRetry, ModelUsage};
use serde::Serialize;
use serde_json::Value;

/// One event of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentEvent {
    /// The event.
    #[serde(flatten)]
    pub kind: AgentEventKind,
    /// The session of the event. A subagent has a separate session.
    pub session: SessionId,
}

/// The kinds of events.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "an event is handed on at once")]
pub enum AgentEventKind {
    /// A session was begun or opened.
    Session {
        /// The agent.
        agent: String,
        /// Its model.
        model: String,
        /// The session that delegated the task, if this is a subagent's session.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent: Option<SessionId>,
    },
    /// A turn began. Its prompt is on disk.
    TurnStarted,
    /// haft sends a request to the model.
    StepStarted {
        /// The number of the step in the turn, from 1.
        step: u32,
        /// The message of the answer.
        message: MessageId,
    },
    /// The request failed before anything was received, and haft retries it after a pause.
    Retry {
        /// The error.
        error: String,
        /// The pause, in milliseconds.
        wait_ms: u64,
        /// The number of the next attempt, from 2.
        attempt: u32,
        /// The maximum number of attempts.
        attempts_max: u32,
    },
    /// The model sent text.
    Text {
        /// The new text.
        delta: String,
    },
    /// The model sent reasoning.
    Reasoning {
        /// The new text.
        delta: String,
    },
    /// The model sent a part of the arguments of a call.
    ToolInput {
        /// The call.
        id: String,
        /// The tool.
        tool: String,
        /// The kind of the tool, for editors.
        kind: ToolKind,
        /// The new text.
        delta: String,
    },
    /// A call will be made. The events of all calls of an answer come before the first call is made.
    ToolCall {
        /// The call.
        id: String,
        /// The tool.
        tool: String,
        /// The kind of the tool, for editors.
        kind: ToolKind,
        /// The input. If it is not an object, this is the model's text.
        input: Value,
        /// A short title of the call.
        title: String,
        /// The files in the input, as the input spells them.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        locations: Vec<String>,
    },
    /// The command of a call printed something. The result of the call has the whole output.
    ToolOutput {
        /// The call.
        id: String,
        /// The end of the output up to now, without colours.
        tail: String,
    },
    /// haft asks a person about a call, or the call asks a person.
    Asked {
        /// The call.
        id: String,
    },
    /// The person answered, or no person can answer any more.
    Answered {
        /// The call.
        id: String,
        /// The answer: `once`, `always_session`, `always_project`, `reject`, `reject_session`, `nobody`, `answers`, `dismissed`.
        answer: &'static str,
    },
    /// A call ended, or it is not made.
    ToolResult {
        /// The call.
        id: String,
        /// The tool.
        tool: String,
        /// How it ended.
        status: ToolResultStatus,
        /// How long it took, in milliseconds.
        duration_ms: u64,
        /// The answer.
        envelope: Envelope,
    },
    /// An answer of the model and all its calls ended. Each started step ends once.
    StepEnded {
        /// Why the answer ended.
        finish: MessageFinish,
        /// The tokens of the answer.
        usage: ModelUsage,
    },
    /// The model reads a summary of the earlier messages from now on.
    Compacted {
        /// The message with the summary.
        message: MessageId,
        /// The last message that it replaces.
        covers_through: MessageId,
    },
    /// haft sent a notice to the model.
    Notice {
        /// The notice.
        text: String,
    },
    /// A subagent began.
    Subagent {
        /// The call that delegated the task.
        call: String,
        /// The subagent.
        agent: String,
        /// Its session.
        child: SessionId,
        /// Whether the call waits for it.
        background: bool,
    },
    /// A turn ended.
    TurnEnded {
        /// How it ended: `done`, `aborted`, `steps_spent`, `output_cut`, `refused` or `failed`.
        end: &'static str,
        /// The error or the reason of a refusal.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// The tokens of all its steps, including summaries.
        usage: ModelUsage,
    },
}

impl AgentEventKind {
    /// Returns the event of a retry.
    pub(crate) fn retry(retry: &ModelRetry) -> Self {
        Self::Retry {
            error: retry.error.cause(),
            wait_ms: u64::try_from(retry.pause.as_millis()).unwrap_or(u64::MAX),
            attempt: retry.attempt,
            attempts_max: retry.attempts_max,
        }
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolResultStatus {
    /// It has an output.
    OutputAvailable,
    /// It failed, was refused, or was not made.
    OutputError,
}

/// Receives events, in order for each session.
pub trait AgentEventObserver: Send + Sync {
    /// Receives one event. It must not block, because the session waits for it.
    fn on_event(&self, event: AgentEvent);
}

/// Ignores all events.
impl AgentEventObserver for () {
    fn on_event(&self, _: AgentEvent) {}
}
