//! Sessions as the journal keeps them: rows of sessions, what was said in one, and the calls that it began. Nothing is
//! changed here.

use haft_contract::AttemptAddress;
use haft_journal::{CallRow, MessageQuery, SessionId, SessionQuery, SessionRow};
use serde_json::json;

use crate::error::AgentError;
use crate::restrictions::AgentRestrictions;
use crate::session_context::AgentHostShared;
use crate::transcript::TranscriptEntry;

/// Returns the row of a chat of this workspace.
pub(crate) async fn find_row(
    host: &AgentHostShared,
    id: &SessionId,
) -> Result<SessionRow, AgentError> {
    let row = host.parts.runtime.journal().session(id).await?;
    let row = row.ok_or_else(|| AgentError::UnknownSession(id.clone()))?;
    if row.root != host.workspace_root() {
        Err(AgentError::OtherWorkspace { chat: row.id, root: row.root })
    } else if is_unfinished_fork(&row) {
        Err(AgentError::UnfinishedFork(row.id))
    } else {
        Ok(row)
    }
}

/// Returns what a chat was narrowed to when it was begun.
pub(crate) fn stored_restrictions(row: &SessionRow) -> Result<Vec<AgentRestrictions>, AgentError> {
    serde_json::from_str(&row.permissions_json).map_err(|err| AgentError::Damaged {
        chat: row.id.clone(),
        what: format!("what it is narrowed to cannot be read: {err}"),
    })
}

/// Returns what a chat is narrowed to now, beneath `above`: what it was narrowed to when it was begun, and what its agent and
/// those above it are now. What one of them gave up since, it has not any more.
pub(crate) fn current_restrictions(
    host: &AgentHostShared,
    row: &SessionRow,
    above: &[AgentRestrictions],
) -> Result<Vec<AgentRestrictions>, AgentError> {
    let begun = stored_restrictions(row)?;
    let names: Vec<String> =
        begun.iter().map(|layer| layer.agent.clone()).chain([row.agent.clone()]).collect();
    // An agent that is not there any more leaves what it was.
    let today = names.iter().filter_map(|name| host.any_agent(name).ok());
    let today: Vec<AgentRestrictions> =
        today.map(|agent| AgentRestrictions::from_agent(&agent)).collect();
    let mut layers = above.to_vec();
    for layer in begun.into_iter().chain(today) {
        if !layers.contains(&layer) {
            layers.push(layer);
        }
    }
    Ok(layers)
}

/// Returns what was said in a chat, without what was set aside.
pub(crate) async fn load_entries(
    host: &AgentHostShared,
    chat: &SessionId,
) -> Result<Vec<TranscriptEntry>, AgentError> {
    let journal = host.parts.runtime.journal();
    let mut entries: Vec<TranscriptEntry> = Vec::new();
    loop {
        let after = entries.last().map(|entry| entry.message.id.clone());
        let query = MessageQuery { after, ..MessageQuery::default() };
        let page = journal.session_messages(chat, query).await?;
        if page.is_empty() {
            return Ok(entries);
        }
        entries.extend(page.into_iter().map(|(message, parts)| TranscriptEntry { message, parts }));
    }
}

/// Returns the chats that a chat has begun.
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

/// Returns the call of a chat that has this name, if it was begun.
pub(crate) async fn find_begun_call(
    host: &AgentHostShared,
    chat: &SessionId,
    name: &str,
) -> Result<Option<CallRow>, AgentError> {
    let scope = AttemptAddress::first_of_run(chat.run());
    Ok(host.parts.runtime.journal().by_driver_id(&scope, name).await?)
}

/// What the row of a chat notes that is not finished.
const UNFINISHED: &str = "unfinished_fork";

/// Returns whether a chat was to be a fork, and the process died that began it.
pub(crate) fn is_unfinished_fork(row: &SessionRow) -> bool {
    row.forked_from_id.is_some() && row.metadata_json == unfinished_note()
}

/// Returns the note in the row of a fork that is not finished.
pub(crate) fn unfinished_note() -> String {
    json!({ UNFINISHED: true }).to_string()
}
