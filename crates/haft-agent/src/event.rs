//! What happens in chats, as whoever watches is told of it: the same to a terminal, to programs that read lines of JSON and to
//! editors. How it looks is the front end's business.

use haft_contract::{Envelope, ToolKind};
use haft_journal::{MessageFinish, MessageId, SessionId};
use haft_model::{ModelRetry, ModelUsage};
use serde::Serialize;
use serde_json::Value;

/// One thing that happened in a chat.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentEvent {
    /// What happened.
    #[serde(flatten)]
    pub kind: AgentEventKind,
    /// The chat that it happened in: of a subagent its own.
    pub session: SessionId,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentEventKind {
    /// A chat was begun or opened.
    Session {
        /// The agent.
        agent: String,
        /// Its model.
        model: String,
        /// The chat that has the work done, where this is a subagent's.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent: Option<SessionId>,
    },
    /// A turn began.
    TurnStarted,
    /// The model is asked.
    StepStarted {
        /// Which step of the turn it is, from 1.
        step: u32,
        /// The message that its answer becomes.
        message: MessageId,
    },
    /// Nothing came yet: the request failed in a way that may pass, and is made again after a pause.
    Retry {
        /// What happened.
        error: String,
        /// How long is waited, in milliseconds.
        wait_ms: u64,
        /// Which attempt comes then, from 2.
        attempt: u32,
        /// How many are made at most.
        attempts_max: u32,
    },
    /// The model says more.
    Text {
        /// What came.
        delta: String,
    },
    /// The model thinks more, where it shows that.
    Reasoning {
        /// What came.
        delta: String,
    },
    /// The model writes the arguments of a call.
    ToolInput {
        /// The call.
        id: String,
        /// The tool.
        tool: String,
        /// What came.
        delta: String,
    },
    /// A call is to be made. Of the calls of one answer each is told of before the first is made.
    ToolCall {
        /// The call.
        id: String,
        /// The tool.
        tool: String,
        /// How an editor draws it.
        kind: ToolKind,
        /// The input; where it is no object, the text that the model wrote.
        input: Value,
        /// The call in a few words.
        title: String,
        /// The files that it names, as the input spells them.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        locations: Vec<String>,
    },
    /// A person is asked about a call, or by it.
    Asked {
        /// The call.
        id: String,
    },
    /// The person answered, or there is nobody to answer any more.
    Answered {
        /// The call.
        id: String,
        /// What was said: `once`, `always_session`, `always_project`, `reject`, `reject_session`, `nobody`, `answers`, `dismissed`.
        answer: &'static str,
    },
    /// A call came to its end, or is not made.
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
    /// An answer of the model is over, and so are its calls. Each step that was started ends once.
    StepEnded {
        /// Why the answer ended.
        finish: MessageFinish,
        /// What it took.
        usage: ModelUsage,
    },
    /// What was said before is summarised from now on, for the model alone.
    Compacted {
        /// The message that holds the summary.
        message: MessageId,
        /// The last message that it stands for.
        covers_through: MessageId,
    },
    /// The model is told something that no person said.
    Notice {
        /// What.
        text: String,
    },
    /// A subagent begins.
    Subagent {
        /// The call that has the work done.
        call: String,
        /// The subagent.
        agent: String,
        /// Its chat.
        child: SessionId,
        /// Whether the call waits for it.
        background: bool,
    },
    /// A turn is over.
    TurnEnded {
        /// How: `done`, `aborted`, `steps_spent`, `output_cut`, `refused` or `failed`.
        end: &'static str,
        /// What went wrong, where something did.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// What its steps took together, summaries too.
        usage: ModelUsage,
    },
}

impl AgentEventKind {
    /// Returns that a model is asked again.
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

/// Is told what happens, in order for each chat.
pub trait AgentEventObserver: Send + Sync {
    /// Takes one event. Must not block: the chat waits for it.
    fn on_event(&self, event: AgentEvent);
}

/// Nobody watches.
impl AgentEventObserver for () {
    fn on_event(&self, _: AgentEvent) {}
}
