//! The facts about one run that `haft log` lists.

use std::path::{Path, PathBuf};

use haft::{CLIENT_SETTING, CallSelection, SnapshotHistory};
use haft_app::records::{Work, find_doubts, input_summary, is_holder_dead, short_id};
use haft_app::undo::count_changed_lines;
use haft_contract::RunId;
use haft_journal::{Journal, RunRow};
use haft_snapshot::{PathState, UnifiedDiff};
use serde::Serialize;
use serde_json::Value;

use crate::error::CommandError;
use crate::views::outcome::on_one_line;

/// Changed files of a run whose lines are counted.
const FILES_COUNTED_MAX: usize = 200;

/// Whether the changes of a run were undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UndoneState {
    /// Nothing was.
    No,
    /// Some of its calls.
    Partly,
    /// All of it.
    Whole,
}

/// One run of the list.
pub(super) struct LogEntry {
    pub(super) work: Work,
    pub(super) short: String,
    /// The name of the client of an MCP connection.
    client: Option<String>,
    /// The title of the session.
    pub(super) title: Option<String>,
    /// The first call, in words.
    pub(super) first_call: Option<String>,
    /// The changed files, relative to their root.
    pub(super) files: Vec<String>,
    /// The changed paths.
    paths: Vec<PathBuf>,
    /// The lines added and removed, unless the changes are not known.
    pub(super) lines: Option<(usize, usize)>,
    pub(super) in_doubt: usize,
    pub(super) undone: UndoneState,
}

/// A run in JSON.
#[derive(Serialize)]
pub(super) struct LogReport<'a> {
    run: &'a RunId,
    /// The beginning of the id by which commands know the run.
    id: &'a str,
    root: &'a str,
    front_end: &'a str,
    client: Option<&'a str>,
    agent: Option<&'a str>,
    title: Option<&'a str>,
    started_at_ms: u64,
    used_at_ms: u64,
    calls: u64,
    failed: u64,
    refused: u64,
    open: u64,
    in_doubt: usize,
    running: bool,
    files: &'a [String],
    lines_added: Option<usize>,
    lines_removed: Option<usize>,
    undone: bool,
}

impl LogEntry {
    /// Returns the facts about a run. `undone` says what later undos undid.
    pub(super) async fn find(
        work: Work,
        undone: &[String],
        journal: &dyn Journal,
        history: &SnapshotHistory,
    ) -> Result<Self, CommandError> {
        let mut in_doubt = 0;
        for run in &work.runs {
            in_doubt += find_doubts(journal, run).await?.len();
        }
        let first = work.first_call(journal).await?;
        let first_call =
            first.map(|call| on_one_line(&format!("{} {}", call.tool, input_summary(&call.input))));
        let (files, paths, lines) = changes(&work, history).await;
        Ok(Self {
            short: short_id(journal, &work.id).await?,
            client: work.runs.first().and_then(client_of),
            title: work.session.as_ref().and_then(|it| it.title.as_deref()).map(on_one_line),
            first_call,
            files,
            paths,
            lines,
            in_doubt,
            undone: undone_state(&work.id, undone),
            work,
        })
    }

    /// Returns who made the calls: an agent, a client, or the front end.
    pub(super) fn by(&self) -> String {
        match (&self.work.session, &self.client) {
            (Some(session), _) => on_one_line(&format!("agent {}", session.agent)),
            (None, Some(client)) => on_one_line(client),
            (None, None) => self.front_end().to_owned(),
        }
    }

    /// Returns every name that a person may know who made the calls by.
    pub(super) fn names(&self) -> Vec<&str> {
        let agent = self.work.session.as_ref().map(|session| session.agent.as_str());
        agent.into_iter().chain(self.client.as_deref()).chain([self.front_end()]).collect()
    }

    fn front_end(&self) -> &str {
        self.work.runs.first().map_or("agent", |run| run.front_end.as_str())
    }

    /// Returns whether a living process works in the run.
    pub(super) fn is_running(&self) -> bool {
        self.work.runs.iter().any(|run| run.holder.is_some() && !is_holder_dead(run))
    }

    /// Returns whether it changed one of these paths, or something below one.
    pub(super) fn changes_any_of(&self, paths: &[PathBuf]) -> bool {
        self.paths.iter().any(|changed| paths.iter().any(|path| changed.starts_with(path)))
    }
}

impl<'a> LogReport<'a> {
    pub(super) fn of(entry: &'a LogEntry) -> Self {
        let work = &entry.work;
        Self {
            run: &work.id,
            id: &entry.short,
            root: &work.root,
            front_end: entry.front_end(),
            client: entry.client.as_deref(),
            agent: work.session.as_ref().map(|session| session.agent.as_str()),
            title: entry.title.as_deref(),
            started_at_ms: work.started_at_ms,
            used_at_ms: work.used_at_ms,
            calls: work.count(|run| run.calls),
            failed: work.count(|run| run.failed),
            refused: work.count(|run| run.refused),
            open: work.count(|run| run.intended),
            in_doubt: entry.in_doubt,
            running: entry.is_running(),
            files: &entry.files,
            lines_added: entry.lines.map(|(added, _)| added),
            lines_removed: entry.lines.map(|(_, removed)| removed),
            undone: entry.undone != UndoneState::No,
        }
    }
}

/// Returns the name of the client that a run records.
fn client_of(run: &RunRow) -> Option<String> {
    let settings: Value = serde_json::from_str(&run.settings).ok()?;
    settings.get(CLIENT_SETTING)?.as_str().map(str::to_owned)
}

/// Returns whether undos undid a run, or some of its calls.
fn undone_state(run: &RunId, undone: &[String]) -> UndoneState {
    let of_run = |of: &&String| {
        let named = of.strip_prefix("after ").unwrap_or(of);
        named
            .strip_prefix(run.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match undone.iter().any(|of| of == run.as_str()) {
        true => UndoneState::Whole,
        false if undone.iter().any(|of| of_run(&of)) => UndoneState::Partly,
        false => UndoneState::No,
    }
}

/// Returns the files that a run changed, all changed paths, and the lines added and removed. The list stays useful without
/// them, so a failure leaves them out.
async fn changes(
    work: &Work,
    history: &SnapshotHistory,
) -> (Vec<String>, Vec<PathBuf>, Option<(usize, usize)>) {
    let (mut files, mut paths) = (Vec::new(), Vec::new());
    let Ok(roots) = history.changes(&CallSelection::Run(work.id.clone())).await else {
        return (files, paths, None);
    };
    let (mut added, mut removed) = (0, 0);
    for root in &roots {
        for change in root.changes() {
            paths.push(root.root().join(&change.path));
            let states = [&change.before, &change.after];
            let is_directory =
                |state: &&Option<PathState>| matches!(state, Some(PathState::Directory { .. }));
            if states.iter().any(is_directory) {
                continue;
            }
            if files.len() < FILES_COUNTED_MAX
                && let Ok(UnifiedDiff::Text(text)) = root.unified(&change)
            {
                let (more, fewer) = count_changed_lines(&text);
                (added, removed) = (added + more, removed + fewer);
            }
            files.push(name_of(&change.path));
        }
    }
    let lines = (!files.is_empty()).then_some((added, removed));
    (files, paths, lines)
}

fn name_of(path: &Path) -> String {
    on_one_line(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undo_of_a_call_is_one_of_a_part() {
        let run = RunId::parse("r1").unwrap();
        let check = |of: &str, expect: UndoneState| {
            assert_eq!(undone_state(&run, &[of.to_owned()]), expect, "{of}");
        };
        check("r1", UndoneState::Whole);
        check("r1/main/0/1/2", UndoneState::Partly);
        check("after r1/main/0/1/2", UndoneState::Partly);
        check("r12", UndoneState::No);
    }
}
