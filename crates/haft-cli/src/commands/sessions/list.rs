//! `haft sessions list`: lists the sessions of a workspace that were used last, and their state.

use std::cmp::Reverse;

use clap::Args;
use haft_journal::{Journal, RunQuery, SessionQuery, SessionRow, SessionStatus};
use serde_json::{Value, json};

use super::WorkspaceSessions;
use crate::arguments::latest::has_messages;
use crate::error::{CommandError, CommandStatus};
use crate::views::output;
use crate::views::session::limits::SESSIONS_LISTED_MAX;
use crate::views::session::on_one_line;
use crate::views::table::{table, terminal_width};
use haft_app::calendar::rfc3339;
use haft_app::owner;

/// Least columns of a terminal that shows all columns of the list.
const WIDE_COLUMNS_MIN: usize = 140;
/// Characters of a moment to the minute, `2026-01-31T09:05`.
const MINUTE_CHARS: usize = 16;

/// List the sessions of this workspace, the one that was used last first
///
/// A session without a message is not listed. READ and WRITTEN are the tokens that the model read and wrote, without those of
/// its subagents' sessions. STATUS is running while a process has a turn under way, and interrupted if that process is gone:
/// haft agent --resume continues the session. A terminal of less than 140 columns shows less of each.
#[derive(Args)]
pub(super) struct SessionsListArgs {
    /// Sessions of all workspaces
    #[arg(long)]
    all: bool,
    /// Sessions of subagents, too
    #[arg(long)]
    subagents: bool,
    /// Most sessions to list
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=i64::from(SESSIONS_LISTED_MAX)))]
    limit: u32,
}

pub(super) async fn run(
    args: &SessionsListArgs,
    kept: &WorkspaceSessions,
    is_json: bool,
) -> Result<CommandStatus, CommandError> {
    let sessions = match kept.journal.as_deref() {
        Some(journal) => latest_sessions(args, kept, journal).await?,
        None => Vec::new(),
    };
    if sessions.is_empty() && !is_json {
        output::print_note(if args.all {
            "there are no sessions yet"
        } else {
            "there are no sessions of this workspace yet"
        });
        return Ok(CommandStatus::Done);
    }
    let mut statuses = Vec::with_capacity(sessions.len());
    for session in &sessions {
        let status = match kept.journal.as_deref() {
            Some(journal) => status(journal, session).await?,
            None => session.status.as_str(),
        };
        statuses.push(status);
    }
    let listed = sessions.iter().zip(&statuses);
    if is_json {
        output::write_json(
            &listed.map(|(session, status)| fields(session, status)).collect::<Vec<_>>(),
        )?;
        return Ok(CommandStatus::Done);
    }
    let is_narrow = terminal_width().is_some_and(|columns| columns < WIDE_COLUMNS_MIN);
    let columns = SessionColumn::visible_columns(args.all, is_narrow);
    let headings: Vec<&str> = columns.iter().map(|column| column.heading()).collect();
    let cells = |(session, status): (&SessionRow, &&str)| -> Vec<String> {
        columns.iter().map(|column| column.cell(session, status, is_narrow)).collect()
    };
    output::write_data(&table(&headings, listed.map(cells)))?;
    Ok(CommandStatus::Done)
}

async fn latest_sessions(
    args: &SessionsListArgs,
    kept: &WorkspaceSessions,
    journal: &dyn Journal,
) -> Result<Vec<SessionRow>, CommandError> {
    let root = (!args.all).then(|| kept.root.clone());
    let query = SessionQuery { root, only_top: !args.subagents, ..SessionQuery::default() };
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let mut sessions: Vec<SessionRow> = Vec::new();
    let mut before = None;
    loop {
        let page =
            journal.sessions(SessionQuery { before: before.clone(), ..query.clone() }).await?;
        let Some(last) = page.last() else { return Ok(sessions) };
        before = Some(last.id.clone());
        sessions.extend(page.into_iter().filter(has_messages));
        // A person may have resumed an old session, so this reads all of them and keeps the latest.
        sessions.sort_by_key(|session| Reverse((session.updated_at_ms, session.id.clone())));
        sessions.truncate(limit);
    }
}

/// Returns the status of a session. A session whose process is dead is interrupted.
pub(super) async fn status(
    journal: &dyn Journal,
    session: &SessionRow,
) -> Result<&'static str, CommandError> {
    if session.status != SessionStatus::Running {
        return Ok(session.status.as_str());
    }
    let query = RunQuery { run: Some(session.id.run()), ..RunQuery::default() };
    let run = journal.runs(query).await?.into_iter().next();
    let lives = run.and_then(|run| run.holder).is_some_and(|holder| !owner::is_gone(&holder.owner));
    Ok(if lives { session.status.as_str() } else { "interrupted" })
}

/// Returns the columns of a session, with the status that it is listed with.
pub(super) fn fields(session: &SessionRow, status: &str) -> Value {
    let mut fields = json!(session);
    if let Some(kept) = fields.get_mut("status") {
        *kept = status.into();
    }
    fields
}

/// A column of the list.
#[derive(Clone, Copy)]
enum SessionColumn {
    Session,
    Changed,
    Status,
    Agent,
    Model,
    Steps,
    Read,
    Written,
    Root,
    Title,
}

impl SessionColumn {
    /// In their order.
    const ALL: [Self; 10] = [
        Self::Session,
        Self::Changed,
        Self::Status,
        Self::Agent,
        Self::Model,
        Self::Steps,
        Self::Read,
        Self::Written,
        Self::Root,
        Self::Title,
    ];

    /// Returns the shown columns. Only a list of all workspaces has the root.
    fn visible_columns(of_all: bool, is_narrow: bool) -> Vec<Self> {
        let is_shown = |column: &Self| match column {
            Self::Root => of_all,
            Self::Agent | Self::Model | Self::Steps | Self::Read | Self::Written => !is_narrow,
            Self::Session | Self::Changed | Self::Status | Self::Title => true,
        };
        Self::ALL.into_iter().filter(is_shown).collect()
    }

    fn heading(self) -> &'static str {
        match self {
            Self::Session => "SESSION",
            Self::Changed => "CHANGED",
            Self::Status => "STATUS",
            Self::Agent => "AGENT",
            Self::Model => "MODEL",
            Self::Steps => "STEPS",
            Self::Read => "READ",
            Self::Written => "WRITTEN",
            Self::Root => "ROOT",
            Self::Title => "TITLE",
        }
    }

    fn cell(self, session: &SessionRow, status: &str, is_narrow: bool) -> String {
        match self {
            Self::Session => session.id.to_string(),
            Self::Changed => {
                let moment = rfc3339(session.updated_at_ms);
                if is_narrow { moment.chars().take(MINUTE_CHARS).collect() } else { moment }
            }
            Self::Status => status.to_owned(),
            Self::Agent => on_one_line(&session.agent),
            Self::Model => on_one_line(&session.model),
            Self::Steps => session.steps.to_string(),
            Self::Read => tokens_read(session).to_string(),
            Self::Written => tokens_written(session).to_string(),
            Self::Root => output::escape_controls(&session.root),
            Self::Title => session.title.as_deref().map(on_one_line).unwrap_or_default(),
        }
    }
}

/// Returns the tokens that the model of a session read.
pub(super) fn tokens_read(session: &SessionRow) -> u64 {
    let tokens = session.tokens;
    tokens.input.saturating_add(tokens.cache_read).saturating_add(tokens.cache_write)
}

/// Returns the tokens that it wrote.
pub(super) fn tokens_written(session: &SessionRow) -> u64 {
    session.tokens.output.saturating_add(session.tokens.reasoning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::table::table_within;

    fn headings(of_all: bool, is_narrow: bool) -> Vec<&'static str> {
        SessionColumn::visible_columns(of_all, is_narrow)
            .into_iter()
            .map(SessionColumn::heading)
            .collect()
    }

    #[test]
    fn a_usual_terminal_is_shown_a_line_for_each_session() {
        let narrow = headings(false, true);
        assert_eq!(narrow, ["SESSION", "CHANGED", "STATUS", "TITLE"]);
        let id = format!("ses_{}", "0".repeat(26));
        let row = [&id, "2026-01-31T09:05", "interrupted", "Find the failing test and mend it"];
        let row = row.map(str::to_owned).to_vec();
        let lines = table_within(&narrow, vec![row], Some(80));
        let (_, line) = lines.split_once('\n').unwrap();
        assert_eq!(line, format!("{id}  2026-01-31T09:05  interrupted  Find the failing…"));
        assert_eq!(headings(false, false).len(), 9);
        assert_eq!(headings(true, true), ["SESSION", "CHANGED", "STATUS", "ROOT", "TITLE"]);
    }
}
