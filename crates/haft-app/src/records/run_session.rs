//! The session of an agent that a run is, if it is one, and the sessions above it.

use haft_agent::limits::SUBAGENT_DEPTH_MAX;
use haft_contract::RunId;
use haft_journal::{Journal, JournalError, SessionId, SessionRow};

/// The session that a run is, and those that it works for.
pub struct RunSession {
    /// The session.
    pub session: SessionRow,
    /// The sessions above the session of a subagent, the nearest first.
    pub ancestors: Vec<SessionId>,
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
    let mut parent = session.parent_id.clone();
    for _ in 0..SUBAGENT_DEPTH_MAX {
        let Some(id) = parent else { break };
        parent = journal.session(&id).await?.and_then(|session| session.parent_id);
        above.push(id);
    }
    Ok(Some(RunSession { session, ancestors: above }))
}

/// Returns whether a run is the session of an agent, as far as its name tells.
pub fn is_session_run(run: &RunId) -> bool {
    SessionId::parse(run.as_str()).is_ok()
}
