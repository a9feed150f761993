//! Begins a chat that shares the beginning of another: its messages are copied under names of their own, and the calls in
//! them stay what they were, calls of the other chat. Nothing is made again.

use std::collections::HashMap;
use std::sync::Arc;

use haft_journal::{
    ChatFirmness, ChatId, ChatMessage, ChatPart, ChatRecord, ChatSession, ChatStatus, MessageId,
    TokenCounts,
};
use serde_json::json;

use crate::abandon::{begun, recorded};
use crate::calls::{answer, unmade_envelope};
use crate::chat::{Chat, ChatCore};
use crate::error::AgentError;
use crate::host::HostShared;
use crate::ledger::record_all;
use crate::open;
use crate::transcript::{Entry, is_open};

pub(crate) async fn fork(
    host: &Arc<HostShared>,
    id: &ChatId,
    through: Option<&MessageId>,
) -> Result<Chat, AgentError> {
    let source = open::row(host, id).await?;
    let agent = host.agent(&source.agent)?;
    // Kept is what the other chat was begun with; held to is it to what opening it would be.
    let layers = open::layers(&source)?;
    let layers_now = open::layers_now(host, &source, &[])?;
    let mut entries = shared(open::entries(host, id).await?, id, through)?;
    answer_all(host, id, &mut entries).await?;
    // Its own names come behind those that it shares, whatever the clock says.
    entries.iter().for_each(|entry| host.ids.raise(entry.message.id.bits()));
    let row = host.row_of_model(&agent, source.model, &layers);
    let row = ChatSession {
        forked_from_id: Some(source.id),
        forked_from_message_id: entries.last().map(|entry| entry.message.id.clone()),
        title: source.title,
        ..row
    };
    let core = host.core_of_silent(&row, agent, &layers_now)?;
    core.run.open().await?;
    record(&core, &row, entries).await?;
    Ok(Chat::of(core, row))
}

/// Answers the calls that have no answer, as far as the journal knows them: the new chat makes none of them.
async fn answer_all(
    host: &HostShared,
    chat: &ChatId,
    entries: &mut [Entry],
) -> Result<(), AgentError> {
    let parts = entries.iter_mut().flat_map(|entry| &mut entry.parts);
    for part in parts.filter(|part| is_open(part)) {
        let begun = begun(host, chat, part.tool_call_id.as_deref().unwrap_or_default()).await?;
        let envelope = match begun {
            Some(row) => recorded(&row, "its end was not known when this session was forked"),
            None => unmade_envelope("it belongs to the session that this one was forked from"),
        };
        answer(part, &envelope, host.now_ms());
    }
    Ok(())
}

/// Records the new chat with all that it shares. A journal takes so much at once; of a chat that is longer the row says that it
/// is not finished until all is there, and nobody sees or opens such a one.
async fn record(
    core: &Arc<ChatCore>,
    row: &ChatSession,
    entries: Vec<Entry>,
) -> Result<(), AgentError> {
    let begun = ChatSession {
        inspectable: false,
        status: ChatStatus::Running,
        metadata_json: unfinished(),
        ..row.clone()
    };
    open::adopt_calls(&core.session, entries.iter().flat_map(|entry| &entry.parts)).await;
    let mut copies = HashMap::new();
    let mut records = vec![ChatRecord::Session(begun)];
    for entry in entries {
        let mut entry = copied(core, entry, &mut copies);
        for part in &mut entry.parts {
            open::adopt_output(&core.session, part).await;
        }
        records.push(ChatRecord::Message(entry.message));
        records.extend(entry.parts.into_iter().map(ChatRecord::Part));
    }
    records.push(ChatRecord::Session(row.clone()));
    record_all(core, records, ChatFirmness::Durable).await
}

/// What the row of a chat notes that is not finished.
const UNFINISHED: &str = "unfinished_fork";

fn unfinished() -> String {
    json!({ UNFINISHED: true }).to_string()
}

/// Returns whether a chat was to be a fork, and the process died that began it.
pub(crate) fn is_unfinished(row: &ChatSession) -> bool {
    row.forked_from_id.is_some() && row.metadata_json == unfinished()
}

/// Returns the messages that are shared. One that is not whole yet is not among them.
fn shared(
    mut entries: Vec<Entry>,
    chat: &ChatId,
    through: Option<&MessageId>,
) -> Result<Vec<Entry>, AgentError> {
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
fn copied(core: &ChatCore, entry: Entry, copies: &mut HashMap<MessageId, MessageId>) -> Entry {
    let host = &core.host;
    let id = host.ids.message();
    copies.insert(entry.message.id, id.clone());
    let covers_through = entry.message.covers_through.and_then(|last| copies.get(&last).cloned());
    let session_id = core.id.clone();
    let copy = |part: ChatPart| ChatPart {
        id: host.ids.part(),
        message_id: id.clone(),
        session_id: session_id.clone(),
        ..part
    };
    let parts = entry.parts.into_iter().map(copy).collect();
    let message = ChatMessage {
        id: id.clone(),
        session_id: session_id.clone(),
        covers_through,
        tokens: TokenCounts::default(),
        ..entry.message
    };
    Entry { message, parts }
}
