//! The names of runs and sessions on the command line, in one place. A name is an id, the beginning of an id that no other
//! id shares, `last`, or `last~1` for the one before it. haft looks `last` up anew for each command. A command that changes
//! something therefore first prints the id that a name stands for.

use haft_contract::RunId;
use haft_journal::{Journal, RunQuery, SessionId};

use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandErrorKind};
use crate::views::outcome::on_one_line;
use haft_app::calendar::rfc3339;
use haft_app::compose;
use haft_app::host::AppHost;
use haft_app::records::{LatestWork, Work, WorkFilter};
use haft_app::settings::{self, EffectiveSettings};

/// Stands for the session or the run that was used last in a workspace.
pub(crate) const LAST: &str = "last";
/// Begins a name of work before the last: `last~1` is the one before it.
const BEFORE_LAST: &str = "last~";
/// Begins the ids that haft makes for runs.
const RUN_PREFIX: &str = "run_";
/// Most ids that the error about an ambiguous name lists.
const CANDIDATES_SHOWN_MAX: usize = 10;

/// A run that a command names.
pub(crate) struct RunArgument {
    run: RunId,
    /// The meaning of the name, unless it is an id.
    note: Option<String>,
}

impl RunArgument {
    /// Returns its id.
    pub(crate) fn id(&self) -> RunId {
        self.run.clone()
    }

    /// Returns a note that names the run, unless the person named it.
    pub(crate) fn latest_note(&self) -> Option<String> {
        self.note.clone()
    }
}

/// Returns the root of the workspace as journals have it.
pub(crate) fn workspace(settings: &EffectiveSettings) -> Result<String, CommandError> {
    Ok(compose::roots(settings)?.workspace().to_string_lossy().into_owned())
}

/// Returns the root of the workspace that a command is about, for those commands that need no other settings.
pub(crate) fn workspace_of(args: &SettingArgs, host: &AppHost) -> Result<String, CommandError> {
    workspace(&settings::resolve(&args.overrides(), host)?)
}

/// Checks that a text can name a run.
pub(crate) fn check_run_name(named: &str) -> Result<(), CommandError> {
    match place_before_last(named)? {
        Some(_) => Ok(()),
        None => RunId::parse(named).map(|_| ()).map_err(CommandError::usage),
    }
}

/// Returns whether a name is `last`, or counts back from it.
pub(crate) fn is_recent_name(named: &str) -> bool {
    matches!(place_before_last(named), Ok(Some(_)))
}

/// Returns the session of that name.
pub(crate) async fn find_session(
    named: &str,
    root: &str,
    journal: &dyn Journal,
) -> Result<SessionId, CommandError> {
    if let Some(place) = place_before_last(named)? {
        let filter =
            WorkFilter { root: Some(root), with_unused_forks: true, ..WorkFilter::default() };
        let mut latest = LatestWork::new(journal, filter);
        let mut left = place;
        while let Some(work) = latest.next().await? {
            match work.session {
                Some(session) if left == 0 => return Ok(session.id),
                Some(_) => left -= 1,
                None => {}
            }
        }
        return Err(no_session_error(named));
    }
    let err = match SessionId::parse(named) {
        Ok(session) => return Ok(session),
        Err(err) => err,
    };
    if RunId::parse(named).is_ok() {
        let mut ids = journal.runs_beginning_with(named).await?;
        let is_run = named.starts_with(RUN_PREFIX) || !ids.is_empty();
        ids.retain(|id| SessionId::parse(id.as_str()).is_ok());
        match ids.as_slice() {
            [] if is_run => {
                let message = format!("{named} is a run, and no session of an agent");
                return Err(CommandError::usage(message).hint(format!("haft show {named}")));
            }
            [] => {}
            [only] => return SessionId::parse(only.as_str()).map_err(CommandError::usage),
            many => return Err(ambiguous_error("session", named, many)),
        }
    }
    Err(CommandError::usage(err).hint("haft sessions list"))
}

/// Returns the run of that name. A run whose id really is `last` comes before the last run. The workspace is looked up only
/// if it matters. An id that the journal does not have is returned as it is.
pub(crate) async fn find_run(
    named: &str,
    journal: &dyn Journal,
    root: impl FnOnce() -> Result<String, CommandError>,
) -> Result<RunArgument, CommandError> {
    let place = place_before_last(named)?;
    if place.is_none() || named == LAST {
        let run = RunId::parse(named).map_err(CommandError::usage)?;
        if !journal.runs(RunQuery::of_run(run.clone())).await?.is_empty() {
            return Ok(RunArgument { run, note: None });
        }
    }
    let Some(place) = place else {
        let run = RunId::parse(named).map_err(CommandError::usage)?;
        let found = journal.runs_beginning_with(named).await?;
        return match found.as_slice() {
            [] => Ok(RunArgument { run, note: None }),
            [only] if *only == run => Ok(RunArgument { run, note: None }),
            [only] => {
                let note = Some(format!("{named} is run {only}"));
                Ok(RunArgument { run: only.clone(), note })
            }
            many => Err(ambiguous_error("run", named, many)),
        };
    };
    let work =
        work_before_last(journal, &root()?, place).await?.ok_or_else(|| no_run_error(named))?;
    Ok(RunArgument { note: Some(note_of(named, &work)), run: work.id })
}

/// Returns the work that was used so many places before the last in a workspace. An undo does not count: a second
/// `haft undo last` must not redo the work.
async fn work_before_last(
    journal: &dyn Journal,
    root: &str,
    mut place: usize,
) -> Result<Option<Work>, CommandError> {
    let filter = WorkFilter { root: Some(root), ..WorkFilter::default() };
    let mut latest = LatestWork::new(journal, filter);
    while let Some(work) = latest.next().await? {
        if work.undone(journal).await?.is_some() {
            continue;
        }
        if place == 0 {
            return Ok(Some(work));
        }
        place -= 1;
    }
    Ok(None)
}

/// Returns how many places before the last a name means: 0 for `last`. `None` for a name of another kind.
fn place_before_last(named: &str) -> Result<Option<usize>, CommandError> {
    if named == LAST {
        return Ok(Some(0));
    }
    let Some(number) = named.strip_prefix(BEFORE_LAST) else { return Ok(None) };
    let place = number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok());
    match place.flatten() {
        Some(place) => Ok(Some(place)),
        None => Err(CommandError::usage(format!(
            "{named:?} is not valid: expected {BEFORE_LAST} and a number, such as {BEFORE_LAST}1"
        ))
        .hint("haft log")),
    }
}

fn note_of(named: &str, work: &Work) -> String {
    let used = rfc3339(work.used_at_ms);
    match &work.session {
        Some(session) => {
            let title = session.title.as_deref().map(on_one_line);
            let title = title.map(|title| format!(": {title}")).unwrap_or_default();
            let begun = rfc3339(session.created_at_ms);
            let id = &session.id;
            format!("{named} is session {id}, begun at {begun} and used at {used}{title}")
        }
        None => {
            let by = work.runs.first().map_or("haft", |run| run.front_end.as_str());
            let (id, begun) = (&work.id, rfc3339(work.started_at_ms));
            format!("{named} is run {id}, begun by {by} at {begun} and used at {used}")
        }
    }
}

fn ambiguous_error(what: &str, named: &str, candidates: &[RunId]) -> CommandError {
    let shown = candidates.iter().take(CANDIDATES_SHOWN_MAX);
    let mut lines: Vec<String> = shown.map(|id| format!("  {id}")).collect();
    if let Some(more) = candidates.len().checked_sub(CANDIDATES_SHOWN_MAX).filter(|more| *more > 0)
    {
        lines.push(format!("  and {more} more"));
    }
    let count = candidates.len();
    let message = format!(
        "{what} {named:?} is ambiguous, because {count} ids begin so:\n{}",
        lines.join("\n")
    );
    CommandError::usage(message).hint("haft log")
}

/// Returns the error of a command about one of the latest sessions where there is none.
pub(crate) fn no_session_error(named: &str) -> CommandError {
    CommandError::usage(missing_text("session", named))
        .hint("haft agent 'What is this project about?'")
}

/// Returns the error of a command about an unknown run.
pub(crate) fn unknown_run_error(run: &str) -> CommandError {
    CommandError::usage(format!("no run is called {run:?}"))
        .kind(CommandErrorKind::UnknownRun)
        .hint("haft log")
}

/// Returns the error of a command about one of the latest runs where there is none.
fn no_run_error(named: &str) -> CommandError {
    CommandError::usage(missing_text("run", named))
        .kind(CommandErrorKind::UnknownRun)
        .hint("haft log")
}

fn missing_text(what: &str, named: &str) -> String {
    match named {
        LAST => format!("there is no {what} in this workspace yet"),
        _ => format!("there is no {what} {named} in this workspace: it has fewer"),
    }
}

/// Returns the error of a command about a named run where there is no journal.
pub(crate) fn no_journal_error(run: &str) -> CommandError {
    if is_recent_name(run) { no_run_error(run) } else { unknown_run_error(run) }
}

#[cfg(test)]
mod tests;
