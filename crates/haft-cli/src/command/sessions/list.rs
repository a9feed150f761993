//! `haft sessions list`: the latest sessions of a workspace and how they stand.

use clap::Args;
use haft_journal::{ChatQuery, ChatSession, ChatStatus, Journal, RunQuery};
use serde_json::{Value, json};

use super::Kept;
use crate::agent_run::limits::SESSIONS_LISTED_MAX;
use crate::agent_run::on_one_line;
use crate::command::agent::has_words;
use crate::error::{CommandError, Status};
use crate::table::table;
use crate::time::rfc3339;
use crate::{output, owner};

/// List the sessions of this workspace, the newest first
///
/// A session in which nothing was said yet is not listed. READ and WRITTEN are the tokens that the model read and wrote,
/// without those of subagents, which have sessions of their own.
/// STATUS is running while a process has a turn under way, and interrupted where that process is gone: haft agent --resume
/// goes on with it.
#[derive(Args)]
pub(super) struct ListArgs {
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
    args: &ListArgs,
    kept: &Kept,
    is_json: bool,
) -> Result<Status, CommandError> {
    let sessions = match kept.journal.as_deref() {
        Some(journal) => latest(args, kept, journal).await?,
        None => Vec::new(),
    };
    if sessions.is_empty() && !is_json {
        output::note(if args.all {
            "there are no sessions yet"
        } else {
            "there are no sessions of this workspace yet"
        });
        return Ok(Status::Done);
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
        output::json(&listed.map(|(session, status)| fields(session, status)).collect::<Vec<_>>())?;
        return Ok(Status::Done);
    }
    let rows: Vec<_> = listed.map(|(session, status)| row(args, session, status)).collect();
    let mut headings =
        vec!["SESSION", "CHANGED", "STATUS", "AGENT", "MODEL", "STEPS", "READ", "WRITTEN"];
    headings.extend(args.all.then_some("ROOT"));
    headings.push("TITLE");
    output::data(&table(&headings, rows.into_iter()))?;
    Ok(Status::Done)
}

async fn latest(
    args: &ListArgs,
    kept: &Kept,
    journal: &dyn Journal,
) -> Result<Vec<ChatSession>, CommandError> {
    let root = (!args.all).then(|| kept.root.clone());
    let query = ChatQuery { root, only_top: !args.subagents, ..ChatQuery::default() };
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let mut sessions: Vec<ChatSession> = Vec::new();
    let mut before = None;
    loop {
        let page = journal.chats(ChatQuery { before: before.clone(), ..query.clone() }).await?;
        let Some(last) = page.last() else { return Ok(sessions) };
        before = Some(last.id.clone());
        sessions.extend(page.into_iter().filter(has_words));
        if sessions.len() >= limit {
            sessions.truncate(limit);
            return Ok(sessions);
        }
    }
}

/// Returns how a session stands: one whose process is gone runs no more.
async fn status(
    journal: &dyn Journal,
    session: &ChatSession,
) -> Result<&'static str, CommandError> {
    if session.status != ChatStatus::Running {
        return Ok(session.status.as_str());
    }
    let query = RunQuery { run: Some(session.id.run()), ..RunQuery::default() };
    let run = journal.runs(query).await?.into_iter().next();
    let lives = run.and_then(|run| run.holder).is_some_and(|holder| !owner::is_gone(&holder.owner));
    Ok(if lives { session.status.as_str() } else { "interrupted" })
}

/// Returns the columns of a session, with the status that it is listed with.
fn fields(session: &ChatSession, status: &str) -> Value {
    let mut fields = json!(session);
    if let Some(kept) = fields.get_mut("status") {
        *kept = status.into();
    }
    fields
}

fn row(args: &ListArgs, session: &ChatSession, status: &str) -> Vec<String> {
    let tokens = session.tokens;
    let read = tokens.input.saturating_add(tokens.cache_read).saturating_add(tokens.cache_write);
    let written = tokens.output.saturating_add(tokens.reasoning);
    let mut cells = vec![
        session.id.to_string(),
        rfc3339(session.updated_at_ms),
        status.to_owned(),
        on_one_line(&session.agent),
        on_one_line(&session.model),
        session.steps.to_string(),
        read.to_string(),
        written.to_string(),
    ];
    cells.extend(args.all.then(|| output::visible(&session.root)));
    cells.push(session.title.as_deref().map(on_one_line).unwrap_or_default());
    cells
}
