//! What can be asked of chats.

use crate::limits::{QUERY_CHATS_MAX, QUERY_MESSAGES_MAX};
use crate::{MessageId, SessionId};

/// Asks for chats: those that fit every field that is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionQuery {
    /// Only chats in this workspace root.
    pub root: Option<String>,
    /// Only chats that this one began.
    pub parent: Option<SessionId>,
    /// Only chats that no other began.
    pub only_top: bool,
    /// Chats that people are not to see, too.
    pub with_opaque: bool,
    /// Only chats that are older than this one: the last one of an answer, to get the next answer.
    pub before: Option<SessionId>,
    /// Answers no more chats than this, and never more than [`QUERY_CHATS_MAX`].
    pub limit: u32,
}

impl SessionQuery {
    pub(crate) fn rows_max(&self) -> u32 {
        self.limit.min(QUERY_CHATS_MAX)
    }
}

/// Asks for the newest chats that people are to see, as far as the bounds allow.
impl Default for SessionQuery {
    fn default() -> Self {
        Self {
            root: None,
            parent: None,
            only_top: false,
            with_opaque: false,
            before: None,
            limit: QUERY_CHATS_MAX,
        }
    }
}

/// Asks for messages of a chat.
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
