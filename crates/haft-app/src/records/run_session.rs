//! The session of an agent that a run is, if it is one, and the sessions above it.

use haft::PLAN_FRONT_END;
use haft_agent::limits::SUBAGENT_DEPTH_MAX;
use haft_agent::{caller_run_of, plan_node_of};
use haft_contract::{AttemptAddress, RunId};
use haft_journal::{Journal, JournalError, RunRow, SessionId, SessionQuery, SessionRow};
use serde::Serialize;

/// The session that a run is, and those that it works for.
pub struct RunSession {
    /// The session.
    pub session: SessionRow,
    /// The sessions above the session of a subagent, the nearest first.
    pub ancestors: Vec<SessionId>,
    /// The run of the plan whose node the session at the top works for, if it does.
    pub plan: Option<RunId>,
}

/// The session that did the work of one attempt of an agent node.
#[derive(Debug, Serialize)]
pub struct NodeSession {
    /// The node, as calls name it.
    pub node: String,
    /// The iteration of the node, from 0.
    pub iteration: u32,
    /// The attempt of the iteration, from 1.
    pub attempt: u32,
    /// The session.
    pub session: SessionId,
    /// The agent.
    pub agent: String,
    /// The status of the session.
    pub status: &'static str,
}

/// Returns the sessions of the agent nodes of a run, in the order of the nodes.
///
/// # Errors
///
/// Fails if the journal does.
pub async fn find_node_sessions(
    journal: &dyn Journal,
    run: &RunRow,
) -> Result<Vec<NodeSession>, JournalError> {
    if run.front_end != PLAN_FRONT_END {
        return Ok(Vec::new());
    }
    let query = SessionQuery {
        parent: Some(SessionId::standing_for(&run.id)),
        with_opaque: true,
        ..SessionQuery::default()
    };
    let of_node = |row: SessionRow| {
        let AttemptAddress { run: _, node, iteration, attempt } = plan_node_of(&row)?;
        let (session, agent, status) = (row.id, row.agent, row.status.as_str());
        Some(NodeSession { node, iteration, attempt, session, agent, status })
    };
    let mut found: Vec<NodeSession> =
        journal.sessions(query).await?.into_iter().filter_map(of_node).collect();
    found.sort_by(|one, other| {
        let place = |it: &NodeSession| (it.node.clone(), it.iteration, it.attempt);
        place(one).cmp(&place(other))
    });
    Ok(found)
}

/// Returns the session that a run is, if it is one.
///
/// # Errors
///
/// Fails if the journal does.
pub async fn find_run_session(
    journal: &dyn Journal,
    run: &RunId,
) -> Result<Option<RunSession>, JournalError> {
    let Ok(id) = SessionId::parse(run.as_str()) else { return Ok(None) };
    let Some(session) = journal.session(&id).await? else { return Ok(None) };
    let mut above = Vec::new();
    let mut top = session.clone();
    for _ in 0..SUBAGENT_DEPTH_MAX {
        // The parent of a session that works for a call of another run is no session.
        let Some(id) = top.parent_id.clone().filter(|_| caller_run_of(&top).is_none()) else {
            break;
        };
        above.push(id.clone());
        let Some(parent) = journal.session(&id).await? else { break };
        top = parent;
    }
    let plan = plan_node_of(&top).map(|node| node.run);
    Ok(Some(RunSession { session, ancestors: above, plan }))
}

/// Returns whether a run is the session of an agent, as far as its name tells.
pub fn is_session_run(run: &RunId) -> bool {
    SessionId::parse(run.as_str()).is_ok()
}
