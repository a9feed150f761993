//! Begins a chat, and opens one that was had before, by this process or by one that was killed, and puts right what that left: an answer that
//! is not whole, and subagents in the background that nobody runs any more. Whoever opens it may go on by another agent or
//! another model.

use std::collections::HashSet;
use std::sync::Arc;

use haft::Connection;
use haft_contract::Envelope;
use haft_journal::{
    MessageId, MessagePart, SessionDurability, SessionId, SessionMode, SessionRecord, SessionRow,
    SessionStatus,
};
use serde_json::Value;

use crate::abandon::{abandon_children, abandon_session};
use crate::background::SubagentEnd;
use crate::call_answer::stored_envelope;
use crate::definition::AgentDefinition;
use crate::error::AgentError;
use crate::restrictions::{self, AgentRestrictions};
use crate::session::AgentSession;
use crate::session_context::{AgentHostShared, AgentSessionContext};
use crate::session_log::SessionLog;
use crate::stored_session::{child_sessions, current_restrictions, find_row, stored_restrictions};

/// What is another one in a chat from when it is opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionChanges {
    /// The agent, which can be talked to. What the chat may is what that one may.
    pub agent: Option<String>,
    /// The model. It reads all that was said before.
    pub model: Option<String>,
}

/// Why a subagent in the background is not done whose process has ended.
const ENDED: &str = "haft ended before it was done";

/// What a chat is opened as.
struct SessionOpening {
    /// The row, as it is to be.
    row: SessionRow,
    agent: Arc<AgentDefinition>,
    restrictions: Vec<AgentRestrictions>,
    /// Whether another agent goes on with it, which may not do what the former one began.
    is_handed_over: bool,
}

/// Takes the run of a new chat and records the chat.
pub(crate) async fn begin_session(
    host: &Arc<AgentHostShared>,
    row: SessionRow,
    agent: Arc<AgentDefinition>,
    layers: &[AgentRestrictions],
) -> Result<AgentSession, AgentError> {
    let core = host.session_context(&row, agent, layers)?;
    core.run.take_lease().await?;
    // The session is on disk before its name is known, so it is found also if this process dies.
    let records = vec![SessionRecord::Session(row.clone())];
    core.run.record_session(records, SessionDurability::Durable).await?;
    Ok(AgentSession::from_row(core, row))
}

/// Opens a chat, by another agent or model from then on where the changes say so.
pub(crate) async fn open_session(
    host: &Arc<AgentHostShared>,
    id: &SessionId,
    changes: &SessionChanges,
) -> Result<AgentSession, AgentError> {
    let mut row = find_row(host, id).await?;
    if let Some(model) = &changes.model {
        (row.model, _) = host.parts.models.model(Some(model))?;
    }
    let Some(name) = changes.agent.as_ref().filter(|name| **name != row.agent) else {
        let agent = host.any_agent(&row.agent)?;
        let layers = current_restrictions(host, &row, &[])?;
        return open_prepared(
            host,
            SessionOpening { row, agent, restrictions: layers, is_handed_over: false },
        )
        .await;
    };
    // What a subagent's ancestors may not must hold for whoever goes on with its chat, or with a fork of it.
    if row.parent_id.is_some() || stored_restrictions(&row)?.len() > 1 {
        return Err(AgentError::SubagentSession(row.id));
    }
    let agent = host.primary_agent(name)?;
    let layers = vec![AgentRestrictions::from_agent(&agent)];
    row.agent.clone_from(&agent.name);
    row.permissions_json = restrictions::restrictions_json(&layers);
    open_prepared(host, SessionOpening { row, agent, restrictions: layers, is_handed_over: true })
        .await
}

/// Opens a chat beneath the one that had it begun, which may be held to less by now than then. It goes on by the model that it
/// would have if it were begun now.
pub(crate) async fn open_child_session(
    above: &AgentSessionContext,
    row: &SessionRow,
) -> Result<AgentSession, AgentError> {
    let host = &above.host;
    let mut row = find_row(host, &row.id).await?;
    let agent = host.any_agent(&row.agent)?;
    let model = agent.model.as_deref().unwrap_or(&above.model_name);
    (row.model, _) = host.parts.models.model(Some(model))?;
    let layers = current_restrictions(host, &row, &above.restrictions)?;
    open_prepared(host, SessionOpening { row, agent, restrictions: layers, is_handed_over: false })
        .await
}

async fn open_prepared(
    host: &Arc<AgentHostShared>,
    opening: SessionOpening,
) -> Result<AgentSession, AgentError> {
    let SessionOpening { row: wanted, agent, restrictions: layers, is_handed_over } = opening;
    let core = host.session_context(&wanted, agent, &layers)?;
    core.run.take_lease().await?;
    if is_handed_over {
        core.background.stop_and_wait().await;
    }
    // As it is now that nobody else can change it.
    let mut row = find_row(host, &wanted.id).await?;
    let mut is_changed = is_handed_over || row.model != wanted.model;
    row.model = wanted.model;
    row.agent = wanted.agent;
    if is_handed_over {
        row.permissions_json = wanted.permissions_json;
    }
    let mut ledger = SessionLog::load(&core, row).await?;
    ledger.finish_interrupted_answer().await?;
    adopt_outputs(&mut ledger).await?;
    adopt_calls(&core.connection, ledger.entries.iter().flat_map(|entry| &entry.parts)).await;
    report_ended_subagents(&ledger).await?;
    let mut status = ledger.row.status;
    if status == SessionStatus::Running {
        let is_task = ledger.row.parent_id.is_some();
        status = if is_task { SessionStatus::Failed } else { SessionStatus::Idle };
        is_changed = true;
    }
    if is_changed {
        ledger.set_status(status, SessionDurability::Durable).await?;
    }
    Ok(AgentSession::from_row(core, ledger.row))
}

/// Has the agent's calls read what was cut out of the outputs that the model reads the beginnings of.
async fn adopt_outputs(ledger: &mut SessionLog) -> Result<(), AgentError> {
    let read: HashSet<MessageId> =
        ledger.visible_entries().into_iter().map(|entry| entry.message.id.clone()).collect();
    let mut adopted = Vec::new();
    for entry in ledger.entries.iter_mut().filter(|entry| read.contains(&entry.message.id)) {
        for part in &mut entry.parts {
            if adopt_output(&ledger.context.connection, part).await {
                adopted.push(SessionRecord::Part(part.clone()));
            }
        }
    }
    if adopted.is_empty() {
        return Ok(());
    }
    ledger.record_rows(adopted, SessionDurability::Ordered).await
}

/// Takes over what was cut out of the output of a call, into the session that goes on with it. Returns whether the part has
/// changed by that.
pub(crate) async fn adopt_output(session: &Connection, part: &mut MessagePart) -> bool {
    let output = part.output_json.as_deref().filter(|output| output.contains("output_path"));
    let Some(Ok(mut envelope)) = output.map(serde_json::from_str::<Envelope>) else { return false };
    let session = session.clone();
    let adopted = tokio::task::spawn_blocking(move || {
        let (Envelope::Output { metadata, .. } | Envelope::Error { metadata, .. }) = &mut envelope;
        let before = metadata.output_path.clone();
        session.adopt_output(metadata);
        (metadata.output_path != before).then_some(envelope)
    });
    let Ok(Some(envelope)) = adopted.await else { return false };
    part.output_json = Some(stored_envelope(&envelope));
    true
}

/// Takes over what calls gave the agent, into the session that goes on with it: tools that were found, skills that were loaded,
/// the list of what is to be done.
pub(crate) async fn adopt_calls(session: &Connection, parts: impl Iterator<Item = &MessagePart>) {
    let call = |part: &MessagePart| {
        let tool = part.tool.clone().filter(|tool| session.is_adopted(tool))?;
        let input: Value = serde_json::from_str(part.input_json.as_deref()?).ok()?;
        let answer: Envelope = serde_json::from_str(part.output_json.as_deref()?).ok()?;
        Some((tool, input, answer))
    };
    let calls: Vec<_> = parts.filter_map(call).collect();
    if calls.is_empty() {
        return;
    }
    let session = session.clone();
    let adopting = move || {
        calls.iter().for_each(|(tool, input, answer)| session.adopt_call(tool, input, answer));
    };
    // What is not had after all is had by calling it once more, and the session says so then.
    let _ = tokio::task::spawn_blocking(adopting).await;
}

/// Has the ends of subagents in the background told that were not. Those that nobody runs have failed.
async fn report_ended_subagents(ledger: &SessionLog) -> Result<(), AgentError> {
    let core: &AgentSessionContext = &ledger.context;
    let rows = child_sessions(&core.host, &core.id).await?;
    // The oldest first.
    for row in rows.into_iter().rev() {
        let is_waited_for = row.mode == SessionMode::Foreground || row.delivered;
        if is_waited_for || core.background.contains(&row.id) {
            continue;
        }
        let is_over = match row.status {
            SessionStatus::Completed | SessionStatus::Failed | SessionStatus::Aborted => true,
            SessionStatus::Idle | SessionStatus::Running => false,
        };
        let child = row.id.clone();
        let abandoned = if is_over {
            abandon_children(&core.host, &child).await
        } else {
            abandon_session(&core.host, row.clone()).await
        };
        match abandoned {
            Ok(()) => {}
            // It goes on elsewhere, and what comes of it is told to whoever opens this chat then.
            Err(err) if err.is_open_elsewhere() => continue,
            // What went wrong may not the next time, and its calls have no answers yet.
            Err(err) if !err.is_permanent() => return Err(err),
            // It is over all the same, whatever its own came to.
            Err(_) if is_over => {}
            // One that cannot be put right, because its agent is gone, has failed for this chat.
            Err(_) => {
                let updated_at_ms = core.now_ms();
                let failed = SessionRow { status: SessionStatus::Failed, updated_at_ms, ..row };
                ledger
                    .record_rows(vec![SessionRecord::Session(failed)], SessionDurability::Ordered)
                    .await?;
            }
        }
        core.background.push_end(SubagentEnd { child, why: (!is_over).then(|| ENDED.to_owned()) });
    }
    Ok(())
}
