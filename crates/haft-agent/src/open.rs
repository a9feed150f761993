//! Begins and opens sessions. Opening repairs the traces of a killed process: incomplete answers and background subagents that no
//! process runs. A session can be opened with another agent or model.

use std::collections::HashSet;
use std::sync::Arc;

use haft::Connection;
use haft_contract::{AttemptAddress, Envelope};
use haft_journal::{
    MessageId, MessagePart, SessionDurability, SessionId, SessionMode, SessionRecord, SessionRow,
    SessionStatus,
};
use serde_json::Value;

use crate::abandon::{abandon_children, abandon_session};
use crate::background::SubagentEnd;
use crate::call_answer::stored_envelope;
use crate::call_scope::plan_node_of;
use crate::definition::AgentDefinition;
use crate::error::AgentError;
use crate::restrictions::{AgentRestrictions, restrictions_json};
use crate::session::AgentSession;
use crate::session_context::{AgentHostShared, AgentSessionContext};
use crate::session_log::SessionLog;
use crate::stored_session::{child_sessions, current_restrictions, find_row, stored_restrictions};

/// The changes to a session when it is opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionChanges {
    /// The agent, which a person must be able to talk to. Its restrictions replace the former ones.
    pub agent: Option<String>,
    /// The model. It reads all earlier messages.
    pub model: Option<String>,
}

/// The reason that a background subagent failed whose process ended.
const ENDED: &str = "haft ended before it was done";

/// The wanted state of a session that is opened.
struct SessionOpening {
    row: SessionRow,
    agent: Arc<AgentDefinition>,
    restrictions: Vec<AgentRestrictions>,
    /// Whether the agent changes. The new agent may have fewer permissions than the subagents of the former one.
    is_handed_over: bool,
}

/// Takes the lease of a new session and records its row.
pub(crate) async fn begin_session(
    host: &Arc<AgentHostShared>,
    row: SessionRow,
    agent: Arc<AgentDefinition>,
    restrictions: &[AgentRestrictions],
) -> Result<AgentSession, AgentError> {
    let context = host.session_context(&row, agent, restrictions)?;
    context.run.take_lease().await?;
    // The row is on disk before anything names the session, so a session that has a name can be found.
    let records = vec![SessionRecord::Session(row.clone())];
    context.run.record_session(records, SessionDurability::Durable).await?;
    Ok(AgentSession::from_row(context, row))
}

/// Opens a session with the given changes.
pub(crate) async fn open_session(
    host: &Arc<AgentHostShared>,
    id: &SessionId,
    changes: &SessionChanges,
) -> Result<AgentSession, AgentError> {
    let mut row = find_row(host, id).await?;
    if let Some(AttemptAddress { run, node, .. }) = plan_node_of(&row) {
        return Err(AgentError::PlanNodeSession { session: row.id, node, run });
    }
    if let Some(model) = &changes.model {
        (row.model, _) = host.parts.models.model(Some(model))?;
    }
    let opening = match changes.agent.as_ref().filter(|name| **name != row.agent) {
        None => {
            let agent = host.any_agent(&row.agent)?;
            let restrictions = current_restrictions(host, &row, &[])?;
            SessionOpening { row, agent, restrictions, is_handed_over: false }
        }
        Some(name) => {
            // The restrictions of a subagent's ancestors must hold for its session and for each fork of it.
            if row.parent_id.is_some() || stored_restrictions(&row)?.len() > 1 {
                return Err(AgentError::SubagentSession(row.id));
            }
            let agent = host.primary_agent(name)?;
            let restrictions = vec![AgentRestrictions::from_agent(&agent)];
            row.agent.clone_from(&agent.name);
            row.permissions_json = restrictions_json(&restrictions);
            SessionOpening { row, agent, restrictions, is_handed_over: true }
        }
    };
    open_prepared(host, opening).await
}

/// Opens the session of a subagent with its present restrictions below those of its parent, and with the model that a new
/// subagent would get.
pub(crate) async fn open_child_session(
    parent: &AgentSessionContext,
    row: &SessionRow,
) -> Result<AgentSession, AgentError> {
    let host = &parent.host;
    let mut row = find_row(host, &row.id).await?;
    let agent = host.any_agent(&row.agent)?;
    let model = agent.model.as_deref().unwrap_or(&parent.model_name);
    (row.model, _) = host.parts.models.model(Some(model))?;
    let restrictions = current_restrictions(host, &row, &parent.restrictions)?;
    open_prepared(host, SessionOpening { row, agent, restrictions, is_handed_over: false }).await
}

/// Opens the session of a plan's agent node, or of the task of a client, with the model that a new one would get. `agent` is its
/// agent as the node limits it.
pub(crate) async fn open_node_session(
    host: &Arc<AgentHostShared>,
    row: &SessionRow,
    agent: Arc<AgentDefinition>,
) -> Result<AgentSession, AgentError> {
    let mut row = find_row(host, &row.id).await?;
    (row.model, _) = host.parts.models.model(agent.model.as_deref())?;
    let restrictions = current_restrictions(host, &row, &[])?;
    open_prepared(host, SessionOpening { row, agent, restrictions, is_handed_over: false }).await
}

async fn open_prepared(
    host: &Arc<AgentHostShared>,
    opening: SessionOpening,
) -> Result<AgentSession, AgentError> {
    let SessionOpening { row: wanted, agent, restrictions, is_handed_over } = opening;
    let context = host.session_context(&wanted, agent, &restrictions)?;
    context.run.take_lease().await?;
    if is_handed_over {
        context.background.stop_and_wait().await;
    }
    // The row is read again, because before the lease another process could still change it.
    let mut row = find_row(host, &wanted.id).await?;
    let mut is_changed = is_handed_over || row.model != wanted.model;
    row.model = wanted.model;
    row.agent = wanted.agent;
    if is_handed_over {
        row.permissions_json = wanted.permissions_json;
    }
    let mut log = SessionLog::load(&context, row).await?;
    log.finish_interrupted_answer().await?;
    // The agent's calls can read the rest of each truncated output that the model reads.
    let visible: HashSet<MessageId> =
        log.visible_entries().into_iter().map(|entry| entry.message.id.clone()).collect();
    let mut adopted = Vec::new();
    for entry in log.entries.iter_mut().filter(|entry| visible.contains(&entry.message.id)) {
        for part in &mut entry.parts {
            if adopt_output(&context.connection, part).await {
                adopted.push(SessionRecord::Part(part.clone()));
            }
        }
    }
    if !adopted.is_empty() {
        log.record_rows(adopted, SessionDurability::Ordered).await?;
    }
    adopt_calls(&context.connection, log.entries.iter().flat_map(|entry| &entry.parts)).await;
    report_ended_subagents(&log).await?;
    let mut status = log.row.status;
    if status == SessionStatus::Running {
        let is_task = log.row.parent_id.is_some();
        status = if is_task { SessionStatus::Failed } else { SessionStatus::Idle };
        is_changed = true;
    }
    if is_changed {
        log.set_status(status, SessionDurability::Durable).await?;
    }
    Ok(AgentSession::from_row(context, log.row))
}

/// Makes the sidecar of a truncated output readable for the connection. Returns whether the part changed.
pub(crate) async fn adopt_output(connection: &Connection, part: &mut MessagePart) -> bool {
    let output = part.output_json.as_deref().filter(|output| output.contains("output_path"));
    let Some(Ok(mut envelope)) = output.map(serde_json::from_str::<Envelope>) else { return false };
    let connection = connection.clone();
    let adopted = tokio::task::spawn_blocking(move || {
        let (Envelope::Output { metadata, .. } | Envelope::Error { metadata, .. }) = &mut envelope;
        let before = metadata.output_path.clone();
        connection.adopt_output(metadata);
        (metadata.output_path != before).then_some(envelope)
    });
    let Ok(Some(envelope)) = adopted.await else { return false };
    part.output_json = Some(stored_envelope(&envelope));
    true
}

/// Restores the connection's state from recorded calls: found tools, loaded skills and the todo list.
pub(crate) async fn adopt_calls(
    connection: &Connection,
    parts: impl Iterator<Item = &MessagePart>,
) {
    let call = |part: &MessagePart| {
        let tool = part.tool.clone().filter(|tool| connection.is_adopted(tool))?;
        let input: Value = serde_json::from_str(part.input_json.as_deref()?).ok()?;
        let answer: Envelope = serde_json::from_str(part.output_json.as_deref()?).ok()?;
        Some((tool, input, answer))
    };
    let calls: Vec<_> = parts.filter_map(call).collect();
    if calls.is_empty() {
        return;
    }
    let connection = connection.clone();
    let adopting = move || {
        calls.iter().for_each(|(tool, input, answer)| connection.adopt_call(tool, input, answer));
    };
    // If this fails, the tools ask the model to make these calls again.
    let _ = tokio::task::spawn_blocking(adopting).await;
}

/// Reports ended background subagents that the model has no notice of. Subagents that no process runs have failed.
async fn report_ended_subagents(log: &SessionLog) -> Result<(), AgentError> {
    let context = &log.context;
    let rows = child_sessions(&context.host, &context.id).await?;
    // The oldest first.
    for row in rows.into_iter().rev() {
        let is_reported = row.mode == SessionMode::Foreground || row.delivered;
        if is_reported || context.background.contains(&row.id) {
            continue;
        }
        let is_over = match row.status {
            SessionStatus::Completed | SessionStatus::Failed | SessionStatus::Aborted => true,
            SessionStatus::Idle | SessionStatus::Running => false,
        };
        let child = row.id.clone();
        let abandoned = if is_over {
            abandon_children(&context.host, &child).await
        } else {
            abandon_session(&context.host, row.clone()).await
        };
        match abandoned {
            Ok(()) => {}
            // Another process runs it. The process that opens this session later reports its end.
            Err(err) if err.is_open_elsewhere() => continue,
            // The error may pass, and the calls have no answers yet.
            Err(err) if !err.is_permanent() => return Err(err),
            // Its own end is known, even if the sessions below it cannot be repaired.
            Err(_) if is_over => {}
            // It cannot be repaired, for example because its agent no longer exists.
            Err(_) => {
                let updated_at_ms = context.now_ms();
                let failed = SessionRow { status: SessionStatus::Failed, updated_at_ms, ..row };
                let records = vec![SessionRecord::Session(failed)];
                log.record_rows(records, SessionDurability::Ordered).await?;
            }
        }
        let why = (!is_over).then(|| ENDED.to_owned());
        context.background.push_end(SubagentEnd { child, why });
    }
    Ok(())
}
