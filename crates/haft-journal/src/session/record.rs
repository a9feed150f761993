//! What is brought to a chat, and whether it can belong there, as far as that is seen without the database: that decides the
//! rest. Storing it is the backend's work.

use haft_contract::RunId;

use super::{MessagePart, SessionMessage, SessionRow};
use crate::limits::{CHAT_RECORD_BYTES_MAX, CHAT_RECORDS_MAX, TOOL_CALL_ID_BYTES_MAX};
use crate::store::Durability;
use crate::{JournalError, SessionId};

/// One row on its way into a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionRecord {
    /// The chat itself, or one that it began.
    Session(SessionRow),
    /// A message of the chat.
    Message(SessionMessage),
    /// A part of a message of the chat.
    Part(MessagePart),
}

/// What a record of a chat has survived when it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionDurability {
    /// The death of the process; the loss of power together with whatever is recorded later in the run.
    Ordered,
    /// The loss of power.
    Durable,
}

impl From<SessionDurability> for Durability {
    fn from(firmness: SessionDurability) -> Self {
        match firmness {
            SessionDurability::Ordered => Self::Process,
            SessionDurability::Durable => Self::Power,
        }
    }
}

/// Records that are made together, each of which can belong to the chat of the run.
#[derive(Debug)]
pub(crate) struct Batch {
    records: Vec<SessionRecord>,
}

impl Batch {
    /// Takes the records if they can belong to the chat of `run`.
    pub(crate) fn new(run: &RunId, records: Vec<SessionRecord>) -> Result<Self, JournalError> {
        if records.len() > CHAT_RECORDS_MAX {
            return Err(JournalError::UnfitRecord {
                record: format!("a batch of {} records", records.len()),
                run: run.clone(),
                expected: format!(
                    "at most {CHAT_RECORDS_MAX} at once: bring the others after them"
                ),
            });
        }
        records.iter().try_for_each(|record| record.check(run))?;
        Ok(Self { records })
    }

    /// Returns the records in their order.
    pub(crate) fn records(&self) -> &[SessionRecord] {
        &self.records
    }

    /// Returns when the latest message or part of them was recorded, which is when something of the chat was.
    pub(crate) fn heard_at_ms(&self) -> Option<u64> {
        let times = self.records.iter().filter_map(|record| match record {
            SessionRecord::Session(_) => None,
            SessionRecord::Message(message) => {
                Some(message.created_at_ms.max(message.completed_at_ms.unwrap_or_default()))
            }
            SessionRecord::Part(part) => Some(part.updated_at_ms),
        });
        times.max()
    }

    /// Returns whether the chat has come further by them, so that whoever dies after that has not died in vain.
    pub(crate) fn is_step_ahead(&self) -> bool {
        self.records.iter().any(|record| match record {
            SessionRecord::Message(message) => message.is_step_ahead(),
            SessionRecord::Session(_) | SessionRecord::Part(_) => false,
        })
    }
}

impl SessionRecord {
    /// Returns the id of the row.
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Session(session) => session.id.as_str(),
            Self::Message(message) => message.id.as_str(),
            Self::Part(part) => part.id.as_str(),
        }
    }

    /// Says that the database has it that the row belongs elsewhere.
    pub(crate) fn unfit(&self, run: &RunId) -> JournalError {
        let expected = match self {
            Self::Session(_) => "that session, or one that it began",
            Self::Message(_) => "a message of that session, which is recorded before its messages",
            Self::Part(_) => {
                "a part of a message of that session, which is recorded before its parts, and a tool call id that no other part \
                 of the session has"
            }
        };
        let (record, expected) = (self.id().to_owned(), expected.to_owned());
        JournalError::UnfitRecord { record, run: run.clone(), expected }
    }

    fn check(&self, run: &RunId) -> Result<(), JournalError> {
        self.check_shape().map_err(|(found, expected)| JournalError::UnfitRecord {
            record: format!("{} with {found}", self.id()),
            run: run.clone(),
            expected,
        })?;
        let is_of_run = |chat: &SessionId| chat.as_str() == run.as_str();
        let can_belong = match self {
            Self::Session(session) => {
                is_of_run(&session.id) || session.parent_id.as_ref().is_some_and(is_of_run)
            }
            Self::Message(message) => is_of_run(&message.session_id),
            Self::Part(part) => is_of_run(&part.session_id),
        };
        if can_belong { Ok(()) } else { Err(self.unfit(run)) }
    }

    /// Returns what is wrong with the row by itself, and what was expected instead.
    fn check_shape(&self) -> Result<(), (String, String)> {
        let bytes = match self {
            Self::Session(session) => session.text_bytes(),
            Self::Message(message) => message.text_bytes(),
            Self::Part(part) => part.text_bytes(),
        };
        if bytes > CHAT_RECORD_BYTES_MAX {
            let expected = format!("at most {CHAT_RECORD_BYTES_MAX} bytes");
            return Err((format!("{bytes} bytes of text"), expected));
        }
        let Self::Part(part) = self else { return Ok(()) };
        let id_bytes = part.tool_call_id.as_ref().map_or(0, String::len);
        if id_bytes > TOOL_CALL_ID_BYTES_MAX {
            let expected = format!("at most {TOOL_CALL_ID_BYTES_MAX} bytes");
            return Err((format!("a tool call id of {id_bytes} bytes"), expected));
        }
        part.misfit().map_or(Ok(()), |found| Err((found.to_owned(), part.shape().to_owned())))
    }
}
