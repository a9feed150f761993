//! The messages of a session, a page at a time, so that a long session needs no more memory than a short one.

use haft_journal::{Journal, MessagePart, MessageQuery, SessionId, SessionMessage};

use crate::error::CommandError;

/// Hands each message over with its parts, the oldest first; those that were set aside only if they are wanted.
pub(crate) async fn for_each_message(
    journal: &dyn Journal,
    session: &SessionId,
    with_rewound: bool,
    mut take: impl FnMut(&SessionMessage, &[MessagePart]) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let mut query = MessageQuery { with_rewound, ..MessageQuery::default() };
    loop {
        let page = journal.session_messages(session, query.clone()).await?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        query.after = Some(last.id.clone());
        for (message, parts) in &page {
            take(message, parts)?;
        }
    }
}
