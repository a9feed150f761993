//! Why a chat cannot go on, as data to act on and as a message that says what to do. How a turn ended is no error but a
//! [`TurnEnd`](crate::TurnEnd).

use haft::{RunError, RuntimeError};
use haft_contract::CallAddressError;
use haft_journal::{JournalError, MessageId, SessionId};
use haft_model::ModelError;

/// Says why a chat cannot be begun, opened or gone on with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// There is no such agent, or it cannot be talked to.
    #[error("no agent {name:?} can be talked to: expected one of {}", .available.join(", "))]
    UnknownAgent {
        /// What was asked for.
        name: String,
        /// Those there are.
        available: Vec<String>,
    },
    /// There is no such chat.
    #[error("there is no session {0}")]
    UnknownSession(SessionId),
    /// There is no such message in the chat.
    #[error("session {chat} has no message {message}")]
    UnknownMessage {
        /// The chat.
        chat: SessionId,
        /// What was asked for.
        message: MessageId,
    },
    /// Somebody in this process has the chat.
    #[error(
        "session {0} is open here already: go on with it where it is open, or close it there first"
    )]
    AlreadyOpen(SessionId),
    /// The chat is of another workspace.
    #[error("session {chat} belongs to {root}: go on with it there")]
    OtherWorkspace {
        /// The chat.
        chat: SessionId,
        /// Its workspace.
        root: String,
    },
    /// The chat is a subagent's, and no other agent goes on with it.
    #[error(
        "session {0} is a subagent's, so no other agent can go on with it: begin a session with that agent"
    )]
    SubagentSession(SessionId),
    /// The chat is a fork whose messages were not copied, because the process died that began it.
    #[error(
        "session {0} is a fork that was not finished, because haft ended: fork the session again"
    )]
    UnfinishedFork(SessionId),
    /// What was recorded of the chat cannot be read.
    #[error("session {chat} cannot be gone on with: {what}")]
    Damaged {
        /// The chat.
        chat: SessionId,
        /// What is wrong.
        what: String,
    },
    /// The prompt says nothing.
    #[error("the prompt is empty: say what is to be done")]
    EmptyPrompt,
    /// The prompt is too long.
    #[error(
        "the prompt is {found} bytes long: expected at most {bytes_max}; put long texts into files"
    )]
    PromptTooLong {
        /// Its length.
        found: usize,
        /// The greatest length.
        bytes_max: usize,
    },
    /// The model did not answer, or not wholly. What it said until then is kept.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model that answers in the chat cannot be had.
    #[error(
        "session {chat} is answered by {model}, which is not available: {source}; another model can go on with it"
    )]
    ModelUnavailable {
        /// The chat.
        chat: SessionId,
        /// Its model.
        model: String,
        /// Why it cannot be had.
        source: Box<ModelError>,
    },
    /// The conversation got too long, and no summary of it could be had.
    #[error("the conversation is too long for the model, and summarising it failed: {0}")]
    Summary(ModelError),
    /// The summary of a conversation that got too long is empty.
    #[error(
        "the conversation is too long for the model, and the summary that it gave is empty: try again, or take another model"
    )]
    EmptySummary,
    /// haft cannot say what became of a call, or somebody else has the chat.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The journal failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// What the agent is narrowed to is not usable.
    #[error(
        "agent {agent} cannot be narrowed to what it declares: {source}; see `haft agents check`"
    )]
    BrokenRestrictions {
        /// The agent.
        agent: String,
        /// What is wrong.
        source: Box<RuntimeError>,
    },
    /// A name is not valid.
    #[error(transparent)]
    Scope(#[from] CallAddressError),
    /// The host is closing.
    #[error("haft is closing, so nothing more is begun")]
    Closed,
    /// haft itself panicked, which is a bug.
    #[error(
        "haft panicked in this turn, which is a bug; what was said until then is kept, and the session can be opened again"
    )]
    Panicked,
}

impl AgentError {
    /// Returns whether it is known what was done all the same: it was the model that could not be had or asked.
    pub(crate) fn is_outcome_known(&self) -> bool {
        matches!(
            self,
            Self::Model(_) | Self::ModelUnavailable { .. } | Self::Summary(_) | Self::EmptySummary
        )
    }

    /// Returns whether somebody else has a chat, here or in another process.
    pub(crate) fn is_open_elsewhere(&self) -> bool {
        matches!(
            self,
            Self::AlreadyOpen(_) | Self::Run(RunError::Journal(JournalError::LeaseHeld { .. }))
        )
    }

    /// Returns whether what a chat was left as can never be put right: whom it was with is gone, or it cannot be read.
    pub(crate) fn is_permanent(&self) -> bool {
        matches!(
            self,
            Self::UnknownAgent { .. } | Self::BrokenRestrictions { .. } | Self::Damaged { .. }
        )
    }

    /// Returns whether there is no key for the model, which somebody has to bring.
    pub fn lacks_key(&self) -> bool {
        let is_no_key = |err: &ModelError| matches!(err, ModelError::NoKey { .. });
        matches!(self, Self::Model(err) if is_no_key(err))
            || matches!(self, Self::ModelUnavailable { source, .. } if is_no_key(source))
    }
}
