//! The texts about a subagent that has ended: the notice that its parent's model reads, its last words, and the calls of it
//! that may or may not have happened. Nothing is changed here.

use haft_contract::{BoxFuture, Effect, cut};
use haft_journal::{
    CallRow, CallStatus, MessagePart, MessageRole, SessionId, SessionRecord, SessionStatus,
};

use crate::background::SubagentEnd;
use crate::call_title::call_title;
use crate::error::AgentError;
use crate::limits::BACKGROUND_TEXT_CHARS_MAX;
use crate::session_context::{AgentHostShared, AgentSessionContext};
use crate::stored_session::{child_sessions, find_begun_call, load_entries};
use crate::transcript::TranscriptEntry;

/// What the model is told of an end, and the row that says it was told.
pub(crate) struct SubagentNotice {
    pub(crate) text: String,
    pub(crate) rows: Vec<SessionRecord>,
}

/// Returns what the model is told of the end of a subagent.
pub(crate) async fn subagent_notice(
    parent: &AgentSessionContext,
    end: &SubagentEnd,
) -> Result<SubagentNotice, AgentError> {
    let SubagentEnd { child, why } = end;
    let Some(mut row) = parent.host.parts.runtime.journal().session(child).await? else {
        return Ok(SubagentNotice {
            text: format!("background task {child} is gone"),
            rows: Vec::new(),
        });
    };
    let entries = load_entries(&parent.host, child).await?;
    let said = cut(&last_agent_text(&entries), BACKGROUND_TEXT_CHARS_MAX);
    let is_done = why.is_none() && row.status == SessionStatus::Completed;
    let doubts =
        if is_done { String::new() } else { describe_calls_in_doubt(&parent.host, child).await? };
    let name = format!("background task {child} ({})", row.agent);
    let text = match (why, row.status) {
        (Some(why), _) => format!("{name} failed: {why}. {doubts}{said}"),
        (None, SessionStatus::Completed) => format!("{name} is done: {said}"),
        (None, SessionStatus::Aborted) => {
            format!("{name} was stopped before it was done. {doubts}{said}")
        }
        (None, SessionStatus::Idle | SessionStatus::Running | SessionStatus::Failed) => {
            format!("{name} failed: it ended before it was done. {doubts}{said}")
        }
    };
    row.delivered = true;
    Ok(SubagentNotice { text: text.trim_end().to_owned(), rows: vec![SessionRecord::Session(row)] })
}

/// Returns the last thing that the agent of a chat said.
pub(crate) async fn load_last_agent_text(
    parent: &AgentSessionContext,
    chat: &SessionId,
) -> Result<String, AgentError> {
    Ok(last_agent_text(&load_entries(&parent.host, chat).await?))
}

fn last_agent_text(entries: &[TranscriptEntry]) -> String {
    let answers = entries.iter().rev().filter(|entry| entry.message.role == MessageRole::Assistant);
    answers.map(TranscriptEntry::text).find(|text| !text.is_empty()).unwrap_or_default()
}

/// Says which calls of a subagent, and of all that it had others do, may or may not have happened, in a sentence that another
/// one can follow.
pub(crate) async fn describe_calls_in_doubt(
    host: &AgentHostShared,
    chat: &SessionId,
) -> Result<String, AgentError> {
    let titles = titles_in_doubt(host, chat).await?;
    if titles.is_empty() {
        return Ok(String::new());
    }
    let titles = cut(&titles.join("; "), BACKGROUND_TEXT_CHARS_MAX);
    Ok(format!("It may or may not have done this, so look before you repeat it: {titles}. "))
}

/// Returns the calls in doubt of a chat and of all beneath it. The journal is asked and not the answers: one of a call that was
/// stopped midway has the code of what stopped it.
fn titles_in_doubt<'a>(
    host: &'a AgentHostShared,
    chat: &'a SessionId,
) -> BoxFuture<'a, Result<Vec<String>, AgentError>> {
    Box::pin(async move {
        let mut titles = Vec::new();
        let entries = load_entries(host, chat).await?;
        for part in entries.iter().flat_map(|entry| &entry.parts) {
            let Some(name) = part.tool_call_id.as_deref() else { continue };
            if find_begun_call(host, chat, name).await?.is_some_and(|call| is_in_doubt(&call)) {
                titles.extend(part_title(part));
            }
        }
        for child in child_sessions(host, chat).await? {
            titles.extend(titles_in_doubt(host, &child.id).await?);
        }
        Ok(titles)
    })
}

/// Returns whether nobody knows what became of a call that is not safe to repeat.
fn is_in_doubt(call: &CallRow) -> bool {
    let is_open = matches!(call.status, CallStatus::Intended | CallStatus::Unknown);
    is_open && call.effect == Effect::Once && call.verdict.is_none()
}

fn part_title(part: &MessagePart) -> Option<String> {
    let input = serde_json::from_str(part.input_json.as_deref()?).ok()?;
    Some(call_title(part.tool.as_deref()?, &input))
}
