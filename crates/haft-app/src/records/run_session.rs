//! The session of an agent that a run is, if it is one. `haft sessions` shows its messages.

use haft_agent::limits::SUBAGENT_DEPTH_MAX;
use haft_contract::RunId;
use haft_journal::{Journal, JournalError, RunRow, SessionId, SessionRow};

use crate::arguments::hint;
use crate::arguments::setting_args::SettingArgs;
use crate::plan_run;

/// The session that a run is, and those that it works for.
pub(super) struct RunSession {
    pub(super) session: SessionRow,
    /// The sessions above the session of a subagent, the nearest first.
    pub(super) ancestors: Vec<SessionId>,
}

/// Returns the session that a run is, if it is one.
pub(super) async fn find_run_session(
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
pub(crate) fn is_session_run(run: &RunId) -> bool {
    SessionId::parse(run.as_str()).is_ok()
}

impl RunSession {
    /// Returns the command that shows the messages.
    pub(super) fn show_command(&self, settings: &SettingArgs) -> String {
        hint::with_journal_options(&format!("haft sessions show {}", self.session.id), settings)
    }
}

/// Returns the words about resuming a run, if a command does that.
pub(super) fn resume_note(
    run: &RunRow,
    session: Option<&RunSession>,
    settings: &SettingArgs,
) -> Option<String> {
    let (what, command) = match session {
        Some(RunSession { session, ancestors }) => {
            // A person resumes the session at the top.
            let root = ancestors.last().unwrap_or(&session.id);
            ("session", format!("haft agent --resume {root}"))
        }
        None if run.front_end == plan_run::FRONT_END => ("plan", format!("haft resume {}", run.id)),
        None => return None,
    };
    let command = hint::with_journal_options(&command, settings);
    Some(format!("Then go on with the {what}:\n  {command}"))
}
