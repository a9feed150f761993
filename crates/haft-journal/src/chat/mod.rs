//! Chats: what a person and an agent said to each other, kept in the same database as the calls that were made for it. A
//! chat is a run of its own and has its name, so that whoever has the run may write the chat, and nobody else. What is
//! said, when a chat is summarised and what a model gets to read is the agent's business; here it is kept and found.

mod gather;
mod id;
mod query;
mod record;
mod row;
mod words;

#[cfg(test)]
mod tests;

use crate::{Answer, Lease};

pub(crate) use gather::{Gathered, Gathering};
pub use id::{ChatId, ChatIdError, MessageId, PartId};
pub use query::{ChatQuery, MessageQuery};
pub(crate) use record::Batch;
pub use record::{ChatFirmness, ChatRecord};
pub use row::{ChatMessage, ChatPart, ChatSession, TokenCounts};
pub use words::{ChatMode, ChatRole, ChatStatus, MessageFinish, MessageKind, PartKind, PartState};

/// Records what is said in chats, and answers what was said.
///
/// Every [`Journal`](crate::Journal) is one, over the same database.
pub trait Chats: Send + Sync {
    /// Records sessions, messages and parts in this order, all of them or none. What has an id that is there already
    /// replaces what was recorded under it, but for when a message was rewound.
    ///
    /// By itself nothing waits for the disk: what is recorded later in this run, the intent of an effect for one, is never
    /// there without it. With [`ChatFirmness::Durable`] it is on disk before the answer.
    ///
    /// All of it belongs to the chat whose run the lease is of; a session may also be one that this chat began, so that what
    /// became of a child and the message that says so are recorded in one. A message comes behind its session, and a part
    /// behind its message. Under an epoch that is over nothing changes, and the answer is
    /// [`JournalError::Fenced`](crate::JournalError::Fenced).
    fn record_chat(
        &self,
        lease: &Lease,
        records: Vec<ChatRecord>,
        firmness: ChatFirmness,
    ) -> Answer<'_, ()>;

    /// Sets a message and all later ones of the chat aside, durably, and returns how many; those that were set aside before
    /// stay as they are. Nothing is removed.
    fn rewind_chat(&self, lease: &Lease, from: &MessageId, at_ms: u64) -> Answer<'_, u64>;

    /// Returns a chat.
    fn chat(&self, id: &ChatId) -> Answer<'_, Option<ChatSession>>;

    /// Returns the chats that the query asks for, the newest first.
    fn chats(&self, query: ChatQuery) -> Answer<'_, Vec<ChatSession>>;

    /// Returns messages of a chat, the oldest first, each with its parts in their order.
    ///
    /// An answer may end early, after at least one message, at
    /// [`QUERY_BYTES_MAX`](crate::limits::QUERY_BYTES_MAX). Whoever wants all of them asks on after the last one until
    /// nothing comes.
    fn chat_messages(
        &self,
        chat: &ChatId,
        query: MessageQuery,
    ) -> Answer<'_, Vec<(ChatMessage, Vec<ChatPart>)>>;
}
