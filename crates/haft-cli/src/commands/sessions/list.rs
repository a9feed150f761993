//! `haft sessions list`: lists the sessions of a workspace that were used last, and their state.

use std::cmp::Reverse;

use clap::Args;
use haft_journal::{Journal, RunQuery, SessionQuery, SessionRow, SessionStatus};
use serde_json::{Value, json};

use super::WorkspaceSessions;
use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::views::outcome::on_one_line;
use crate::views::output;
use crate::views::table::{table, terminal_width};
use haft_app::calendar::rfc3339;
use haft_app::process_identity;
use haft_app::records::has_messages;

/// Least columns of a terminal that shows all columns of the list.
const WIDE_COLUMNS_MIN: usize = 140;
/// Characters of a moment to the minute, `2026-01-31T09:05`.
const MINUTE_CHARS: usize = 16;
/// Largest `--limit` of `haft sessions list`.
///
/// Limit (agents): the command line is refused.
pub(crate) const SESSIONS_LISTED_MAX: u32 = 1_000;

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
    cx: &CliContext,
) -> CommandResult {
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let mut sessions: Vec<SessionRow> = Vec::new();
    let mut statuses = Vec::new();
    if let Some(journal) = kept.journal.as_deref() {
        let root = (!args.all).then(|| kept.root.clone());
        let mut query = SessionQuery { root, only_top: !args.subagents, ..SessionQuery::default() };
        loop {
            let page = journal.sessions(query.clone()).await?;
            let Some(last) = page.last() else { break };
            query.before = Some(last.id.clone());
            sessions.extend(page.into_iter().filter(has_messages));
            // A person may have resumed an old session, so this reads all of them and keeps the latest.
            sessions.sort_by_key(|session| Reverse((session.updated_at_ms, session.id.clone())));
            sessions.truncate(limit);
        }
        for session in &sessions {
            statuses.push(status(journal, session).await?);
        }
    }
    if sessions.is_empty() && !cx.setting_args.json {
        output::print_note(if args.all {
            "there are no sessions yet"
        } else {
            "there are no sessions of this workspace yet"
        });
        return Ok(CommandStatus::Done);
    }
    let listed = || sessions.iter().zip(&statuses);
    let answer: Vec<Value> = listed().map(|(session, status)| fields(session, status)).collect();
    cx.print_answer(&answer, || {
        let is_narrow = terminal_width().is_some_and(|columns| columns < WIDE_COLUMNS_MIN);
        let columns = visible_columns(args.all, is_narrow);
        let headings: Vec<&str> = columns.iter().map(|(heading, _)| *heading).collect();
        let cells = |(session, status): (&SessionRow, &&str)| -> Vec<String> {
            columns.iter().map(|(_, cell)| cell(session, status)).collect()
        };
        table(&headings, listed().map(cells))
    })?;
    Ok(CommandStatus::Done)
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
    let lives = run
        .and_then(|run| run.holder)
        .is_some_and(|holder| !process_identity::is_gone(&holder.owner));
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

/// A column of the list: its heading, and its cell for a session and the status of the session.
type SessionColumn = (&'static str, fn(&SessionRow, &str) -> String);

/// Returns the shown columns. Only a list of all workspaces has the root.
fn visible_columns(of_all: bool, is_narrow: bool) -> Vec<SessionColumn> {
    let moment: SessionColumn = if is_narrow {
        ("CHANGED", |session, _| {
            rfc3339(session.updated_at_ms).chars().take(MINUTE_CHARS).collect()
        })
    } else {
        ("CHANGED", |session, _| rfc3339(session.updated_at_ms))
    };
    let first: [SessionColumn; 3] = [
        ("SESSION", |session, _| session.id.to_string()),
        moment,
        ("STATUS", |_, status| status.to_owned()),
    ];
    let wide: [SessionColumn; 5] = [
        ("AGENT", |session, _| on_one_line(&session.agent)),
        ("MODEL", |session, _| on_one_line(&session.model)),
        ("STEPS", |session, _| session.steps.to_string()),
        ("READ", |session, _| tokens_read(session).to_string()),
        ("WRITTEN", |session, _| tokens_written(session).to_string()),
    ];
    let root: SessionColumn = ("ROOT", |session, _| haft_contract::escape_controls(&session.root));
    let title: SessionColumn =
        ("TITLE", |session, _| session.title.as_deref().map(on_one_line).unwrap_or_default());
    let mut columns = Vec::from(first);
    columns.extend(wide.into_iter().filter(|_| !is_narrow));
    columns.extend(of_all.then_some(root));
    columns.push(title);
    columns
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
        visible_columns(of_all, is_narrow).into_iter().map(|(heading, _)| heading).collect()
    }

    #[test]
    fn a_usual_terminal_is_shown_a_line_for_each_session() {
        let narrow = headings(false, true);
        assert_eq!(narrow, ["SESSION", "CHANGED", "STATUS", "TITLE"]);
        let id = format!("ses_{}", "0".repeat(26));
        let row = [&id, "2026-01-31T09:05", "interrupted", "Find the failing test and mend it"];
        let row = row.map(str::to_owned).to_vec();
        let lines = table_within(&narrow, &[], vec![row], Some(80));
        let (_, line) = lines.split_once('\n').unwrap();
        assert_eq!(line, format!("{id}  2026-01-31T09:05  interrupted  Find the failing…"));
        assert_eq!(headings(false, false).len(), 9);
        assert_eq!(headings(true, true), ["SESSION", "CHANGED", "STATUS", "ROOT", "TITLE"]);
    }
}
