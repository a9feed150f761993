//! The words in the columns of a session: of each column a few, the same in JSON and in the database.

use crate::words::words;

words! {
    /// How a session stands.
    SessionStatus {
        /// It waits for the next message of a person.
        Idle = "idle",
        /// A turn is under way, or the process in which it was has died.
        Running = "running",
        /// It was begun for a task, and the task is done.
        Completed = "completed",
        /// It was begun for a task, and could not do it.
        Failed = "failed",
        /// It was begun for a task, and was stopped.
        Aborted = "aborted",
    }
}

words! {
    /// Whether a person or a call waits for a session.
    SessionMode {
        /// A person, or the call that began it, waits for its answers.
        Foreground = "foreground",
        /// It was begun for a task, and its end is told to the session that began it.
        Background = "background",
    }
}

words! {
    /// Who a message is from, as a model is told.
    MessageRole {
        /// The person, or haft itself.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
}

words! {
    /// The purpose of a message.
    MessageKind {
        /// A person or a model said it.
        Said = "said",
        /// It stands for all messages until [`covers_through`](super::SessionMessage::covers_through).
        Summary = "summary",
        /// haft tells the model what happened meanwhile.
        Notice = "notice",
    }
}

words! {
    /// Why a message of a model ended.
    MessageFinish {
        /// It was all that the model had to say.
        Stop = "stop",
        /// The model wants calls to be made.
        ToolCalls = "tool-calls",
        /// It had grown as long as a message may be.
        Length = "length",
        /// The process in which it came in has died.
        Interrupted = "interrupted",
        /// The turn was stopped.
        Aborted = "aborted",
        /// The model could not go on.
        Error = "error",
        /// The provider has another reason.
        Other = "other",
    }
}

words! {
    /// The kind of a part of a message.
    PartKind {
        /// Text that is said.
        Text = "text",
        /// The reasoning of the model before the text.
        Reasoning = "reasoning",
        /// A call of a tool, with its answer.
        Tool = "tool",
    }
}

words! {
    /// How far a call of a tool has come in a session.
    PartState {
        /// The model is writing the arguments.
        InputStreaming = "input-streaming",
        /// The arguments are whole, and there is no answer yet.
        InputAvailable = "input-available",
        /// The tool has answered.
        OutputAvailable = "output-available",
        /// The call failed, or was not made.
        OutputError = "output-error",
    }
}

impl MessageFinish {
    /// Returns whether the session has come further by such a message.
    pub(crate) fn is_step_ahead(self) -> bool {
        match self {
            Self::Stop | Self::ToolCalls | Self::Length | Self::Aborted | Self::Other => true,
            Self::Interrupted | Self::Error => false,
        }
    }
}

impl PartState {
    /// Returns whether the call is over, so that there is an answer.
    pub fn is_finished(self) -> bool {
        match self {
            Self::InputStreaming | Self::InputAvailable => false,
            Self::OutputAvailable | Self::OutputError => true,
        }
    }
}
