//! The session of an agent that a run is, for those runs that are one. What was said in it is shown by `haft sessions`.

use haft_agent::limits::SUBAGENT_DEPTH_MAX;
use haft_contract::RunId;
use haft_journal::{ChatId, ChatSession, Journal, JournalError, RunRow};

use crate::cli::SettingArgs;
use crate::{hint, plan_run};

/// The session that a run is, and those that it works for.
pub(super) struct OfRun {
    pub(super) session: ChatSession,
    /// Those that it works for, the nearest first, of the session of a subagent.
    pub(super) above: Vec<ChatId>,
}

/// Returns the session that a run is, if it is one.
pub(super) async fn find(
    journal: &dyn Journal,
    run: &RunId,
) -> Result<Option<OfRun>, JournalError> {
    let Ok(id) = ChatId::parse(run.as_str()) else { return Ok(None) };
    let Some(session) = journal.chat(&id).await? else { return Ok(None) };
    let mut above = Vec::new();
    let mut parent = session.parent_id.clone();
    for _ in 0..SUBAGENT_DEPTH_MAX {
        let Some(id) = parent else { break };
        parent = journal.chat(&id).await?.and_then(|session| session.parent_id);
        above.push(id);
    }
    Ok(Some(OfRun { session, above }))
}

/// Returns whether a run is the session of an agent, as far as its name tells.
pub(super) fn is_one(run: &RunId) -> bool {
    ChatId::parse(run.as_str()).is_ok()
}

impl OfRun {
    /// Returns the session that people go on with.
    fn top(&self) -> &ChatId {
        self.above.last().unwrap_or(&self.session.id)
    }

    /// Returns the command that shows what was said.
    pub(super) fn show(&self, settings: &SettingArgs) -> String {
        hint::in_same_journal(&format!("haft sessions show {}", self.session.id), settings)
    }
}

/// Returns what is said of going on with a run, where a command does that.
pub(super) fn going_on(
    run: &RunRow,
    session: Option<&OfRun>,
    settings: &SettingArgs,
) -> Option<String> {
    let (what, command) = match session {
        Some(session) => ("session", format!("haft agent --resume {}", session.top())),
        None if run.front_end == plan_run::FRONT_END => ("plan", format!("haft resume {}", run.id)),
        None => return None,
    };
    let command = hint::in_same_journal(&command, settings);
    Some(format!("Then go on with the {what}:\n  {command}"))
}
