//! Puts right what a subagent in the background left whose process was killed. Nobody goes on with it, so its chat has to say
//! by itself what became of its calls: what was answered is answered, what was begun is in doubt, and nothing else was made. The
//! same holds for all that it had others do. Nothing is executed, and no model is asked.

use std::sync::Arc;

use haft_contract::BoxFuture;
use haft_journal::{
    MessagePart, PartState, SessionDurability, SessionId, SessionRecord, SessionRow, SessionStatus,
};

use crate::call_answer::{recorded_envelope, set_call_answer, unmade_envelope};
use crate::error::AgentError;
use crate::session_context::AgentHostShared;
use crate::session_log::SessionLog;
use crate::stored_session::{child_sessions, find_begun_call, stored_restrictions};

/// Ends a chat that nobody goes on with, and those that it began.
pub(crate) fn abandon_session(
    host: &Arc<AgentHostShared>,
    row: SessionRow,
) -> BoxFuture<'_, Result<(), AgentError>> {
    Box::pin(async move {
        let core = host.idle_session_context(
            &row,
            host.any_agent(&row.agent)?,
            &stored_restrictions(&row)?,
        )?;
        core.run.take_lease().await?;
        let mut ledger = SessionLog::load(&core, row).await?;
        ledger.finish_interrupted_answer().await?;
        answer_open_calls(&mut ledger).await?;
        abandon_children(host, &core.id).await?;
        ledger.set_status(SessionStatus::Failed, SessionDurability::Durable).await
    })
}

/// Ends those that a chat began and that nobody goes on with. Some may be beneath others that are over.
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

/// Answers the calls that have no answer, as the journal knows them.
pub(crate) async fn answer_open_calls(ledger: &mut SessionLog) -> Result<(), AgentError> {
    let core = Arc::clone(&ledger.context);
    let mut answered = Vec::new();
    let parts = ledger.entries.iter_mut().flat_map(|entry| &mut entry.parts);
    for part in parts.filter(|part| part.state == Some(PartState::InputAvailable)) {
        let id = part.tool_call_id.as_deref().unwrap_or_default();
        let known = find_begun_call(&core.host, &core.id, id).await?;
        let envelope = match known {
            Some(row) => recorded_envelope(&row, "haft ended while it ran"),
            None => unmade_envelope("haft ended before it was begun"),
        };
        set_call_answer(part, &envelope, core.now_ms());
        answered.push(SessionRecord::Part(MessagePart::clone(part)));
    }
    if answered.is_empty() {
        return Ok(());
    }
    ledger.record_rows(answered, SessionDurability::Ordered).await
}
