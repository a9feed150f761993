//! Texts about a subagent that has ended: the notice to its parent's model, its last text, and its calls in doubt. This
//! module changes nothing.

use haft_contract::{BoxFuture, Effect, cut};
use haft_journal::{CallStatus, MessageRole, SessionId, SessionRecord, SessionStatus};

use crate::background::SubagentEnd;
use crate::call_scope::call_scope;
use crate::call_title::call_title;
use crate::error::AgentError;
use crate::limits::BACKGROUND_TEXT_CHARS_MAX;
use crate::session_context::{AgentHostShared, AgentSessionContext};
use crate::stored_session::{child_sessions, find_begun_call, load_entries};
use crate::transcript::TranscriptEntry;

/// Returns the notice to the model about the end of a subagent, and the row that marks it as delivered.
pub(crate) async fn subagent_notice(
    parent: &AgentSessionContext,
    end: &SubagentEnd,
) -> Result<(String, Vec<SessionRecord>), AgentError> {
    let SubagentEnd { child, why } = end;
    let Some(mut row) = parent.host.parts.runtime.journal().session(child).await? else {
        return Ok((format!("background task {child} is gone"), Vec::new()));
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
    Ok((text.trim_end().to_owned(), vec![SessionRecord::Session(row)]))
}

/// Returns the last text of the agent of a session.
pub(crate) async fn load_last_agent_text(
    host: &AgentHostShared,
    session: &SessionId,
) -> Result<String, AgentError> {
    Ok(last_agent_text(&load_entries(host, session).await?))
}

fn last_agent_text(entries: &[TranscriptEntry]) -> String {
    let answers = entries.iter().rev().filter(|entry| entry.message.role == MessageRole::Assistant);
    answers.map(TranscriptEntry::text).find(|text| !text.is_empty()).unwrap_or_default()
}

/// Returns a sentence that lists the calls in doubt of a subagent and of all subagents below it, with a space at its end.
/// Returns an empty text if no call is in doubt.
pub(crate) async fn describe_calls_in_doubt(
    host: &AgentHostShared,
    session: &SessionId,
) -> Result<String, AgentError> {
    let titles = titles_in_doubt(host, session).await?;
    if titles.is_empty() {
        return Ok(String::new());
    }
    let titles = cut(&titles.join("; "), BACKGROUND_TEXT_CHARS_MAX);
    Ok(format!("It may or may not have done this, so look before you repeat it: {titles}. "))
}

/// Returns the titles of the calls in doubt of a session and of all sessions below it. The journal decides, not the answer: the
/// answer of a stopped call has the error code of the stop.
fn titles_in_doubt<'a>(
    host: &'a AgentHostShared,
    session: &'a SessionId,
) -> BoxFuture<'a, Result<Vec<String>, AgentError>> {
    Box::pin(async move {
        let mut titles = Vec::new();
        let Some(row) = host.parts.runtime.journal().session(session).await? else {
            return Ok(titles);
        };
        let scope = call_scope(&row);
        let entries = load_entries(host, session).await?;
        for part in entries.iter().flat_map(|entry| &entry.parts) {
            let Some(name) = part.tool_call_id.as_deref() else { continue };
            let Some(call) = find_begun_call(host, &scope, name).await? else { continue };
            let is_open = matches!(call.status, CallStatus::Intended | CallStatus::Unknown);
            if is_open
                && call.effect == Effect::Once
                && call.verdict.is_none()
                && let Some(tool) = &part.tool
                && let Some(Ok(input)) = part.input_json.as_deref().map(serde_json::from_str)
            {
                titles.push(call_title(tool, &input));
            }
        }
        for child in child_sessions(host, session).await? {
            titles.extend(titles_in_doubt(host, &child.id).await?);
        }
        Ok(titles)
    })
}
