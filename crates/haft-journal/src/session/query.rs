//! Queries for sessions and messages.

use crate::limits::{QUERY_MESSAGES_MAX, QUERY_SESSIONS_MAX};
use crate::{MessageId, SessionId};

/// Asks for sessions: those that fit every field that is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionQuery {
    /// Only sessions in this workspace root.
    pub root: Option<String>,
    /// Only sessions that this one began.
    pub parent: Option<SessionId>,
    /// Only sessions that no other began.
    pub only_top: bool,
    /// Sessions that people are not to see, too.
    pub with_opaque: bool,
    /// Only sessions that are older than this one: the last one of an answer, to get the next answer.
    pub before: Option<SessionId>,
    /// Answers no more sessions than this, and never more than [`QUERY_SESSIONS_MAX`].
    pub limit: u32,
}

impl SessionQuery {
    pub(crate) fn rows_max(&self) -> u32 {
        self.limit.min(QUERY_SESSIONS_MAX)
    }
}

/// Asks for the newest sessions that people are to see, as far as the bounds allow.
impl Default for SessionQuery {
    fn default() -> Self {
        Self {
            root: None,
            parent: None,
            only_top: false,
            with_opaque: false,
            before: None,
            limit: QUERY_SESSIONS_MAX,
        }
    }
}

/// Asks for messages of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageQuery {
    /// Only messages behind this one: the last one of an answer, to get the next answer.
    pub after: Option<MessageId>,
    /// Messages that were set aside, too.
    pub with_rewound: bool,
    /// Answers no more messages than this, and never more than [`QUERY_MESSAGES_MAX`].
    pub limit: u32,
}

impl MessageQuery {
    pub(crate) fn rows_max(&self) -> u32 {
        self.limit.min(QUERY_MESSAGES_MAX)
    }
}

/// Asks for the messages that were not set aside, as far as the bounds allow.
impl Default for MessageQuery {
    fn default() -> Self {
        Self { after: None, with_rewound: false, limit: QUERY_MESSAGES_MAX }
    }
}
