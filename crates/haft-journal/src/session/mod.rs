//! Sessions: conversations of a person with an agent, in the same database as their calls. A session is a run of the same name,
//! and only the owner of that run writes it. Which messages a model reads, and when a session is summarised, is decided by
//! the agent.

mod gather;
mod query;
mod record;
mod row;
mod words;

#[cfg(test)]
mod tests;

use crate::{JournalFuture, Lease, MessageId, SessionId};

pub(crate) use gather::{Gathered, Gathering};
pub use query::{MessageQuery, SessionQuery};
pub(crate) use record::SessionBatch;
pub use record::{SessionDurability, SessionRecord};
pub use row::{MessagePart, SessionMessage, SessionRow, TokenCounts};
pub use words::{
    MessageFinish, MessageKind, MessageRole, PartKind, PartState, SessionMode, SessionStatus,
};

/// Records the messages of sessions, and returns them.
///
/// Every [`Journal`](crate::Journal) is one, in the same database.
pub trait SessionJournal: Send + Sync {
    /// Records sessions, messages and parts in this order, all of them or none. A row replaces an earlier row with its id, but
    /// does not change when a message was rewound.
    ///
    /// The call does not wait for the disk. No later record of this run, such as the intent of an effect, is ever there without
    /// these rows. With [`SessionDurability::Durable`] they are on disk before the answer.
    ///
    /// All rows belong to the session of the lease. One exception: the row of a session that this session began, so that a child's
    /// end and the message about it are recorded together. A message comes after its session, and a part after its message. If the
    /// fencing token is over, nothing changes and the answer is [`JournalError::Fenced`](crate::JournalError::Fenced).
    fn record_session(
        &self,
        lease: &Lease,
        records: Vec<SessionRecord>,
        durability: SessionDurability,
    ) -> JournalFuture<'_, ()>;

    /// Sets a message and all later messages of the session aside, durably, and returns their number. Messages that were set aside
    /// before do not change. Nothing is removed.
    fn rewind_session(&self, lease: &Lease, from: &MessageId, at_ms: u64)
    -> JournalFuture<'_, u64>;

    /// Returns a session.
    fn session(&self, id: &SessionId) -> JournalFuture<'_, Option<SessionRow>>;

    /// Returns the sessions that fit the query, the newest first.
    fn sessions(&self, query: SessionQuery) -> JournalFuture<'_, Vec<SessionRow>>;

    /// Returns messages of a session, the oldest first, each with its parts in their order.
    ///
    /// An answer may end early, after at least one message, at [`QUERY_BYTES_MAX`](crate::limits::QUERY_BYTES_MAX). To get all
    /// messages, ask again after the last one until the answer is empty.
    fn session_messages(
        &self,
        session: &SessionId,
        query: MessageQuery,
    ) -> JournalFuture<'_, Vec<(SessionMessage, Vec<MessagePart>)>>;
}
