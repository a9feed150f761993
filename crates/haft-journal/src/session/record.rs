//! The records of a session, and the checks of a record that need no database. The machine checks the
//! rest.

use haft_contract::{ContentDigest, RunId};

use super::{MessagePart, PartState, SessionMessage, SessionRow};
use crate::limits::{SESSION_RECORD_BYTES_MAX, SESSION_RECORDS_MAX, TOOL_CALL_ID_BYTES_MAX};
use crate::store::Durability;
use crate::stored_content::StoredContent;
use crate::{JournalError, SessionId};

/// One row on its way into a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionRecord {
    /// The session itself, or one that it began.
    Session(SessionRow),
    /// A message of the session.
    Message(SessionMessage),
    /// A part of a message of the session.
    Part(MessagePart),
}

/// The loss that a record of a session survives once it is answered.
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

/// Records that are made together, each of which can belong to the session of the run.
#[derive(Debug)]
pub(crate) struct SessionBatch {
    /// The rows, with digests in place of texts that lie apart.
    records: Vec<SessionRecord>,
    /// Those texts.
    contents: Vec<StoredContent>,
}

impl SessionBatch {
    /// Takes the records if they can belong to the session of `run`.
    pub(crate) fn new(run: &RunId, mut records: Vec<SessionRecord>) -> Result<Self, JournalError> {
        if records.len() > SESSION_RECORDS_MAX {
            return Err(JournalError::UnfitRecord {
                record: format!("a batch of {} records", records.len()),
                run: run.clone(),
                expected: format!(
                    "at most {SESSION_RECORDS_MAX} at once: bring the others after them"
                ),
            });
        }
        for record in &records {
            let unfit = |found: String, expected: String| {
                let record = format!("{} with {found}", record.id());
                Err(JournalError::UnfitRecord { record, run: run.clone(), expected })
            };
            let is_of_run = |session: &SessionId| session.as_str() == run.as_str();
            let (text_bytes, can_belong) = match record {
                SessionRecord::Session(session) => {
                    let is_child = session.parent_id.as_ref().is_some_and(is_of_run);
                    (session.text_bytes(), is_child || is_of_run(&session.id))
                }
                SessionRecord::Message(message) => {
                    (message.text_bytes(), is_of_run(&message.session_id))
                }
                SessionRecord::Part(part) => (part.text_bytes(), is_of_run(&part.session_id)),
            };
            if text_bytes > SESSION_RECORD_BYTES_MAX {
                let expected = format!("at most {SESSION_RECORD_BYTES_MAX} bytes");
                return unfit(format!("{text_bytes} bytes of text"), expected);
            }
            if let SessionRecord::Part(part) = record {
                let id_bytes = part.tool_call_id.as_ref().map_or(0, String::len);
                if id_bytes > TOOL_CALL_ID_BYTES_MAX {
                    let expected = format!("at most {TOOL_CALL_ID_BYTES_MAX} bytes");
                    return unfit(format!("a tool call id of {id_bytes} bytes"), expected);
                }
                if let Some(found) = part.misfit() {
                    return unfit(found.to_owned(), part.shape().to_owned());
                }
            }
            if !can_belong {
                return Err(record.unfit(run));
            }
        }
        let mut contents = Vec::new();
        for record in &mut records {
            if let SessionRecord::Part(part) = record {
                move_texts_apart(part, &mut contents);
            }
        }
        Ok(Self { records, contents })
    }

    /// Returns the texts that the rows name by their digests.
    pub(crate) fn contents(&self) -> &[StoredContent] {
        &self.contents
    }

    /// Returns the records in their order.
    pub(crate) fn records(&self) -> &[SessionRecord] {
        &self.records
    }

    /// Returns when the latest message or part of them was recorded, which is when something of the session was.
    pub(crate) fn recorded_at_ms(&self) -> Option<u64> {
        let times = self.records.iter().filter_map(|record| match record {
            SessionRecord::Session(_) => None,
            SessionRecord::Message(message) => {
                Some(message.created_at_ms.max(message.completed_at_ms.unwrap_or_default()))
            }
            SessionRecord::Part(part) => Some(part.updated_at_ms),
        });
        times.max()
    }

    /// Returns whether the session has come further by them: then a later death of the owner is not a failed resume.
    pub(crate) fn is_step_ahead(&self) -> bool {
        self.records.iter().any(|record| match record {
            SessionRecord::Message(message) => message.is_step_ahead(),
            SessionRecord::Session(_) | SessionRecord::Part(_) => false,
        })
    }
}

/// Puts digests in place of the texts of a part that lie apart. A text that could be taken for a digest lies apart as well, so
/// that each digest in a row names a content.
fn move_texts_apart(part: &mut MessagePart, contents: &mut Vec<StoredContent>) {
    let is_error = part.state == Some(PartState::OutputError);
    let texts = [
        (&mut part.input_json, part.lies_apart),
        (&mut part.output_json, part.lies_apart && is_error),
    ];
    for (text, lies_apart) in texts {
        let Some(text) = text else { continue };
        if lies_apart || ContentDigest::parse(text).is_some() {
            let content = StoredContent::of(std::mem::take(text));
            *text = content.digest.to_json();
            contents.push(content);
        }
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
}
