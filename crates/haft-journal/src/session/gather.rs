//! Puts messages and their parts together, as far as one answer goes.

use super::{MessagePart, SessionMessage};
use crate::limits::QUERY_BYTES_MAX;

/// Messages with their parts.
pub(crate) type Gathered = Vec<(SessionMessage, Vec<MessagePart>)>;

/// The answer to one query while it grows.
///
/// The message that crosses the bound of bytes still belongs to the answer, with all its parts, so that asking on always gets
/// further.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    gathered: Gathered,
    bytes: usize,
}

impl Gathering {
    /// Returns whether the answer ends here.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes >= QUERY_BYTES_MAX
    }

    /// Takes the next message.
    pub(crate) fn push(&mut self, message: SessionMessage, parts: Vec<MessagePart>) {
        let parts_bytes: usize = parts.iter().map(MessagePart::text_bytes).sum();
        self.bytes += message.text_bytes() + parts_bytes;
        self.gathered.push((message, parts));
    }

    /// Returns what was gathered.
    pub(crate) fn into_gathered(self) -> Gathered {
        self.gathered
    }
}
