//! Begins a chat that shares the beginning of another: its messages are copied under names of their own, and the calls in
//! them stay what they were, calls of the other chat. Nothing is made again.

use std::collections::HashMap;
use std::sync::Arc;

use haft_journal::{
    MessageId, MessagePart, SessionDurability, SessionId, SessionMessage, SessionRecord,
    SessionRow, SessionStatus, TokenCounts,
};

use crate::call_answer::{recorded_envelope, set_call_answer, unmade_envelope};
use crate::error::AgentError;
use crate::open;
use crate::session::AgentSession;
use crate::session_context::{AgentHostShared, AgentSessionContext};
use crate::session_log::record_all;
use crate::stored_session::{
    current_restrictions, find_begun_call, find_row, load_entries, stored_restrictions,
    unfinished_note,
};
use crate::transcript::{TranscriptEntry, is_open_call};

pub(crate) async fn fork_session(
    host: &Arc<AgentHostShared>,
    id: &SessionId,
    through: Option<&MessageId>,
) -> Result<AgentSession, AgentError> {
    let source = find_row(host, id).await?;
    let agent = host.any_agent(&source.agent)?;
    // Kept is what the other chat was begun with; held to is it to what opening it would be.
    let layers = stored_restrictions(&source)?;
    let layers_now = current_restrictions(host, &source, &[])?;
    let mut entries = shared_entries(load_entries(host, id).await?, id, through)?;
    answer_open_calls(host, id, &mut entries).await?;
    // Its own names come behind those that it shares, whatever the clock says.
    entries.iter().for_each(|entry| host.ids.raise_floor(entry.message.id.bits()));
    let row = host.new_row_with_model(&agent, source.model, &layers);
    let row = SessionRow {
        forked_from_id: Some(source.id),
        forked_from_message_id: entries.last().map(|entry| entry.message.id.clone()),
        title: source.title,
        ..row
    };
    let core = host.idle_session_context(&row, agent, &layers_now)?;
    core.run.take_lease().await?;
    record_fork(&core, &row, entries).await?;
    Ok(AgentSession::from_row(core, row))
}

/// Answers the calls that have no answer, as far as the journal knows them: the new chat makes none of them.
async fn answer_open_calls(
    host: &AgentHostShared,
    chat: &SessionId,
    entries: &mut [TranscriptEntry],
) -> Result<(), AgentError> {
    let parts = entries.iter_mut().flat_map(|entry| &mut entry.parts);
    for part in parts.filter(|part| is_open_call(part)) {
        let begun =
            find_begun_call(host, chat, part.tool_call_id.as_deref().unwrap_or_default()).await?;
        let envelope = match begun {
            Some(row) => {
                recorded_envelope(&row, "its end was not known when this session was forked")
            }
            None => unmade_envelope("it belongs to the session that this one was forked from"),
        };
        set_call_answer(part, &envelope, host.now_ms());
    }
    Ok(())
}

/// Records the new chat with all that it shares. A journal takes so much at once; of a chat that is longer the row says that it
/// is not finished until all is there, and nobody sees or opens such a one.
async fn record_fork(
    core: &Arc<AgentSessionContext>,
    row: &SessionRow,
    entries: Vec<TranscriptEntry>,
) -> Result<(), AgentError> {
    let begun = SessionRow {
        inspectable: false,
        status: SessionStatus::Running,
        metadata_json: unfinished_note(),
        ..row.clone()
    };
    open::adopt_calls(&core.connection, entries.iter().flat_map(|entry| &entry.parts)).await;
    let mut copies = HashMap::new();
    let mut records = vec![SessionRecord::Session(begun)];
    for entry in entries {
        let mut entry = copy_entry(core, entry, &mut copies);
        for part in &mut entry.parts {
            open::adopt_output(&core.connection, part).await;
        }
        records.push(SessionRecord::Message(entry.message));
        records.extend(entry.parts.into_iter().map(SessionRecord::Part));
    }
    records.push(SessionRecord::Session(row.clone()));
    record_all(core, records, SessionDurability::Durable).await
}

/// Returns the messages that are shared. One that is not whole yet is not among them.
fn shared_entries(
    mut entries: Vec<TranscriptEntry>,
    chat: &SessionId,
    through: Option<&MessageId>,
) -> Result<Vec<TranscriptEntry>, AgentError> {
    if let Some(through) = through {
        let place = entries.iter().position(|entry| entry.message.id == *through);
        let place = place.ok_or_else(|| AgentError::UnknownMessage {
            chat: chat.clone(),
            message: through.clone(),
        })?;
        entries.truncate(place + 1);
    }
    entries.retain(|entry| entry.message.completed_at_ms.is_some());
    Ok(entries)
}

/// Returns a message as the new chat has it. What it took was counted in the other one.
fn copy_entry(
    core: &AgentSessionContext,
    entry: TranscriptEntry,
    copies: &mut HashMap<MessageId, MessageId>,
) -> TranscriptEntry {
    let host = &core.host;
    let id = host.ids.next_message_id();
    copies.insert(entry.message.id, id.clone());
    let covers_through = entry.message.covers_through.and_then(|last| copies.get(&last).cloned());
    let session_id = core.id.clone();
    let copy = |part: MessagePart| MessagePart {
        id: host.ids.next_part_id(),
        message_id: id.clone(),
        session_id: session_id.clone(),
        ..part
    };
    let parts = entry.parts.into_iter().map(copy).collect();
    let message = SessionMessage {
        id: id.clone(),
        session_id: session_id.clone(),
        covers_through,
        tokens: TokenCounts::default(),
        ..entry.message
    };
    TranscriptEntry { message, parts }
}
