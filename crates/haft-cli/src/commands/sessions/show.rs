//! `haft sessions show`: prints the messages of a session, each call on one line.

use std::collections::HashMap;

use clap::Args;
use haft_agent::{call_title, caller_run_of, plan_node_of};
use haft_contract::{AttemptAddress, Envelope};
use haft_journal::{
    MessageFinish, MessageKind, MessagePart, MessageRole, PartKind, SessionMessage, SessionQuery,
    SessionRow,
};
use serde::Serialize;
use serde_json::Value;

use super::list::{self, tokens_read, tokens_written};
use super::{WorkspaceSessions, pages};
use crate::arguments::candidates;
use crate::arguments::cli_context::CliContext;
use crate::error::{CommandResult, CommandStatus};
use crate::views::outcome::{line_of_result, on_one_line};
use crate::views::output;
use haft_app::calendar::rfc3339;

/// Show the messages of a session
///
/// Calls are one line each, with the session of the subagent that one began. Their inputs and answers are shown with --json,
/// and by haft runs show SESSION.
#[derive(Args)]
pub(super) struct SessionsShowArgs {
    /// The session, as haft sessions list shows it, or last for the one used last in this workspace
    #[arg(add = candidates::sessions())]
    session: String,
    /// Include messages that were set aside
    #[arg(long)]
    rewound: bool,
    /// Include the agent's thoughts, if its model shows them
    #[arg(long)]
    thoughts: bool,
}

/// The JSON form of a session.
#[derive(Serialize)]
struct SessionReport {
    session: Value,
    messages: Vec<MessageReport>,
    subagents: Vec<Value>,
}

#[derive(Serialize)]
pub(super) struct MessageReport {
    #[serde(flatten)]
    message: SessionMessage,
    parts: Vec<MessagePart>,
}

pub(super) async fn run(
    args: &SessionsShowArgs,
    kept: &WorkspaceSessions,
    cx: &CliContext,
) -> CommandResult {
    let (journal, session) = kept.find_session(&args.session).await?;
    let status = list::status(journal, &session).await?;
    // As many as one page of the journal has.
    let parent = Some(session.id.clone());
    let query = SessionQuery { parent, with_opaque: true, ..SessionQuery::default() };
    let subagents = journal.sessions(query).await?;
    if cx.setting_args.json {
        let mut messages = Vec::new();
        pages::for_each_message(journal, &session.id, args.rewound, |message, parts| {
            messages.push(MessageReport { message: message.clone(), parts: parts.to_vec() });
            Ok(())
        })
        .await?;
        let mut report =
            SessionReport { session: list::fields(&session, status), messages, subagents: vec![] };
        for subagent in &subagents {
            let status = list::status(journal, subagent).await?;
            report.subagents.push(list::fields(subagent, status));
        }
        output::write_json(&report)?;
        return Ok(CommandStatus::Done);
    }
    let tokens = format!("{} read, {} written", tokens_read(&session), tokens_written(&session));
    let mut head = vec![
        ("session", session.id.to_string()),
        ("title", session.title.as_deref().map(on_one_line).unwrap_or_default()),
        ("root", haft_contract::escape_controls(&session.root)),
        ("agent", on_one_line(&session.agent)),
        ("model", on_one_line(&session.model)),
        ("status", status.to_owned()),
        ("begun", rfc3339(session.created_at_ms)),
        ("changed", rfc3339(session.updated_at_ms)),
        ("tokens", tokens),
    ];
    match (plan_node_of(&session), caller_run_of(&session)) {
        (Some(AttemptAddress { run, node, .. }), _) => {
            head.push(("plan", format!("node {node} of {run}")));
        }
        (None, Some(run)) => head.push(("run", run.to_string())),
        (None, None) => {
            head.extend(session.parent_id.as_ref().map(|it| ("parent", it.to_string())))
        }
    }
    head.extend(session.forked_from_id.as_ref().map(|from| ("fork of", from.to_string())));
    let line = |(label, text): (&str, String)| format!("{label:<10}{text}\n");
    output::write_data(&head.into_iter().map(line).collect::<String>())?;
    let begun: HashMap<&str, &SessionRow> = subagents
        .iter()
        .filter_map(|subagent| Some((subagent.parent_tool_call_id.as_deref()?, subagent)))
        .collect();
    pages::for_each_message(journal, &session.id, args.rewound, |message, parts| {
        let who = match (message.kind, message.role) {
            (MessageKind::Said, MessageRole::User) => "you".to_owned(),
            (MessageKind::Said, MessageRole::Assistant) => {
                on_one_line(message.agent.as_deref().unwrap_or("agent"))
            }
            (MessageKind::Summary, _) => "summary of the messages before".to_owned(),
            (MessageKind::Notice, _) => "haft, to the agent".to_owned(),
        };
        let mut text = format!("\n[{}] {who}{}\n", message.id, remarks(message));
        for part in parts {
            match part.kind {
                PartKind::Text => text.push_str(&part_text(part, "")),
                PartKind::Reasoning if args.thoughts => text.push_str(&part_text(part, "  ~ ")),
                PartKind::Reasoning => {}
                PartKind::Tool => {
                    let subagent = part.tool_call_id.as_deref().and_then(|id| begun.get(id));
                    let session = subagent.map(|subagent| {
                        let opaque = if subagent.inspectable { "" } else { " (opaque)" };
                        format!("    session {}{opaque}\n", subagent.id)
                    });
                    let line = line_of_part(part);
                    text.push_str(&format!("  → {line}\n{}", session.unwrap_or_default()));
                }
            }
        }
        text.extend(failure_text(message).map(|why| format!("  ! {why}\n")));
        output::write_data(&text)
    })
    .await?;
    Ok(CommandStatus::Done)
}

fn remarks(message: &SessionMessage) -> String {
    let mut remarks = Vec::new();
    if message.rewound_at_ms.is_some() {
        remarks.push("set aside".to_owned());
    }
    if message.role == MessageRole::Assistant {
        match message.finish {
            None => remarks.push("not finished".to_owned()),
            Some(MessageFinish::Stop | MessageFinish::ToolCalls) => {}
            Some(MessageFinish::Error) => remarks.push("failed".to_owned()),
            Some(
                finish @ (MessageFinish::Length
                | MessageFinish::Interrupted
                | MessageFinish::Aborted
                | MessageFinish::Other),
            ) => remarks.push(finish.as_str().to_owned()),
        }
    }
    if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join("; ")) }
}

/// Returns why there is no answer, or no complete one.
pub(super) fn failure_text(message: &SessionMessage) -> Option<String> {
    message.error.as_deref().map(on_one_line)
}

fn part_text(part: &MessagePart, mark: &str) -> String {
    let text = part.text.as_deref().unwrap_or_default().trim();
    text.lines().map(|line| format!("{mark}{line}\n")).collect()
}

/// Returns the line of a call.
pub(super) fn line_of_part(part: &MessagePart) -> String {
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
