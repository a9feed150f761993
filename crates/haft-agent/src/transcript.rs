//! Converts the rows of a session to the messages that a model reads. The functions are pure: the rows themselves show which
//! messages a summary replaces.

use haft_contract::{ContentPart, Envelope};
use haft_journal::{
    MessageFinish, MessageKind, MessagePart, MessageRole, PartKind, SessionMessage,
};
use haft_model::{ModelImage, ModelMessage, ToolCall, ToolCallArguments, UserMessage};
use serde_json::{Value, json};

use crate::advice::sentence_for_agent;
use crate::limits::{IMAGE_TOKENS, IMAGES_SENT_MAX};
use crate::prompt::enclose_in_tag;

/// A message with its parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TranscriptEntry {
    pub(crate) message: SessionMessage,
    pub(crate) parts: Vec<MessagePart>,
}

impl TranscriptEntry {
    /// Returns the text of the message, without calls and reasoning.
    pub(crate) fn text(&self) -> String {
        let texts = self.parts.iter().filter(|part| part.kind == PartKind::Text);
        texts.filter_map(|part| part.text.as_deref()).collect()
    }

    /// Returns whether a call of the message has no answer yet.
    pub(crate) fn has_open_calls(&self) -> bool {
        self.parts.iter().any(is_open_call)
    }

    /// Returns whether this is an empty answer that only records an error.
    pub(crate) fn is_failed_answer(&self) -> bool {
        self.message.role == MessageRole::Assistant
            && self.message.finish == Some(MessageFinish::Error)
            && self.parts.is_empty()
    }

    /// Returns whether a person wrote the message.
    pub(crate) fn is_prompt(&self) -> bool {
        self.message.role == MessageRole::User && self.message.kind == MessageKind::Said
    }
}

/// Returns whether a part is a call without an answer.
pub(crate) fn is_open_call(part: &MessagePart) -> bool {
    part.state.is_some_and(|state| !state.is_finished())
}

/// Returns the messages that the model reads: the last summary and all messages that it does not replace.
pub(crate) fn visible_entries(entries: &[TranscriptEntry]) -> Vec<&TranscriptEntry> {
    let is_summary = |entry: &&TranscriptEntry| entry.message.kind == MessageKind::Summary;
    let Some(summary) = entries.iter().rev().find(is_summary) else {
        return entries.iter().collect();
    };
    let covers_through = summary.message.covers_through.as_ref();
    let is_visible = |entry: &&TranscriptEntry| {
        !is_summary(entry) && covers_through.is_none_or(|last| entry.message.id > *last)
    };
    std::iter::once(summary).chain(entries.iter().filter(is_visible)).collect()
}

/// Removes images from the conversation: all of them for a model that takes none, otherwise those before the last few.
pub(crate) fn limit_images(messages: &mut [ModelMessage], takes_images: bool) {
    let mut left = if takes_images { IMAGES_SENT_MAX } else { 0 };
    for message in messages.iter_mut().rev() {
        if let ModelMessage::ToolResult { images, .. }
        | ModelMessage::User(UserMessage { images, .. }) = message
        {
            images.truncate(left);
            left -= images.len();
        }
    }
}

/// Returns the conversation for the model of that name. Signatures of a call go only to the model that made the call.
pub(crate) fn model_messages(entries: &[&TranscriptEntry], model: &str) -> Vec<ModelMessage> {
    let mut messages: Vec<ModelMessage> = Vec::new();
    for entry in entries {
        let text = entry.text();
        if entry.message.role == MessageRole::User {
            let text = match entry.message.kind {
                // The tag keeps the model from reading a notice as a person's words. It may quote a subagent.
                MessageKind::Notice => enclose_in_tag("notice", &text),
                MessageKind::Said | MessageKind::Summary => text,
            };
            // Some providers want the two sides to alternate.
            let images = entry.parts.iter().filter_map(prompt_image);
            if let Some(ModelMessage::User(last)) = messages.last_mut() {
                last.text.push_str("\n\n");
                last.text.push_str(&text);
                last.images.extend(images);
            } else {
                messages.push(ModelMessage::User(UserMessage { text, images: images.collect() }));
            }
            continue;
        }
        let is_own = entry.message.model.as_deref() == Some(model);
        let calls = entry.parts.iter().filter_map(|part| {
            let call = tool_call(part)?;
            let call = if is_own { call } else { ToolCall { signatures: Vec::new(), ..call } };
            Some((call, part))
        });
        let calls: Vec<(ToolCall, &MessagePart)> = calls.collect();
        // No provider accepts an empty answer.
        if text.is_empty() && calls.is_empty() {
            continue;
        }
        let tool_calls = calls.iter().map(|(call, _)| call.clone()).collect();
        messages.push(ModelMessage::Assistant { text, tool_calls });
        for (call, part) in calls {
            let (text, images) = (result_text(part), result_images(part));
            let ToolCall { id: call_id, name, .. } = call;
            messages.push(ModelMessage::ToolResult { call_id, name, text, images });
        }
    }
    messages
}

/// Returns the call that a part is, once its arguments are whole.
pub(crate) fn tool_call(part: &MessagePart) -> Option<ToolCall> {
    let input = part.input_json.as_deref().filter(|_| part.kind == PartKind::Tool)?;
    let signatures = part.signatures_json.as_deref().unwrap_or("[]");
    // Every provider accepts letters, digits, `_` and `-`.
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' }
    };
    let name: String = part.tool.as_deref()?.chars().take(NAME_CHARS_MAX).map(plain).collect();
    Some(ToolCall {
        id: part.tool_call_id.clone()?,
        name: if name.is_empty() { "_".to_owned() } else { name },
        arguments: parse_arguments(input),
        // Signatures that cannot be parsed belong to another model. The call is valid without them.
        signatures: serde_json::from_str(signatures).unwrap_or_default(),
    })
}

/// The longest tool name, in characters, that every provider accepts.
const NAME_CHARS_MAX: usize = 64;

/// Returns arguments as rows store them: an object as JSON, anything else as a JSON string of the model's text.
pub(crate) fn input_json(arguments: &ToolCallArguments) -> String {
    match arguments {
        ToolCallArguments::Object(value) => value.to_string(),
        ToolCallArguments::Malformed { text, .. } => Value::from(text.as_str()).to_string(),
    }
}

/// Parses arguments from a row.
pub(crate) fn parse_arguments(input_json: &str) -> ToolCallArguments {
    match serde_json::from_str(input_json) {
        Ok(Value::String(text)) => ToolCallArguments::parse(&text),
        _ => ToolCallArguments::parse(input_json),
    }
}

/// Returns the result of a call as the model reads it.
pub(crate) fn result_text(part: &MessagePart) -> String {
    let envelope = match part.output_json.as_deref().map(serde_json::from_str::<Envelope>) {
        Some(Ok(envelope)) => envelope,
        Some(Err(_)) => {
            return "[haft: the answer of this call is recorded and cannot be read]".to_owned();
        }
        None => return "[haft: this call has no answer yet]".to_owned(),
    };
    let mut text = envelope.text_for_model();
    if let Some(advice) = envelope.metadata().refusal.as_deref().and_then(sentence_for_agent) {
        text.push_str(&format!("\n\n[haft: {advice}]"));
    }
    if let Some(warning) = &envelope.metadata().retry_warning {
        // A long output must not hide it.
        text.insert_str(0, &format!("[haft: {warning}]\n\n"));
    }
    if let Some(note) = &envelope.metadata().approval_note {
        text.insert_str(0, &format!("[haft: {note}]\n\n"));
    }
    text
}

/// Returns `part` as the part for an image of a prompt: its text describes the image, and the image lies in the content store.
pub(crate) fn image_part(part: MessagePart, image: &ModelImage) -> MessagePart {
    let ModelImage { mime_type, data } = image.clone();
    let description = ContentPart::Image { mime_type, data }.text();
    MessagePart {
        text: Some(format!("\n{description}")),
        input_json: Some(json!(image).to_string()),
        lies_apart: true,
        ..part
    }
}

/// Returns the image of a prompt that a part is.
pub fn prompt_image(part: &MessagePart) -> Option<ModelImage> {
    let image = part.input_json.as_deref().filter(|_| part.kind == PartKind::Text)?;
    serde_json::from_str(image).ok()
}

/// Returns the images in the result of a call.
fn result_images(part: &MessagePart) -> Vec<ModelImage> {
    // Most results hold none, and are not parsed for it.
    let output = part.output_json.as_deref().filter(|json| json.contains("\"image\""));
    let envelope = output.and_then(|json| serde_json::from_str::<Envelope>(json).ok());
    let Some(Envelope::Output { data, metadata }) = envelope else { return Vec::new() };
    let parts = metadata.content.then(|| ContentPart::of_data(&data)).flatten();
    let images = parts.into_iter().flatten().filter_map(|part| match part {
        ContentPart::Image { mime_type, data } => Some(ModelImage { mime_type, data }),
        ContentPart::Text { .. }
        | ContentPart::Audio { .. }
        | ContentPart::Resource { .. }
        | ContentPart::Link { .. } => None,
    });
    images.collect()
}

/// Estimates the tokens of messages from their length.
pub(crate) fn estimate_tokens(entries: &[&TranscriptEntry]) -> u64 {
    let part_bytes = |part: &MessagePart| match part.kind {
        PartKind::Text => part.text.as_deref().map_or(0, str::len),
        PartKind::Reasoning => 0,
        PartKind::Tool => part.input_json.as_deref().map_or(0, str::len) + result_text(part).len(),
    };
    let parts = || entries.iter().flat_map(|entry| &entry.parts);
    let bytes: usize = parts().map(part_bytes).sum();
    let images_of = |part| result_images(part).len() + usize::from(prompt_image(part).is_some());
    let images: usize = parts().map(images_of).sum();
    let images = u64::try_from(images.min(IMAGES_SENT_MAX)).unwrap_or_default();
    u64::try_from(bytes).unwrap_or(u64::MAX) / CHARS_PER_TOKEN + images * IMAGE_TOKENS
}

/// The characters that haft counts as one token.
pub(crate) const CHARS_PER_TOKEN: u64 = 4;

#[cfg(test)]
pub(crate) mod tests;
