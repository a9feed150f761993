//! `last`: the session or the run that was used last in a workspace. haft looks it up anew for each command. A command that
//! changes something therefore first prints the name that `last` stands for.

use std::cmp::Reverse;

use haft_agent::caller_run_of;
use haft_agent::limits::SUBAGENT_DEPTH_MAX;
use haft_contract::RunId;
use haft_journal::{
    CallQuery, Journal, JournalError, RunQuery, RunRow, SessionId, SessionQuery, SessionRow,
};

use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandErrorKind};
use crate::views::outcome::on_one_line;
use haft_app::calendar::rfc3339;
use haft_app::compose;
use haft_app::compose::agent::FRONT_END;
use haft_app::host::AppHost;
use haft_app::records::UNDO_TOOL;
use haft_app::settings::{self, EffectiveSettings};

/// Stands for the session or the run that was used last in a workspace.
pub(crate) const LAST: &str = "last";

/// A run that a command names.
pub(crate) enum RunArgument {
    /// By its own name.
    ById(RunId),
    /// As the last one, which is the session of an agent.
    LatestSession(RecentSession),
    /// As the last one, which is not the session of an agent.
    LatestRun(RunRow),
}

/// A session that people go on with.
pub(crate) struct RecentSession {
    session: SessionRow,
    /// When anything was recorded last of it, or of a session of a subagent below it.
    used_ms: u64,
}

/// Returns the root of the workspace as journals have it.
pub(crate) fn workspace(settings: &EffectiveSettings) -> Result<String, CommandError> {
    Ok(compose::roots(settings)?.workspace().to_string_lossy().into_owned())
}

/// Returns the session of that name.
pub(crate) async fn find_session(
    named: &str,
    root: &str,
    journal: &dyn Journal,
) -> Result<SessionId, CommandError> {
    if named == LAST {
        let latest = latest_session(journal, root, has_messages).await?;
        return latest.map(|latest| latest.session.id).ok_or_else(no_session_error);
    }
    SessionId::parse(named).map_err(|err| match named.split_once('_') {
        Some(("run", _)) if RunId::parse(named).is_ok() => {
            let message = format!("{named} is a run, and no session of an agent");
            CommandError::usage(message).hint(format!("haft runs show {named}"))
        }
        _ => CommandError::usage(err).hint("haft sessions list"),
    })
}

/// Returns the run of that name. A run whose name really is `last` comes before the last run. The workspace is looked up
/// only if it matters.
pub(crate) async fn find_run(
    named: &str,
    journal: &dyn Journal,
    root: impl FnOnce() -> Result<String, CommandError>,
) -> Result<RunArgument, CommandError> {
    let run = RunId::parse(named).map_err(CommandError::usage)?;
    let query = RunQuery { run: Some(run.clone()), ..RunQuery::default() };
    if named != LAST || !journal.runs(query).await?.is_empty() {
        return Ok(RunArgument::ById(run));
    }
    let root = root()?;
    // A session has work only if it made steps itself. A fork copies the title of the session that it was forked from.
    let has_work = |session: &SessionRow| {
        has_messages(session) && (session.forked_from_id.is_none() || session.steps > 0)
    };
    let session = latest_session(journal, &root, has_work).await?;
    let mut query = RunQuery::default();
    let mut runs: Vec<RunRow> = Vec::new();
    // A run that was begun before all others may have been used after them, so all of them are looked at.
    loop {
        let page = journal.runs(query.clone()).await?;
        let Some(oldest) = page.last() else { break };
        query.before = Some(oldest.id.clone());
        // haft itself begins the runs of its agents' front end to look things up for a session.
        let is_meant = |run: &RunRow| run.root == root && run.front_end != FRONT_END;
        runs.extend(page.into_iter().filter(is_meant));
    }
    runs.sort_by_key(|run| Reverse(used_ms(run)));
    let mut latest_run = None;
    for run in runs {
        // An undo does not count: a second `haft undo last` must not redo the work.
        let calls = CallQuery { limit: 1, ..CallQuery::of_run(run.id.clone()) };
        let is_undo = run.calls == 1
            && journal.calls(calls).await?.first().is_some_and(|call| call.tool == UNDO_TOOL);
        if !is_undo {
            latest_run = Some(run);
            break;
        }
    }
    match (session, latest_run) {
        (Some(session), Some(run)) if used_ms(&run) > session.used_ms => {
            Ok(RunArgument::LatestRun(run))
        }
        (Some(session), _) => Ok(RunArgument::LatestSession(session)),
        (None, Some(run)) => Ok(RunArgument::LatestRun(run)),
        (None, None) => Err(no_run_error()),
    }
}

/// Returns the root of the workspace that a command is about, for those commands that need no other settings.
pub(crate) fn workspace_of(args: &SettingArgs, host: &AppHost) -> Result<String, CommandError> {
    workspace(&settings::resolve(&args.overrides(), host)?)
}

/// Returns whether a session has a message. A person who left a session empty does not look for it.
pub(crate) fn has_messages(session: &SessionRow) -> bool {
    session.title.is_some() || session.steps > 0
}

/// Returns the error of a command about the latest session where there is none.
pub(crate) fn no_session_error() -> CommandError {
    CommandError::usage("there is no session in this workspace yet")
        .hint("haft agent 'What is this project about?'")
}

/// Returns the error of a command about an unknown run.
pub(crate) fn unknown_run_error(run: &str) -> CommandError {
    CommandError::usage(format!("no run is called {run:?}"))
        .kind(CommandErrorKind::UnknownRun)
        .hint("haft runs list")
}

/// Returns the error of a command about the latest run where there is none.
pub(crate) fn no_run_error() -> CommandError {
    CommandError::usage("there is no run in this workspace yet")
        .kind(CommandErrorKind::UnknownRun)
        .hint("haft runs list")
}

/// Returns the latest session in a workspace that `is_meant` accepts. If that is the session of a subagent, returns the
/// session at its top.
async fn latest_session(
    journal: &dyn Journal,
    root: &str,
    is_meant: impl Fn(&SessionRow) -> bool,
) -> Result<Option<RecentSession>, JournalError> {
    let root = Some(root.to_owned());
    let mut query = SessionQuery { root, with_opaque: true, ..SessionQuery::default() };
    let mut latest: Option<(u64, SessionId, SessionRow)> = None;
    // A person may have resumed an old session, so this reads all of them.
    loop {
        let page = journal.sessions(query.clone()).await?;
        let Some(oldest) = page.last() else { break };
        query.before = Some(oldest.id.clone());
        // A session that has no parent and is not inspectable is an unfinished fork.
        let is_seen = |session: &SessionRow| session.inspectable || session.parent_id.is_some();
        for session in page.into_iter().filter(|session| is_seen(session) && is_meant(session)) {
            let (id, used_ms) = (session.id.clone(), session.updated_at_ms);
            if latest.as_ref().is_some_and(|(latest, known, _)| (*latest, known) >= (used_ms, &id))
            {
                continue;
            }
            let top = top_session(journal, session).await?;
            // A session that works for a call of another run is part of that run.
            if caller_run_of(&top).is_none() {
                latest = Some((used_ms, id, top));
            }
        }
    }
    Ok(latest.map(|(used_ms, _, session)| RecentSession { session, used_ms }))
}

/// Returns the session at the top of those above a session.
async fn top_session(
    journal: &dyn Journal,
    session: SessionRow,
) -> Result<SessionRow, JournalError> {
    let mut top = session;
    for _ in 0..SUBAGENT_DEPTH_MAX {
        let Some(parent) = &top.parent_id else { break };
        let Some(above) = journal.session(parent).await? else { break };
        top = above;
    }
    Ok(top)
}

fn used_ms(run: &RunRow) -> u64 {
    run.last_call_at_ms.unwrap_or_default().max(run.started_at_ms)
}

impl RunArgument {
    /// Returns its name.
    pub(crate) fn id(&self) -> RunId {
        match self {
            Self::ById(run) => run.clone(),
            Self::LatestSession(latest) => latest.session.id.run(),
            Self::LatestRun(run) => run.id.clone(),
        }
    }

    /// Returns a note that names the run, unless the person named it.
    pub(crate) fn latest_note(&self) -> Option<String> {
        match self {
            Self::ById(_) => None,
            Self::LatestSession(RecentSession { session, used_ms }) => {
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
