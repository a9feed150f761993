//! Begins a chat that shares the beginning of another: its messages are copied under names of their own, and the calls in
//! them stay what they were, calls of the other chat. Nothing is made again.

use std::collections::HashMap;
use std::sync::Arc;

use haft_journal::{
    ChatFirmness, ChatId, ChatMessage, ChatPart, ChatRecord, ChatSession, MessageId, TokenCounts,
};

use crate::calls::unmade;
use crate::chat::Chat;
use crate::error::AgentError;
use crate::host::HostShared;
use crate::ledger::Ledger;
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
    let entries = shared(open::entries(host, id).await?, id, through)?;
    // Its own names come behind those that it shares, whatever the clock says.
    entries.iter().for_each(|entry| host.ids.raise(entry.message.id.bits()));
    let row = host.row(&agent, Some(&source.model), &layers)?;
    let row = ChatSession {
        forked_from_id: Some(source.id),
        forked_from_message_id: entries.last().map(|entry| entry.message.id.clone()),
        title: source.title,
        ..row
    };
    let chat = host.begin(row.clone(), agent, &layers_now).await?;
    let ledger = Ledger::load(chat.core(), row).await?;
    let mut copies = HashMap::new();
    let mut records = Vec::new();
    for entry in entries {
        let mut entry = copied(&ledger, entry, &mut copies);
        for part in &mut entry.parts {
            open::adopt_output(&ledger.core.session, part).await;
        }
        records.push(ChatRecord::Message(entry.message));
        records.extend(entry.parts.into_iter().map(ChatRecord::Part));
    }
    ledger.record(records, ChatFirmness::Durable).await?;
    Ok(chat)
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
fn copied(ledger: &Ledger, entry: Entry, copies: &mut HashMap<MessageId, MessageId>) -> Entry {
    let host = &ledger.core.host;
    let id = host.ids.message();
    copies.insert(entry.message.id, id.clone());
    let covers_through = entry.message.covers_through.and_then(|last| copies.get(&last).cloned());
    let session_id = ledger.core.id.clone();
    let copy = |part: ChatPart| {
        let is_open = is_open(&part);
        let mut part = ChatPart {
            id: host.ids.part(),
            message_id: id.clone(),
            session_id: session_id.clone(),
            ..part
        };
        if is_open {
            unmade(
                &mut part,
                "it belongs to the session that this one was forked from",
                host.now_ms(),
            );
        }
        part
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
