//! The lines of `haft runs tail` on a terminal: the time, the short name of the call, what it does and how it ended.

use std::collections::HashMap;
use std::sync::Arc;

use clap::builder::styling::{AnsiColor, Style};
use haft::{CallSelection, SnapshotHistory};
use haft_app::calendar::rfc3339;
use haft_app::records::{input_summary, numbers_of_calls, short_id};
use haft_app::undo::count_changed_lines;
use haft_contract::{CallAddress, Effect, RunId, cut};
use haft_journal::{CallRow, CallStatus, Journal, SessionId};
use haft_snapshot::{PathState, UnifiedDiff};

use super::super::text;
use crate::error::CommandError;
use crate::views::outcome::{line_of_result, on_one_line};
use crate::views::output;
use crate::views::table::terminal_width;

const DIM: Style = Style::new().dimmed();
const CALL: Style = AnsiColor::Yellow.on_default();
const AGENT: Style = AnsiColor::Cyan.on_default();
const CHANGED: Style = AnsiColor::Green.on_default();
/// Characters of `2026-01-31T` before the time in a moment.
const DATE_CHARS: usize = 11;
/// Characters of a time to the second.
const TIME_CHARS: usize = 8;
/// Changed files that a line names.
const FILES_SHOWN_MAX: usize = 4;
/// Fewest characters of a call that a line shows.
const TITLE_CHARS_MIN: usize = 20;
/// Fewest characters of the changed files that a line shows.
const CHANGED_CHARS_MIN: usize = 8;
/// Characters between two parts of a line.
const GAP: &str = "  ";

/// The names of runs and calls that were shown so far.
pub(super) struct TailView {
    journal: Arc<dyn Journal>,
    history: SnapshotHistory,
    /// The short name of each run.
    names: HashMap<RunId, String>,
    /// The number of each call in its run.
    numbers: HashMap<CallAddress, usize>,
    /// The agent of a run that is a session.
    agents: HashMap<RunId, Option<String>>,
}

impl TailView {
    pub(super) fn new(journal: Arc<dyn Journal>, history: SnapshotHistory) -> Self {
        let (names, numbers, agents) = Default::default();
        Self { journal, history, names, numbers, agents }
    }

    /// Returns the line of a call, in colours if standard output shows them.
    pub(super) async fn line(&mut self, call: &CallRow) -> Result<String, CommandError> {
        let has_colours = output::stdout_has_colours();
        let width = terminal_width().unwrap_or(usize::MAX);
        let name = self.name(call).await?;
        let agent = self.agent(&call.scope.run).await?.unwrap_or_default();
        let moment = rfc3339(call.finished_at_ms.unwrap_or(call.started_at_ms));
        let time: String = moment.chars().skip(DATE_CHARS).take(TIME_CHARS).collect();
        let before = [(DIM, time), (CALL, name), (AGENT, agent)];
        let before: Vec<(Style, String)> =
            before.into_iter().filter(|(_, text)| !text.is_empty()).collect();
        let used: usize = before.iter().map(|(_, text)| text.chars().count() + GAP.len()).sum();
        let room = width.saturating_sub(used);
        let title = on_one_line(&format!("{} {}", call.tool, input_summary(&call.input)));
        let title = cut(&title, (room / 2).max(TITLE_CHARS_MIN));
        let result = match call.parsed_envelope() {
            Ok(Some(envelope)) => line_of_result(&title, &call.tool, &envelope),
            Ok(None) | Err(_) => format!("{title}{DIM} · {}{DIM:#}", text::status(call)),
        };
        let plain = anstream::adapter::strip_str(&result).to_string();
        let left = room.saturating_sub(plain.chars().count());
        let result = match (plain.chars().count() > room, has_colours) {
            (true, _) => cut(&plain, room.saturating_sub(1)),
            (false, true) => result,
            (false, false) => plain,
        };
        let changed = self.changed_files(call).await.unwrap_or_default();
        let changed = if changed.chars().count() + GAP.len() > left {
            cut(&changed, left.saturating_sub(GAP.len() + 1))
        } else {
            changed
        };
        let mut line: String = before
            .iter()
            .map(|(style, text)| format!("{}{GAP}", output::painted(*style, text, has_colours)))
            .collect();
        line.push_str(&result);
        // A name of a few letters says nothing.
        if changed.chars().count() >= CHANGED_CHARS_MIN {
            line.push_str(&format!("{GAP}{}", output::painted(CHANGED, &changed, has_colours)));
        }
        Ok(line)
    }

    /// Returns the short name of a call.
    async fn name(&mut self, call: &CallRow) -> Result<String, CommandError> {
        let (id, run) = (call.id(), &call.scope.run);
        if !self.numbers.contains_key(&id) {
            self.numbers.extend(numbers_of_calls(&*self.journal, run).await?);
            self.names.insert(run.clone(), short_id(&*self.journal, run).await?);
        }
        let number = self.numbers.get(&id).copied().unwrap_or_default();
        let name = self.names.get(run).map_or(run.as_str(), String::as_str);
        Ok(format!("{name}/{number}"))
    }

    /// Returns the agent that works in a run, if it is a session.
    async fn agent(&mut self, run: &RunId) -> Result<Option<String>, CommandError> {
        if let Some(known) = self.agents.get(run) {
            return Ok(known.clone());
        }
        let session = match SessionId::parse(run.as_str()) {
            Ok(id) => self.journal.session(&id).await?,
            Err(_) => None,
        };
        let agent = session.map(|session| on_one_line(&session.agent));
        self.agents.insert(run.clone(), agent.clone());
        Ok(agent)
    }

    /// Returns the files that a call changed, with the lines added and removed. A failure leaves them out.
    async fn changed_files(&self, call: &CallRow) -> Option<String> {
        let has_ended = [CallStatus::Succeeded, CallStatus::Failed].contains(&call.status);
        if !has_ended || call.effect == Effect::Read {
            return None;
        }
        let roots = self.history.changes(&CallSelection::Call(call.id())).await.ok()?;
        let (mut files, mut added, mut removed) = (Vec::new(), 0, 0);
        for root in &roots {
            for change in root.changes() {
                let states = [&change.before, &change.after];
                let is_directory =
                    |state: &&Option<PathState>| matches!(state, Some(PathState::Directory { .. }));
                if states.iter().any(is_directory) {
                    continue;
                }
                if let Ok(UnifiedDiff::Text(text)) = root.unified(&change) {
                    let (more, fewer) = count_changed_lines(&text);
                    (added, removed) = (added + more, removed + fewer);
                }
                files.push(on_one_line(&change.path.to_string_lossy()));
            }
        }
        let more = files.len().checked_sub(FILES_SHOWN_MAX).filter(|more| *more > 0);
        let more = more.map(|more| format!(" and {more} more")).unwrap_or_default();
        files.truncate(FILES_SHOWN_MAX);
        let named = files.join(" ");
        (!files.is_empty()).then(|| format!("{named}{more} +{added} \u{2212}{removed}"))
    }
}
