//! The errors of sessions, as data and as messages that say what to do. How a turn ended is not an error but a
//! [`TurnEnd`](crate::TurnEnd).

use haft::{RunError, RuntimeError};
use haft_contract::RunId;
use haft_journal::{JournalError, MessageId, SessionId};
use haft_model::ModelError;

/// A session cannot be begun, opened or continued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The agent does not exist, or people cannot talk to it.
    #[error("no agent {name:?} can be talked to: expected one of {}", .available.join(", "))]
    UnknownAgent {
        /// The requested name.
        name: String,
        /// The available agents.
        available: Vec<String>,
    },
    /// The session does not exist.
    #[error("there is no session {0}")]
    UnknownSession(SessionId),
    /// The session has no such message.
    #[error("session {session} has no message {message}")]
    UnknownMessage {
        /// The session.
        session: SessionId,
        /// The requested message.
        message: MessageId,
    },
    /// The session is already open in this process.
    #[error(
        "session {0} is open here already: go on with it where it is open, or close it there first"
    )]
    AlreadyOpen(SessionId),
    /// The session belongs to another workspace.
    #[error("session {session} belongs to {root}: go on with it there")]
    OtherWorkspace {
        /// The session.
        session: SessionId,
        /// Its workspace.
        root: String,
    },
    /// The session belongs to a subagent, so its agent cannot change.
    #[error(
        "session {0} is a subagent's, so no other agent can go on with it: begin a session with that agent"
    )]
    SubagentSession(SessionId),
    /// The session does the work of a plan's node, so only the run of the plan continues it.
    #[error(
        "session {session} does the work of node {node} of the plan of run {run}: resume that run, or fork the session"
    )]
    PlanNodeSession {
        /// The session.
        session: SessionId,
        /// The node, as calls name it.
        node: String,
        /// The run of the plan.
        run: RunId,
    },
    /// The session is a fork whose process died before it had copied all messages.
    #[error(
        "session {0} is a fork that was not finished, because haft ended: fork the session again"
    )]
    UnfinishedFork(SessionId),
    /// The recorded session cannot be read.
    #[error("session {session} cannot be resumed: {what}")]
    Damaged {
        /// The session.
        session: SessionId,
        /// The problem.
        what: String,
    },
    /// The prompt is empty.
    #[error("the prompt is empty: say what is to be done")]
    EmptyPrompt,
    /// The session is resumed without a prompt, and nothing was said in it before.
    #[error("nothing was said in session {0}, so it cannot go on: give it a prompt")]
    NothingSaid(SessionId),
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
    /// The model gave no complete answer. The received part is recorded.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model of the session is not available.
    #[error(
        "session {session} is answered by {model}, which is not available: {source}; another model can go on with it"
    )]
    ModelUnavailable {
        /// The session.
        session: SessionId,
        /// Its model.
        model: String,
        /// The reason.
        source: Box<ModelError>,
    },
    /// The conversation is too long, and summarising it failed.
    #[error("the conversation is too long for the model, and summarising it failed: {0}")]
    Summary(ModelError),
    /// The conversation is too long, and its summary is empty.
    #[error(
        "the conversation is too long for the model, and the summary that it gave is empty: try again, or take another model"
    )]
    EmptySummary,
    /// The outcome of a call is unknown, or another process has the lease of the session.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The journal failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The agent's restrictions are invalid.
    #[error(
        "agent {agent} cannot be narrowed to what it declares: {source}; see `haft agents check`"
    )]
    BrokenRestrictions {
        /// The agent.
        agent: String,
        /// The problem.
        source: Box<RuntimeError>,
    },
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
    /// Returns whether the outcome of the turn is known, as for all errors of the model.
    pub(crate) fn is_outcome_known(&self) -> bool {
        matches!(
            self,
            Self::Model(_) | Self::ModelUnavailable { .. } | Self::Summary(_) | Self::EmptySummary
        )
    }

    /// Returns whether the session is open in this process or in another one.
    pub(crate) fn is_open_elsewhere(&self) -> bool {
        matches!(
            self,
            Self::AlreadyOpen(_) | Self::Run(RunError::Journal(JournalError::LeaseHeld { .. }))
        )
    }

    /// Returns whether the session can never be repaired, because its agent is missing or its row cannot be read.
    pub(crate) fn is_permanent(&self) -> bool {
        matches!(
            self,
            Self::UnknownAgent { .. } | Self::BrokenRestrictions { .. } | Self::Damaged { .. }
        )
    }

    /// Returns whether the key for the model is missing.
    pub fn lacks_key(&self) -> bool {
        let is_no_key = |err: &ModelError| matches!(err, ModelError::NoKey { .. });
        matches!(self, Self::Model(err) if is_no_key(err))
            || matches!(self, Self::ModelUnavailable { source, .. } if is_no_key(source))
    }
}
