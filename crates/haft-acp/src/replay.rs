//! Converts the messages of a session to updates, for an editor that opens the session again. Calls are shown with their results.
//! Rewound messages, summaries and notices are left out.

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, ImageContent, MessageId, SessionUpdate,
};
use haft::Registry;
use haft_agent::{ToolResultStatus, call_title, prompt_image};
use haft_contract::{Envelope, ToolKind};
use haft_journal::{
    MessageFinish, MessageKind, MessagePart, MessageRole, PartKind, PartState, SessionMessage,
};
use haft_model::ModelImage;
use serde_json::Value;

use crate::updates::{AnnouncedCall, SessionUpdates, chunk};

fn image_chunk(data: String, mime_type: String, message: &SessionMessage) -> ContentChunk {
    ContentChunk::new(ContentBlock::Image(ImageContent::new(data, mime_type)))
        .message_id(MessageId::from(message.id.to_string()))
}

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
                let chunk = match prompt_image(part) {
                    Some(ModelImage { mime_type, data }) => image_chunk(data, mime_type, message),
                    None => text(),
                };
                shown.push(SessionUpdate::UserMessageChunk(chunk));
            }
            (PartKind::Text, MessageRole::Assistant) => {
                shown.push(SessionUpdate::AgentMessageChunk(text()));
            }
            (PartKind::Reasoning, _) => shown.push(SessionUpdate::AgentThoughtChunk(text())),
            (PartKind::Tool, _) => {
                let (Some(id), Some(tool)) = (&part.tool_call_id, &part.tool) else { continue };
                let input = part.input_json.as_deref().unwrap_or_default();
                let input: Value =
                    serde_json::from_str(input).unwrap_or_else(|_| Value::from(input));
                let path = input.get("path").and_then(Value::as_str);
                let locations: Vec<String> = path.map(str::to_owned).into_iter().collect();
                let call = AnnouncedCall {
                    id: id.clone(),
                    tool,
                    kind: registry.contract(tool).map_or(ToolKind::Other, |contract| contract.kind),
                    title: call_title(tool, &input),
                    input: &input,
                    locations: &locations,
                };
                // The former text of the file is unknown.
                shown.extend(updates.start_call(call, |_| None));
                let status = match part.state {
                    Some(PartState::OutputAvailable) => ToolResultStatus::OutputAvailable,
                    Some(PartState::OutputError) => ToolResultStatus::OutputError,
                    Some(PartState::InputAvailable | PartState::InputStreaming) | None => {
                        shown.push(updates.in_doubt_update(id));
                        continue;
                    }
                };
                let output = part.output_json.as_deref();
                if let Some(Ok(envelope)) = output.map(serde_json::from_str::<Envelope>) {
                    shown.extend(updates.end_call(id, tool, status, &envelope));
                }
            }
        }
    }
    // An empty answer is recorded only if the turn failed with it. After an incomplete answer, the model may have been asked again.
    if let (Some(MessageFinish::Error), Some(error)) = (message.finish, &message.error) {
        let what = if parts.is_empty() { "The turn failed" } else { "This answer is not whole" };
        shown.push(updates.notice_update(&format!("{what}: {error}")));
    }
    shown
}

/// Returns the update with the used part of the context after these messages, if a model has answered.
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
