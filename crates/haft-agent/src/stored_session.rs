//! Reads sessions from the journal: their rows, their messages, and the calls that they began. This module changes nothing.

use haft_contract::AttemptAddress;
use haft_journal::{CallRow, MessageQuery, SessionId, SessionQuery, SessionRow};

use crate::error::AgentError;
use crate::restrictions::AgentRestrictions;
use crate::session_context::AgentHostShared;
use crate::transcript::TranscriptEntry;

/// Returns the row of a session of this workspace.
pub(crate) async fn find_row(
    host: &AgentHostShared,
    id: &SessionId,
) -> Result<SessionRow, AgentError> {
    let row = host.parts.runtime.journal().session(id).await?;
    let row = row.ok_or_else(|| AgentError::UnknownSession(id.clone()))?;
    if row.root != host.workspace_root() {
        return Err(AgentError::OtherWorkspace { session: row.id, root: row.root });
    }
    // The process that began the fork died before it had copied all messages.
    if row.forked_from_id.is_some() && row.metadata_json == UNFINISHED_FORK {
        return Err(AgentError::UnfinishedFork(row.id));
    }
    Ok(row)
}

/// The metadata in the row of a fork whose messages are not all copied yet.
pub(crate) const UNFINISHED_FORK: &str = r#"{"unfinished_fork":true}"#;

/// Returns the restrictions that a session began with.
pub(crate) fn stored_restrictions(row: &SessionRow) -> Result<Vec<AgentRestrictions>, AgentError> {
    serde_json::from_str(&row.permissions_json).map_err(|err| AgentError::Damaged {
        session: row.id.clone(),
        what: format!("what it is narrowed to cannot be read: {err}"),
    })
}

/// Returns the present restrictions of a session below `above`: those that it began with, and those of its agents as they are
/// defined now. A capability that an agent gave up since then is gone.
pub(crate) fn current_restrictions(
    host: &AgentHostShared,
    row: &SessionRow,
    above: &[AgentRestrictions],
) -> Result<Vec<AgentRestrictions>, AgentError> {
    let begun = stored_restrictions(row)?;
    let names = begun.iter().map(|layer| &layer.agent).chain([&row.agent]);
    // If an agent no longer exists, its former restrictions remain.
    let today = names.filter_map(|name| host.any_agent(name).ok());
    let today: Vec<_> = today.map(|agent| AgentRestrictions::from_agent(&agent)).collect();
    let mut layers = above.to_vec();
    for layer in begun.into_iter().chain(today) {
        if !layers.contains(&layer) {
            layers.push(layer);
        }
    }
    Ok(layers)
}

/// Returns the messages of a session, oldest first, without the rewound ones.
pub(crate) async fn load_entries(
    host: &AgentHostShared,
    session: &SessionId,
) -> Result<Vec<TranscriptEntry>, AgentError> {
    let journal = host.parts.runtime.journal();
    let mut entries: Vec<TranscriptEntry> = Vec::new();
    loop {
        let after = entries.last().map(|entry| entry.message.id.clone());
        let query = MessageQuery { after, ..MessageQuery::default() };
        let page = journal.session_messages(session, query).await?;
        if page.is_empty() {
            return Ok(entries);
        }
        entries.extend(page.into_iter().map(|(message, parts)| TranscriptEntry { message, parts }));
    }
}

/// Returns the rows of the subagents of a session, newest first.
pub(crate) async fn child_sessions(
    host: &AgentHostShared,
    parent: &SessionId,
) -> Result<Vec<SessionRow>, AgentError> {
    let journal = host.parts.runtime.journal();
    let mut rows: Vec<SessionRow> = Vec::new();
    loop {
        let query = SessionQuery {
            parent: Some(parent.clone()),
            with_opaque: true,
            before: rows.last().map(|row| row.id.clone()),
            ..SessionQuery::default()
        };
        let page = journal.sessions(query).await?;
        if page.is_empty() {
            return Ok(rows);
        }
        rows.extend(page);
    }
}

/// Returns the call with this id among those of a session, if the call was begun. `scope` is the attempt of its calls.
pub(crate) async fn find_begun_call(
    host: &AgentHostShared,
    scope: &AttemptAddress,
    name: &str,
) -> Result<Option<CallRow>, AgentError> {
    Ok(host.parts.runtime.journal().by_driver_id(scope, name).await?)
}
