//! What a model gets to read of a chat: rows in, messages out. Pure; which rows there are, and what is left out because a
//! summary stands for it, is seen from the rows themselves.

use haft_contract::Envelope;
use haft_journal::{
    MessageFinish, MessageKind, MessagePart, MessageRole, PartKind, PartState, SessionMessage,
};
use haft_model::{ModelMessage, ToolCall, ToolCallArguments};
use serde_json::Value;

use crate::advice::sentence_for_agent;
use crate::prompt::enclose_in_tag;

/// A message with its parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TranscriptEntry {
    pub(crate) message: SessionMessage,
    pub(crate) parts: Vec<MessagePart>,
}

impl TranscriptEntry {
    /// Returns what was said in it, without calls and thoughts.
    pub(crate) fn text(&self) -> String {
        let texts = self.parts.iter().filter(|part| part.kind == PartKind::Text);
        texts.filter_map(|part| part.text.as_deref()).collect()
    }

    /// Returns whether a call of it has no answer yet.
    pub(crate) fn has_open_calls(&self) -> bool {
        self.parts.iter().any(is_open_call)
    }

    /// Returns whether it is an answer of which nothing came: it only says why.
    pub(crate) fn is_failed_answer(&self) -> bool {
        self.message.role == MessageRole::Assistant
            && self.message.finish == Some(MessageFinish::Error)
            && self.parts.is_empty()
    }

    /// Returns whether a person said it.
    pub(crate) fn is_prompt(&self) -> bool {
        self.message.role == MessageRole::User && self.message.kind == MessageKind::Said
    }
}

/// Returns whether a part is a call without an answer.
pub(crate) fn is_open_call(part: &MessagePart) -> bool {
    part.state.is_some_and(|state| !state.is_finished())
}

/// Returns the rows that the model gets to read: the last summary, and what it does not stand for.
pub(crate) fn visible_entries(entries: &[TranscriptEntry]) -> Vec<&TranscriptEntry> {
    let is_summary = |entry: &&TranscriptEntry| entry.message.kind == MessageKind::Summary;
    let Some(summary) = entries.iter().rev().find(is_summary) else {
        return entries.iter().collect();
    };
    let covers_through = summary.message.covers_through.as_ref();
    let is_left = |entry: &&TranscriptEntry| {
        !is_summary(entry) && covers_through.is_none_or(|last| entry.message.id > *last)
    };
    std::iter::once(summary).chain(entries.iter().filter(is_left)).collect()
}

/// Returns the conversation as the model of that name reads it. What a provider wants to have back with a call is for the model
/// that made it, and for no other one.
pub(crate) fn model_messages(entries: &[&TranscriptEntry], model: &str) -> Vec<ModelMessage> {
    let mut messages: Vec<ModelMessage> = Vec::new();
    for entry in entries {
        match entry.message.role {
            MessageRole::User => push_user_text(&mut messages, entry),
            MessageRole::Assistant => {
                let is_own = entry.message.model.as_deref() == Some(model);
                push_answer(&mut messages, entry, is_own);
            }
        }
    }
    messages
}

/// Adds what somebody said. What comes behind one another without an answer between is one message: some providers
/// want both sides to take turns. What no person said is marked, so that it passes for nobody's word.
fn push_user_text(messages: &mut Vec<ModelMessage>, entry: &TranscriptEntry) {
    let text = match entry.message.kind {
        // It may hold the words of a subagent, and so of whatever that read.
        MessageKind::Notice => enclose_in_tag("notice", &entry.text()),
        MessageKind::Said | MessageKind::Summary => entry.text(),
    };
    if let Some(ModelMessage::User(last)) = messages.last_mut() {
        last.push_str("\n\n");
        last.push_str(&text);
    } else {
        messages.push(ModelMessage::User(text));
    }
}

/// Adds an answer with its calls, each of which has a result behind it. An answer of nothing is left out, because no
/// provider takes it back.
fn push_answer(messages: &mut Vec<ModelMessage>, entry: &TranscriptEntry, is_own: bool) {
    let call = |part: &MessagePart| {
        let call = tool_call(part)?;
        Some(if is_own { call } else { ToolCall { signatures: Vec::new(), ..call } })
    };
    let made: Vec<(ToolCall, &MessagePart)> =
        entry.parts.iter().filter_map(|part| Some((call(part)?, part))).collect();
    let text = entry.text();
    if text.is_empty() && made.is_empty() {
        return;
    }
    let tool_calls = made.iter().map(|(call, _)| call.clone()).collect();
    messages.push(ModelMessage::Assistant { text, tool_calls });
    for (call, part) in made {
        let text = result_text(part);
        messages.push(ModelMessage::ToolResult { call_id: call.id, name: call.name, text });
    }
}

/// Returns the call that a part is, once its arguments are whole.
pub(crate) fn tool_call(part: &MessagePart) -> Option<ToolCall> {
    let input = part.input_json.as_deref().filter(|_| part.kind == PartKind::Tool)?;
    let signatures = part.signatures_json.as_deref().unwrap_or("[]");
    Some(ToolCall {
        id: part.tool_call_id.clone()?,
        name: plain_name(part.tool.as_deref()?),
        arguments: parse_arguments(input),
        // What cannot be read any more was somebody else's: without it the call is still what it was.
        signatures: serde_json::from_str(signatures).unwrap_or_default(),
    })
}

/// Returns a name of a tool that every provider takes back, whatever the model called: letters, digits, `_` and `-`.
fn plain_name(name: &str) -> String {
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' }
    };
    let plain: String = name.chars().take(NAME_CHARS_MAX).map(plain).collect();
    if plain.is_empty() { "_".to_owned() } else { plain }
}

/// Characters of a name that every provider takes.
const NAME_CHARS_MAX: usize = 64;

/// Returns arguments as they are kept: an object as it is, and anything else as the text that the model wrote.
pub(crate) fn input_json(arguments: &ToolCallArguments) -> String {
    match arguments {
        ToolCallArguments::Object(value) => value.to_string(),
        ToolCallArguments::Malformed { text, .. } => Value::from(text.as_str()).to_string(),
    }
}

/// Reads arguments as they are kept.
pub(crate) fn parse_arguments(input_json: &str) -> ToolCallArguments {
    match serde_json::from_str(input_json) {
        Ok(Value::String(text)) => ToolCallArguments::parse(&text),
        _ => ToolCallArguments::parse(input_json),
    }
}

/// Returns what the model is told of a call.
pub(crate) fn result_text(part: &MessagePart) -> String {
    let envelope = part.output_json.as_deref().map(serde_json::from_str::<Envelope>);
    match envelope {
        Some(Ok(envelope)) => envelope_text(&envelope, part.state),
        Some(Err(_)) => "[haft: the answer of this call is recorded and cannot be read]".to_owned(),
        None => "[haft: this call has no answer yet]".to_owned(),
    }
}

fn envelope_text(envelope: &Envelope, state: Option<PartState>) -> String {
    let mut text = envelope.text();
    if text.is_empty() && state == Some(PartState::OutputAvailable) {
        text.push_str("[haft: no output]");
    }
    if let Some(advice) = envelope.metadata().refusal.as_deref().and_then(sentence_for_agent) {
        text.push_str(&format!("\n\n[haft: {advice}]"));
    }
    if let Some(warning) = &envelope.metadata().retry_warning {
        text.push_str(&format!("\n\n[haft: {warning}]"));
    }
    text
}

/// Returns about how many tokens rows take, by their length.
pub(crate) fn estimate_tokens(entries: &[&TranscriptEntry]) -> u64 {
    entries.iter().map(|entry| count_chars(entry)).sum::<u64>() / CHARS_PER_TOKEN
}

/// Characters that are taken for a token.
pub(crate) const CHARS_PER_TOKEN: u64 = 4;

fn count_chars(entry: &TranscriptEntry) -> u64 {
    let of_part = |part: &MessagePart| match part.kind {
        PartKind::Text => part.text.as_deref().map_or(0, str::len),
        PartKind::Reasoning => 0,
        PartKind::Tool => part.input_json.as_deref().map_or(0, str::len) + result_text(part).len(),
    };
    let bytes: usize = entry.parts.iter().map(of_part).sum();
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
pub(crate) mod tests;
