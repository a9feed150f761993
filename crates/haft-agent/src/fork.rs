//! Forks a session: begins a new one with a copy of the messages of another. The copied calls remain calls of the other session, and
//! none of them is made again.

use std::collections::HashMap;
use std::sync::Arc;

use haft_journal::{
    MessageId, MessagePart, SessionDurability, SessionId, SessionMessage, SessionRecord,
    SessionRow, SessionStatus, TokenCounts,
};

use crate::abandon::answer_calls;
use crate::call_scope::call_scope;
use crate::error::AgentError;
use crate::open;
use crate::session::AgentSession;
use crate::session_context::AgentHostShared;
use crate::session_log::record_all;
use crate::stored_session::{
    UNFINISHED_FORK, current_restrictions, find_row, load_entries, stored_restrictions,
};

pub(crate) async fn fork_session(
    host: &Arc<AgentHostShared>,
    id: &SessionId,
    through: Option<&MessageId>,
) -> Result<AgentSession, AgentError> {
    let source = find_row(host, id).await?;
    let agent = host.any_agent(&source.agent)?;
    // The row keeps the restrictions that the other session began with. The present ones apply, as when it is opened.
    let restrictions = stored_restrictions(&source)?;
    let restrictions_now = current_restrictions(host, &source, &[])?;
    let mut entries = load_entries(host, id).await?;
    if let Some(through) = through {
        let Some(index) = entries.iter().position(|entry| entry.message.id == *through) else {
            let (session, message) = (id.clone(), through.clone());
            return Err(AgentError::UnknownMessage { session, message });
        };
        entries.truncate(index + 1);
    }
    // A message that is still arriving is not copied.
    entries.retain(|entry| entry.message.completed_at_ms.is_some());
    let reasons = [
        "its end was not known when this session was forked",
        "it belongs to the session that this one was forked from",
    ];
    let parts = entries.iter_mut().flat_map(|entry| &mut entry.parts);
    answer_calls(host, &call_scope(&source), parts, reasons).await?;
    // New ids sort after the copied ones, even if the clock was set back.
    entries.iter().for_each(|entry| host.ids.raise_floor(entry.message.id.bits()));
    let row = SessionRow {
        forked_from_id: Some(source.id),
        forked_from_message_id: entries.last().map(|entry| entry.message.id.clone()),
        title: source.title,
        ..host.new_row_with_model(&agent, source.model, &restrictions)
    };
    let context = host.idle_session_context(&row, agent, &restrictions_now)?;
    context.run.take_lease().await?;
    open::adopt_calls(&context.connection, entries.iter().flat_map(|entry| &entry.parts)).await;
    // A long session takes several records. Until the last one, its row says that the fork is unfinished, so no process lists or
    // opens it.
    let mut records = vec![SessionRecord::Session(SessionRow {
        inspectable: false,
        status: SessionStatus::Running,
        metadata_json: UNFINISHED_FORK.to_owned(),
        ..row.clone()
    })];
    let mut copies = HashMap::new();
    for entry in entries {
        let message_id = host.ids.next_message_id();
        copies.insert(entry.message.id, message_id.clone());
        let covered = entry.message.covers_through;
        records.push(SessionRecord::Message(SessionMessage {
            id: message_id.clone(),
            session_id: row.id.clone(),
            covers_through: covered.and_then(|last| copies.get(&last).cloned()),
            // The other session has counted them.
            tokens: TokenCounts::default(),
            ..entry.message
        }));
        for part in entry.parts {
            let (message_id, session_id) = (message_id.clone(), row.id.clone());
            let id = host.ids.next_part_id();
            let mut copy = MessagePart { id, message_id, session_id, ..part };
            open::adopt_output(&context.connection, &mut copy).await;
            records.push(SessionRecord::Part(copy));
        }
    }
    records.push(SessionRecord::Session(row.clone()));
    record_all(&context, records, SessionDurability::Durable).await?;
    Ok(AgentSession::from_row(context, row))
}
