//! `last`: the session, or the run, that was used last in a workspace, for everybody who does not want to copy a name. Which one
//! was used last is found out anew each time, so whoever changes something says first which one that is.

use std::cmp::Reverse;

use haft_agent::limits::SUBAGENT_DEPTH_MAX;
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
    LatestSession(UsedSession),
    /// As the last one, which is none.
    LatestRun(RunRow),
}

/// A session that people go on with.
pub(crate) struct UsedSession {
    session: ChatSession,
    /// When anything was recorded last of it, or of a session of a subagent below it.
    used_ms: u64,
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
        let latest = latest_session(journal, root, has_words).await?;
        return latest.map(|latest| latest.session.id).ok_or_else(no_session);
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

/// Returns whether a session did anything that can be looked at or taken back: one that only shares the beginning of another
/// has that one's title and none of its calls.
fn has_work(session: &ChatSession) -> bool {
    has_words(session) && (session.forked_from_id.is_none() || session.steps > 0)
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

/// Returns the session of people that was used last in a workspace, of those that are meant. Who goes on with the session of a
/// subagent uses the one that had it work.
async fn latest_session(
    journal: &dyn Journal,
    root: &str,
    is_meant: fn(&ChatSession) -> bool,
) -> Result<Option<UsedSession>, JournalError> {
    let root = Some(root.to_owned());
    let mut query = ChatQuery { root, with_opaque: true, ..ChatQuery::default() };
    let mut latest: Option<ChatSession> = None;
    // An old session may have been gone on with, so all of them are looked at.
    loop {
        let page = journal.chats(query.clone()).await?;
        let Some(oldest) = page.last() else { break };
        query.before = Some(oldest.id.clone());
        // One that nobody began and nobody sees is a fork that is not finished.
        let is_seen = |session: &ChatSession| session.inspectable || session.parent_id.is_some();
        let meant = page.into_iter().filter(|session| is_seen(session) && is_meant(session));
        latest = latest
            .into_iter()
            .chain(meant)
            .max_by_key(|session| (session.updated_at_ms, session.id.clone()));
    }
    let Some(latest) = latest else { return Ok(None) };
    let used_ms = latest.updated_at_ms;
    Ok(Some(UsedSession { session: top(journal, latest).await?, used_ms }))
}

/// Returns the session that a session works for in the end, which may be itself.
async fn top(journal: &dyn Journal, session: ChatSession) -> Result<ChatSession, JournalError> {
    let mut top = session;
    for _ in 0..SUBAGENT_DEPTH_MAX {
        let Some(parent) = &top.parent_id else { break };
        let Some(above) = journal.chat(parent).await? else { break };
        top = above;
    }
    Ok(top)
}

/// Returns what was used last in a workspace. What subagents did belongs to the session that had them work.
async fn latest_run(journal: &dyn Journal, root: &str) -> Result<Option<NamedRun>, JournalError> {
    let session = latest_session(journal, root, has_work).await?;
    let run = latest_other_run(journal, root).await?;
    Ok(match (session, run) {
        (Some(session), Some(run)) if used_ms(&run) > session.used_ms => {
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
    let mut runs: Vec<RunRow> = Vec::new();
    // A run that was begun before all others may have been used after them, so all of them are looked at.
    loop {
        let page = journal.runs(query.clone()).await?;
        let Some(oldest) = page.last() else { break };
        query.before = Some(oldest.id.clone());
        // What haft looks up for a session is nobody's work.
        let is_meant = |run: &RunRow| run.root == root && run.front_end != FRONT_END;
        runs.extend(page.into_iter().filter(is_meant));
    }
    runs.sort_by_key(|run| Reverse(used_ms(run)));
    for run in runs {
        if !is_undo(journal, &run).await? {
            return Ok(Some(run));
        }
    }
    Ok(None)
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
            Self::LatestSession(latest) => latest.session.id.run(),
            Self::LatestRun(run) => run.id.clone(),
        }
    }

    /// Says which one it is, unless somebody named it.
    pub(crate) fn told(&self) -> Option<String> {
        match self {
            Self::Exactly(_) => None,
            Self::LatestSession(UsedSession { session, used_ms }) => {
                let title = session.title.as_deref().map(on_one_line);
                let title = title.map(|title| format!(": {title}")).unwrap_or_default();
                let (begun, used) = (rfc3339(session.created_at_ms), rfc3339(*used_ms));
                let id = &session.id;
                Some(format!("last is session {id}, begun at {begun} and used at {used}{title}"))
            }
            Self::LatestRun(run) => {
                let (begun, used) = (rfc3339(run.started_at_ms), rfc3339(used_ms(run)));
                let (id, by) = (&run.id, &run.front_end);
                Some(format!("last is run {id}, begun by {by} at {begun} and used at {used}"))
            }
        }
    }
}

#[cfg(test)]
mod tests;
