//! Compaction of sessions that become too long for the model. The model reads a summary instead of the older messages. The
//! last turns stay as they are, and haft deletes nothing.

use std::sync::Arc;

use haft_contract::{cut, end_of};
use haft_journal::{MessageKind, MessageRole, PartKind, SessionDurability};
use haft_model::{ModelError, ModelMessage, ModelRequest, ModelUsage, ToolOffer};
use tokio_util::sync::CancellationToken;

use crate::definition::SUMMARY;
use crate::error::AgentError;
use crate::event::AgentEventKind;
use crate::limits::{
    CONTEXT_FULL_PERCENT, CONTEXT_KEPT_PERCENT, KEPT_TURNS, SUMMARISED_PERCENT,
    SUMMARISED_RESULT_CHARS_MAX, SUMMARY_BYTES_MAX,
};
use crate::session_log::{SessionLog, tokens_of, usage_of};
use crate::transcript::{CHARS_PER_TOKEN, TranscriptEntry, estimate_tokens, result_text};

/// The heading above a summary in the conversation.
const HEADING: &str =
    "[haft: the conversation before this is too long to be kept. This is a summary of it.]\n\n";

/// Returns whether the conversation nearly fills the model's context.
pub(crate) fn is_context_full(log: &SessionLog, system: &str, tools: &[ToolOffer]) -> bool {
    let context_tokens = log.context.host.parts.bounds.context_tokens;
    let entries = log.visible_entries();
    // The last count by the model covers all before it, with tools and system prompt. A summary since then makes it useless.
    let summary = entries.first().filter(|first| first.message.kind == MessageKind::Summary);
    let is_since =
        |entry: &&TranscriptEntry| summary.is_none_or(|it| entry.message.id > it.message.id);
    let last =
        entries.iter().rposition(|entry| recorded_input_tokens(entry) > 0 && is_since(entry));
    let tokens = match last {
        Some(place) => {
            let later = entries.get(place + 1..).unwrap_or_default();
            // The model counted before it wrote this answer and before the calls had results.
            let own = entries.get(place).map_or(0, |entry| estimate_tokens(&[entry]));
            let counted = entries.get(place).map_or(0, |entry| recorded_input_tokens(entry));
            counted.saturating_add(own).saturating_add(estimate_tokens(later))
        }
        None => {
            let tools: usize = tools
                .iter()
                .map(|tool| tool.parameters.to_string().len() + tool.description.len())
                .sum();
            let fixed = u64::try_from(system.len() + tools).unwrap_or(u64::MAX) / CHARS_PER_TOKEN;
            fixed.saturating_add(estimate_tokens(&entries))
        }
    };
    entries.len() > 1 && tokens > percent(context_tokens, CONTEXT_FULL_PERCENT)
}

/// Returns the tokens that the model read for an answer.
fn recorded_input_tokens(entry: &TranscriptEntry) -> u64 {
    if entry.message.role != MessageRole::Assistant {
        return 0;
    }
    let usage = usage_of(entry.message.tokens);
    usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write)
}

fn percent(tokens: u64, percent: u64) -> u64 {
    tokens.saturating_mul(percent) / 100
}

/// Summarises the older messages, unless the turn is stopped. Returns the tokens that this used.
pub(crate) async fn compact_session(
    log: &mut SessionLog,
    stop: &CancellationToken,
) -> Result<ModelUsage, AgentError> {
    let context = Arc::clone(&log.context);
    let context_tokens = context.host.parts.bounds.context_tokens;
    let (model_name, answer, covers_through) = {
        let entries = log.visible_entries();
        let kept = kept_entry_count(&entries, percent(context_tokens, CONTEXT_KEPT_PERCENT));
        let covered = entries.get(..entries.len().saturating_sub(kept)).unwrap_or_default();
        let Some(TranscriptEntry { message: last, .. }) = covered.last() else {
            return Ok(ModelUsage::default());
        };
        let agent = context.host.any_agent(SUMMARY)?;
        let (model_name, model) = match &agent.model {
            Some(name) => context.host.parts.models.model(Some(name))?,
            None => (context.model_name.clone(), Arc::clone(&context.model)),
        };
        let bytes = percent(context_tokens, SUMMARISED_PERCENT).saturating_mul(CHARS_PER_TOKEN);
        let mut bytes_max = usize::try_from(bytes).unwrap_or(usize::MAX);
        let answer = loop {
            let request = ModelRequest {
                system: Some(agent.prompt.clone()),
                messages: vec![ModelMessage::User(render_entries(covered, bytes_max).into())],
                cancellation: stop.child_token(),
                ..ModelRequest::default()
            };
            let notify = |retry| context.notify_observer(AgentEventKind::retry(&retry));
            let answered =
                async { model.respond(request).await?.collect_with_retries(notify).await };
            let answer = tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(ModelUsage::default()),
                answer = answered => answer,
            };
            match answer {
                Ok(answer) => break answer,
                Err(ModelError::Cancelled) if stop.is_cancelled() => {
                    return Ok(ModelUsage::default());
                }
                // While the model rejects the text as too long, haft halves it.
                Err(ModelError::ContextTooLong { .. }) if bytes_max > SUMMARISED_BYTES_MIN => {
                    bytes_max /= 2;
                }
                Err(err) => return Err(AgentError::Summary(err)),
            }
        };
        // If the last covered message is a summary, the new one covers the same messages.
        let end = last.covers_through.as_ref().filter(|_| last.kind == MessageKind::Summary);
        (model_name, answer, end.unwrap_or(&last.id).clone())
    };
    let summary = answer.text.trim();
    if summary.is_empty() {
        return Err(AgentError::EmptySummary);
    }
    let end = summary.floor_char_boundary(SUMMARY_BYTES_MAX);
    let text = format!("{HEADING}{}", summary.get(..end).unwrap_or_default());
    let mut message = log.new_message(MessageRole::User, MessageKind::Summary);
    message.covers_through = Some(covers_through.clone());
    message.tokens = tokens_of(answer.usage);
    message.agent = Some(SUMMARY.to_owned());
    message.model = Some(model_name);
    let id = message.id.clone();
    let entry = log.text_entry(message, text);
    log.add_usage(answer.usage);
    let session = log.row_record();
    log.append_message(entry, vec![session], SessionDurability::Ordered).await?;
    context.notify_observer(AgentEventKind::Compacted { message: id, covers_through });
    Ok(answer.usage)
}

/// The smallest text in bytes that haft tries to summarise when the model rejects longer ones.
const SUMMARISED_BYTES_MIN: usize = 4_096;

/// Returns how many of the last messages stay. These are the messages of the last turns, or of fewer turns if those do not
/// fit. If even one turn does not fit, the end of it stays. The first message that is not a summary never stays, because
/// compaction would otherwise gain nothing.
fn kept_entry_count(entries: &[&TranscriptEntry], tokens_max: u64) -> usize {
    let mut tokens = 0_u64;
    let is_summary = |entry: &&TranscriptEntry| entry.message.kind == MessageKind::Summary;
    let from = if entries.first().is_some_and(is_summary) { 2 } else { 1 };
    let after_first = entries.get(from..).unwrap_or_default();
    let fit = after_first.iter().rev().take_while(|entry| {
        tokens = tokens.saturating_add(estimate_tokens(&[entry]));
        tokens <= tokens_max
    });
    let fit = fit.count();
    let prompts = entries.iter().enumerate().filter(|(_, entry)| entry.is_prompt());
    let turns: Vec<usize> = prompts.map(|(place, _)| entries.len() - place).collect();
    let last = turns.iter().rev().take(KEPT_TURNS);
    last.copied().filter(|count| *count <= fit).max().unwrap_or(fit)
}

/// Returns the messages as one text for the summarising model. If the text is too long, its middle is left out: the
/// beginning holds the task, and the end holds the current state.
fn render_entries(entries: &[&TranscriptEntry], bytes_max: usize) -> String {
    let mut text = String::from("Summarise this conversation.\n");
    for entry in entries.iter().filter(|entry| !entry.is_failed_answer()) {
        let speaker = match (entry.message.role, entry.message.kind) {
            (MessageRole::Assistant, _) => "assistant",
            (MessageRole::User, MessageKind::Said) => "user",
            (MessageRole::User, MessageKind::Summary) => "summary of what was before",
            (MessageRole::User, MessageKind::Notice) => "haft",
        };
        text.push_str(&format!("\n## {speaker}\n"));
        for part in &entry.parts {
            match part.kind {
                PartKind::Text => {
                    text.push_str(&without_headings(part.text.as_deref().unwrap_or_default()));
                    text.push('\n');
                }
                PartKind::Reasoning => {}
                PartKind::Tool => {
                    let tool = part.tool.as_deref().unwrap_or_default();
                    let input = part.input_json.as_deref().unwrap_or_default();
                    let input = cut(input, SUMMARISED_RESULT_CHARS_MAX);
                    let result = cut(&result_text(part), SUMMARISED_RESULT_CHARS_MAX);
                    let (input, result) = (without_headings(&input), without_headings(&result));
                    text.push_str(&format!("[call of {tool} {input}]\n[result]\n{result}\n"));
                }
            }
        }
    }
    if text.len() <= bytes_max {
        return text;
    }
    let half = bytes_max / 2;
    let beginning = text.get(..text.floor_char_boundary(half)).unwrap_or_default();
    format!("{beginning}\n\n[the middle is left out]\n\n{}", end_of(&text, half))
}

/// Escapes lines that could pass for one of the headings that name the speaker.
fn without_headings(text: &str) -> String {
    let line = |line: &str| {
        let (before, word) = line.split_at(line.len() - line.trim_start().len());
        if word.starts_with('#') { format!("{before}\\{word}") } else { line.to_owned() }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
