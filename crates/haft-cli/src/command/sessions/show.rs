//! `haft sessions show`: what was said in a session, each call on one line.

use std::collections::HashMap;

use clap::Args;
use haft_agent::call_title;
use haft_contract::Envelope;
use haft_journal::{
    ChatMessage, ChatPart, ChatQuery, ChatRole, ChatSession, Journal, MessageFinish, MessageKind,
    PartKind,
};
use serde::Serialize;
use serde_json::Value;

use super::list::{self, tokens_read, tokens_written};
use super::{Kept, pages};
use crate::agent_run::{line_of_result, on_one_line};
use crate::error::{CommandError, Status};
use crate::output;
use crate::time::rfc3339;

/// Show what was said in a session
///
/// Calls are one line each, with the session of the subagent that one began. Their inputs and answers are shown with --json,
/// and by haft runs show SESSION.
#[derive(Args)]
pub(super) struct ShowArgs {
    /// The session, as haft sessions list shows it, or last for the one used last in this workspace
    session: String,
    /// What was set aside, too
    #[arg(long)]
    rewound: bool,
    /// What the agent thought, too, where its model shows that
    #[arg(long)]
    thoughts: bool,
}

/// What a program is told of a session.
#[derive(Serialize)]
struct Told {
    session: Value,
    messages: Vec<ToldMessage>,
    subagents: Vec<Value>,
}

#[derive(Serialize)]
pub(super) struct ToldMessage {
    #[serde(flatten)]
    message: ChatMessage,
    parts: Vec<ChatPart>,
}

pub(super) async fn run(
    args: &ShowArgs,
    kept: &Kept,
    is_json: bool,
) -> Result<Status, CommandError> {
    let (journal, session) = kept.find(&args.session).await?;
    let subagents = subagents(journal, &session).await?;
    if is_json {
        let mut messages = Vec::new();
        pages::for_each(journal, &session.id, args.rewound, |message, parts| {
            messages.push(ToldMessage { message: message.clone(), parts: parts.to_vec() });
            Ok(())
        })
        .await?;
        let mut told =
            Told { session: self::told(journal, &session).await?, messages, subagents: vec![] };
        for subagent in &subagents {
            told.subagents.push(self::told(journal, subagent).await?);
        }
        output::json(&told)?;
        return Ok(Status::Done);
    }
    output::data(&head(&session, list::status(journal, &session).await?))?;
    let begun: HashMap<&str, &ChatSession> = subagents
        .iter()
        .filter_map(|subagent| Some((subagent.parent_tool_call_id.as_deref()?, subagent)))
        .collect();
    pages::for_each(journal, &session.id, args.rewound, |message, parts| {
        output::data(&shown(message, parts, &begun, args.thoughts))
    })
    .await?;
    Ok(Status::Done)
}

/// Returns the columns of a session, with how it stands.
async fn told(journal: &dyn Journal, session: &ChatSession) -> Result<Value, CommandError> {
    Ok(list::fields(session, list::status(journal, session).await?))
}

/// Returns the sessions of the subagents that a session had work, as many as one answer of the journal has.
async fn subagents(
    journal: &dyn Journal,
    session: &ChatSession,
) -> Result<Vec<ChatSession>, CommandError> {
    let parent = Some(session.id.clone());
    Ok(journal.chats(ChatQuery { parent, with_opaque: true, ..ChatQuery::default() }).await?)
}

fn head(session: &ChatSession, status: &str) -> String {
    let mut lines = vec![
        ("session", session.id.to_string()),
        ("title", session.title.as_deref().map(on_one_line).unwrap_or_default()),
        ("root", output::visible(&session.root)),
        ("agent", on_one_line(&session.agent)),
        ("model", on_one_line(&session.model)),
        ("status", status.to_owned()),
        ("begun", rfc3339(session.created_at_ms)),
        ("changed", rfc3339(session.updated_at_ms)),
        ("tokens", format!("{} read, {} written", tokens_read(session), tokens_written(session))),
    ];
    lines.extend(session.parent_id.as_ref().map(|parent| ("parent", parent.to_string())));
    lines.extend(session.forked_from_id.as_ref().map(|from| ("fork of", from.to_string())));
    let line = |(label, text): (&str, String)| format!("{label:<10}{text}\n");
    lines.into_iter().map(line).collect()
}

fn shown(
    message: &ChatMessage,
    parts: &[ChatPart],
    subagents: &HashMap<&str, &ChatSession>,
    with_thoughts: bool,
) -> String {
    let who = match (message.kind, message.role) {
        (MessageKind::Said, ChatRole::User) => "you".to_owned(),
        (MessageKind::Said, ChatRole::Assistant) => {
            on_one_line(message.agent.as_deref().unwrap_or("agent"))
        }
        (MessageKind::Summary, _) => "summary of what was said before".to_owned(),
        (MessageKind::Notice, _) => "haft, to the agent".to_owned(),
    };
    let mut text = format!("\n[{}] {who}{}\n", message.id, remarks(message));
    for part in parts {
        match part.kind {
            PartKind::Text => text.push_str(&said(part, "")),
            PartKind::Reasoning if with_thoughts => text.push_str(&said(part, "  ~ ")),
            PartKind::Reasoning => {}
            PartKind::Tool => text.push_str(&called(part, subagents)),
        }
    }
    text.extend(failed(message).map(|why| format!("  ! {why}\n")));
    text
}

fn remarks(message: &ChatMessage) -> String {
    let mut remarks = Vec::new();
    if message.rewound_at_ms.is_some() {
        remarks.push("set aside".to_owned());
    }
    if message.role == ChatRole::Assistant {
        match message.finish {
            None => remarks.push("not finished".to_owned()),
            Some(finish) => remarks.extend(ended(finish).map(str::to_owned)),
        }
    }
    if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join("; ")) }
}

/// Returns how an answer ended, if it did not end as answers do.
fn ended(finish: MessageFinish) -> Option<&'static str> {
    match finish {
        MessageFinish::Stop | MessageFinish::ToolCalls => None,
        MessageFinish::Error => Some("failed"),
        MessageFinish::Length
        | MessageFinish::Interrupted
        | MessageFinish::Aborted
        | MessageFinish::Other => Some(finish.as_str()),
    }
}

/// Returns why there is no answer, or no whole one.
pub(super) fn failed(message: &ChatMessage) -> Option<String> {
    message.error.as_deref().map(on_one_line)
}

fn said(part: &ChatPart, mark: &str) -> String {
    let text = part.text.as_deref().unwrap_or_default().trim();
    text.lines().map(|line| format!("{mark}{line}\n")).collect()
}

fn called(part: &ChatPart, subagents: &HashMap<&str, &ChatSession>) -> String {
    let line = line_of_part(part);
    let subagent = part.tool_call_id.as_deref().and_then(|id| subagents.get(id));
    let session = subagent.map(|subagent| {
        let opaque = if subagent.inspectable { "" } else { " (opaque)" };
        format!("    session {}{opaque}\n", subagent.id)
    });
    format!("  → {line}\n{}", session.unwrap_or_default())
}

/// Returns the line of a call.
pub(super) fn line_of_part(part: &ChatPart) -> String {
    let tool = part.tool.as_deref().unwrap_or_default();
    let json = |text: &Option<String>| {
        text.as_deref()
            .and_then(|text| serde_json::from_str::<Value>(text).ok())
            .unwrap_or_default()
    };
    let title = on_one_line(&call_title(tool, &json(&part.input_json)));
    let envelope = part.output_json.as_deref();
    match envelope.and_then(|text| serde_json::from_str::<Envelope>(text).ok()) {
        Some(envelope) => {
            anstream::adapter::strip_str(&line_of_result(&title, tool, &envelope)).to_string()
        }
        None => {
            let state = part.state.map_or("", |state| state.as_str());
            format!("{title} · no answer yet ({state})")
        }
    }
}
