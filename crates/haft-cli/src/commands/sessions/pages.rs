//! The messages of a session, page by page, so that a long session needs no more memory than a short one.

use haft_journal::{Journal, MessagePart, MessageQuery, SessionId, SessionMessage};

use crate::error::CommandError;

/// Calls `take` with each message and its parts, the oldest first. Messages that were set aside come only if wanted.
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
