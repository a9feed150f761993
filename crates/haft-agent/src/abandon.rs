//! Ends subagents that no process resumes, because their process was killed. Their calls are answered from the journal: recorded
//! answers stay, calls that were begun are in doubt, and all others were not made. The same holds for all subagents below them.
//! This module makes no calls and asks no model.

use std::sync::Arc;

use haft_contract::{AttemptAddress, BoxFuture};
use haft_journal::{
    MessagePart, SessionDurability, SessionId, SessionRecord, SessionRow, SessionStatus,
};

use crate::call_answer::{recorded_envelope, set_call_answer, unmade_envelope};
use crate::error::AgentError;
use crate::session_context::AgentHostShared;
use crate::session_log::SessionLog;
use crate::stored_session::{child_sessions, find_begun_call, stored_restrictions};
use crate::transcript::is_open_call;

/// Ends a session that no process resumes, and all sessions below it.
pub(crate) fn abandon_session(
    host: &Arc<AgentHostShared>,
    row: SessionRow,
) -> BoxFuture<'_, Result<(), AgentError>> {
    Box::pin(async move {
        let (agent, restrictions) = (host.any_agent(&row.agent)?, stored_restrictions(&row)?);
        let context = host.idle_session_context(&row, agent, &restrictions)?;
        context.run.take_lease().await?;
        let mut log = SessionLog::load(&context, row).await?;
        log.finish_interrupted_answer().await?;
        answer_open_calls(&mut log).await?;
        abandon_children(host, &context.id).await?;
        log.set_status(SessionStatus::Failed, SessionDurability::Durable).await
    })
}

/// Ends the sessions below a session that no process resumes. A finished subagent may have unfinished ones below it.
pub(crate) fn abandon_children<'a>(
    host: &'a Arc<AgentHostShared>,
    parent: &'a SessionId,
) -> BoxFuture<'a, Result<(), AgentError>> {
    Box::pin(async move {
        for child in child_sessions(host, parent).await? {
            match child.status {
                SessionStatus::Completed | SessionStatus::Failed | SessionStatus::Aborted => {
                    abandon_children(host, &child.id).await?;
                }
                SessionStatus::Idle | SessionStatus::Running => {
                    abandon_session(host, child).await?
                }
            }
        }
        Ok(())
    })
}

/// Answers the open calls of a session from the journal, and records the answers.
pub(crate) async fn answer_open_calls(log: &mut SessionLog) -> Result<(), AgentError> {
    let context = Arc::clone(&log.context);
    let parts = log.entries.iter_mut().flat_map(|entry| &mut entry.parts);
    let reasons = ["haft ended while it ran", "haft ended before it was begun"];
    let answered = answer_calls(&context.host, &context.call_scope, parts, reasons).await?;
    if answered.is_empty() {
        return Ok(());
    }
    let records = answered.into_iter().map(SessionRecord::Part).collect();
    log.record_rows(records, SessionDurability::Ordered).await
}

/// Answers the open calls among `parts` from the journal, and returns their parts. `scope` is the attempt of the calls. The reasons are those for a call in doubt and
/// for a call that was not begun.
pub(crate) async fn answer_calls(
    host: &AgentHostShared,
    scope: &AttemptAddress,
    parts: impl Iterator<Item = &mut MessagePart>,
    [in_doubt, not_begun]: [&str; 2],
) -> Result<Vec<MessagePart>, AgentError> {
    let mut answered = Vec::new();
    for part in parts.filter(|part| is_open_call(part)) {
        let id = part.tool_call_id.as_deref().unwrap_or_default();
        let envelope = match find_begun_call(host, scope, id).await? {
            Some(row) => recorded_envelope(&row, in_doubt),
            None => unmade_envelope(not_begun),
        };
        set_call_answer(part, &envelope, host.now_ms());
        answered.push(part.clone());
    }
    Ok(answered)
}
