//! `last`: the session, or the run, that was used last in a workspace, for everybody who does not want to copy a name. Which one
//! was used last is found out anew each time, so whoever changes something says first which one that is.

use std::cmp::Reverse;

use haft_contract::RunId;
use haft_journal::{
    CallQuery, ChatId, ChatQuery, ChatSession, Journal, JournalError, RunQuery, RunRow,
};

use crate::agent_run::on_one_line;
use crate::cli::SettingArgs;
use crate::command::undo::UNDO_TOOL;
use crate::compose;
use crate::compose::agent::FRONT_END;
use crate::error::{CommandError, Kind};
use crate::settings::{self, Settings};
use crate::state::State;
use crate::time::rfc3339;

/// What stands for the session, or the run, that was used last in a workspace.
pub(crate) const LAST: &str = "last";

/// A run that a command names.
pub(crate) enum NamedRun {
    /// By its own name.
    Exactly(RunId),
    /// As the last one, which is the session of an agent.
    LatestSession(ChatSession),
    /// As the last one, which is none.
    LatestRun(RunRow),
}

/// Returns the root of the workspace as journals have it.
pub(crate) fn workspace(settings: &Settings) -> Result<String, CommandError> {
    Ok(compose::roots(settings)?.workspace().to_string_lossy().into_owned())
}

/// Returns the session of that name.
pub(crate) async fn named_session(
    named: &str,
    root: &str,
    journal: &dyn Journal,
) -> Result<ChatId, CommandError> {
    if named == LAST {
        let latest = latest_session(journal, root).await?;
        return latest.map(|session| session.id).ok_or_else(no_session);
    }
    ChatId::parse(named).map_err(|err| match named.split_once('_') {
        Some(("run", _)) if RunId::parse(named).is_ok() => {
            let message = format!("{named} is a run, and no session of an agent");
            CommandError::usage(message).hint(format!("haft runs show {named}"))
        }
        _ => CommandError::usage(err).hint("haft sessions list"),
    })
}

/// Returns the run of that name, of a workspace that is asked for only if it matters. One that is really called `last` is
/// meant by that word.
pub(crate) async fn named_run(
    named: &str,
    journal: &dyn Journal,
    root: impl FnOnce() -> Result<String, CommandError>,
) -> Result<NamedRun, CommandError> {
    let run = RunId::parse(named).map_err(CommandError::usage)?;
    if named != LAST || is_there(journal, &run).await? {
        return Ok(NamedRun::Exactly(run));
    }
    latest_run(journal, &root()?).await?.ok_or_else(no_run)
}

/// Returns the root of the workspace that a command is about, for those commands that need no other settings.
pub(crate) fn workspace_of(args: &SettingArgs, state: &State) -> Result<String, CommandError> {
    workspace(&settings::resolve(args, state)?)
}

/// Returns whether something was said in a session: whoever began one and left it at that does not look for it.
pub(crate) fn has_words(session: &ChatSession) -> bool {
    session.title.is_some() || session.steps > 0
}

/// Returns the error of a command about the latest session where there is none.
pub(crate) fn no_session() -> CommandError {
    CommandError::usage("there is no session in this workspace yet")
        .hint("haft agent 'What is this project about?'")
}

/// Returns the error of a command about the latest run where there is none.
pub(crate) fn no_run() -> CommandError {
    CommandError::usage("there is no run in this workspace yet")
        .kind(Kind::UnknownRun)
        .hint("haft runs list")
}

/// Returns the session of people that was used last in a workspace. Of very many, one that was begun before all of one answer
/// of the journal counts as older than these.
async fn latest_session(
    journal: &dyn Journal,
    root: &str,
) -> Result<Option<ChatSession>, JournalError> {
    let root = Some(root.to_owned());
    let mut query = ChatQuery { root, only_top: true, ..ChatQuery::default() };
    loop {
        let page = journal.chats(query.clone()).await?;
        let Some(oldest) = page.last() else { return Ok(None) };
        query.before = Some(oldest.id.clone());
        let latest = page.into_iter().filter(has_words).max_by_key(|session| session.updated_at_ms);
        if latest.is_some() {
            return Ok(latest);
        }
    }
}

/// Returns what was used last in a workspace. What subagents did belongs to the session that had them work.
async fn latest_run(journal: &dyn Journal, root: &str) -> Result<Option<NamedRun>, JournalError> {
    let session = latest_session(journal, root).await?;
    let run = latest_other_run(journal, root).await?;
    Ok(match (session, run) {
        (Some(session), Some(run)) if used_ms(&run) > session.updated_at_ms => {
            Some(NamedRun::LatestRun(run))
        }
        (Some(session), _) => Some(NamedRun::LatestSession(session)),
        (None, run) => run.map(NamedRun::LatestRun),
    })
}

/// Returns the run that was used last in a workspace, of those that are no sessions of agents.
async fn latest_other_run(
    journal: &dyn Journal,
    root: &str,
) -> Result<Option<RunRow>, JournalError> {
    let mut query = RunQuery::default();
    loop {
        let page = journal.runs(query.clone()).await?;
        let Some(oldest) = page.last() else { return Ok(None) };
        query.before = Some(oldest.id.clone());
        // What haft looks up for a session is nobody's work.
        let is_meant = |run: &RunRow| run.root == root && run.front_end != FRONT_END;
        let mut runs: Vec<RunRow> = page.into_iter().filter(is_meant).collect();
        runs.sort_by_key(|run| Reverse(used_ms(run)));
        for run in runs {
            if !is_undo(journal, &run).await? {
                return Ok(Some(run));
            }
        }
    }
}

fn used_ms(run: &RunRow) -> u64 {
    run.last_call_at_ms.unwrap_or_default().max(run.started_at_ms)
}

/// Returns whether a run is an undo, which is no work of its own: to undo the last work twice is not to do it again.
async fn is_undo(journal: &dyn Journal, run: &RunRow) -> Result<bool, JournalError> {
    if run.calls != 1 {
        return Ok(false);
    }
    let calls = CallQuery { limit: 1, ..CallQuery::of_run(run.id.clone()) };
    Ok(journal.calls(calls).await?.first().is_some_and(|call| call.tool == UNDO_TOOL))
}

async fn is_there(journal: &dyn Journal, run: &RunId) -> Result<bool, JournalError> {
    let query = RunQuery { run: Some(run.clone()), ..RunQuery::default() };
    Ok(!journal.runs(query).await?.is_empty())
}

impl NamedRun {
    /// Returns its name.
    pub(crate) fn id(&self) -> RunId {
        match self {
            Self::Exactly(run) => run.clone(),
            Self::LatestSession(session) => session.id.run(),
            Self::LatestRun(run) => run.id.clone(),
        }
    }

    /// Says which one it is, unless somebody named it.
    pub(crate) fn told(&self) -> Option<String> {
        match self {
            Self::Exactly(_) => None,
            Self::LatestSession(session) => {
                let title = session.title.as_deref().map(on_one_line);
                let title = title.map(|title| format!(": {title}")).unwrap_or_default();
                let used = rfc3339(session.updated_at_ms);
                Some(format!("last is session {}, used at {used}{title}", session.id))
            }
            Self::LatestRun(run) => {
                let used = rfc3339(used_ms(run));
                Some(format!(
                    "last is run {}, begun by {} and used at {used}",
                    run.id, run.front_end
                ))
            }
        }
    }
}
