//! What was said in a session, as the updates that showed it: for an editor that opens it again. Calls are shown with what
//! they came to; what was set aside and what only the model reads is left out.

use agent_client_protocol::v1::schema::SessionUpdate;
use haft::Registry;
use haft_agent::{ToolResultStatus, call_title};
use haft_contract::{Envelope, ToolKind};
use haft_journal::{
    MessageFinish, MessageKind, MessagePart, MessageRole, PartKind, PartState, SessionMessage,
};
use serde_json::Value;

use crate::updates::{AnnouncedCall, SessionUpdates, chunk};

/// Returns the updates for one message.
pub(crate) fn message_updates(
    updates: &mut SessionUpdates,
    registry: &Registry,
    message: &SessionMessage,
    parts: &[MessagePart],
) -> Vec<SessionUpdate> {
    match message.kind {
        MessageKind::Said => {}
        MessageKind::Summary | MessageKind::Notice => return Vec::new(),
    }
    let mut shown = Vec::new();
    for part in parts {
        let text = || chunk(part.text.clone().unwrap_or_default(), Some(message.id.to_string()));
        match (part.kind, message.role) {
            (PartKind::Text, MessageRole::User) => {
                shown.push(SessionUpdate::UserMessageChunk(text()))
            }
            (PartKind::Text, MessageRole::Assistant) => {
                shown.push(SessionUpdate::AgentMessageChunk(text()));
            }
            (PartKind::Reasoning, _) => shown.push(SessionUpdate::AgentThoughtChunk(text())),
            (PartKind::Tool, _) => shown.extend(call_updates(updates, registry, part)),
        }
    }
    // Nothing else shows that nobody answered, or that an answer is not whole. One of which something came may have been asked
    // for again; one of nothing is recorded only where the turn ended with it.
    if let (Some(MessageFinish::Error), Some(error)) = (message.finish, &message.error) {
        let what = if parts.is_empty() { "The turn failed" } else { "This answer is not whole" };
        shown.push(updates.notice_update(&format!("{what}: {error}")));
    }
    shown
}

/// Returns the update that says how much of the context is used after these messages; nothing if no model has answered.
pub(crate) fn usage_update(
    updates: &SessionUpdates,
    history: &[(SessionMessage, Vec<MessagePart>)],
) -> Option<SessionUpdate> {
    let answers = history.iter().rev().filter(|(message, _)| {
        message.role == MessageRole::Assistant && message.kind == MessageKind::Said
    });
    let mut tokens = answers.map(|(message, _)| message.tokens);
    tokens.find_map(|last| {
        let read = [last.input, last.cache_read, last.cache_write];
        updates.usage_update(read, [last.output, last.reasoning])
    })
}

fn call_updates(
    updates: &mut SessionUpdates,
    registry: &Registry,
    part: &MessagePart,
) -> Vec<SessionUpdate> {
    let (Some(id), Some(tool)) = (&part.tool_call_id, &part.tool) else { return Vec::new() };
    let input = part.input_json.as_deref().unwrap_or_default();
    let input: Value = serde_json::from_str(input).unwrap_or_else(|_| Value::from(input));
    let locations: Vec<String> =
        input.get("path").and_then(Value::as_str).map(str::to_owned).into_iter().collect();
    let mut shown = updates.start_call(
        AnnouncedCall {
            id: id.clone(),
            tool,
            kind: registry.contract(tool).map_or(ToolKind::Other, |contract| contract.kind),
            title: call_title(tool, &input),
            input: &input,
            locations: &locations,
        },
        // What the file said then nobody knows any more.
        |_| None,
    );
    let status = match part.state {
        Some(PartState::OutputAvailable) => ToolResultStatus::OutputAvailable,
        Some(PartState::OutputError) => ToolResultStatus::OutputError,
        Some(PartState::InputAvailable | PartState::InputStreaming) | None => {
            shown.push(updates.in_doubt_update(id));
            return shown;
        }
    };
    let envelope = part.output_json.as_deref().and_then(|json| serde_json::from_str(json).ok());
    if let Some(envelope) = envelope {
        let envelope: Envelope = envelope;
        shown.extend(updates.end_call(id, tool, status, &envelope));
    }
    shown
}
