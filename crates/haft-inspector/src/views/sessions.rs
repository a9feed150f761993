//! Sessions: the list, and one conversation with its calls, its subagents and its tokens.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use haft_agent::call_title;
use haft_app::calendar::rfc3339;
use haft_contract::Envelope;
use haft_journal::{
    Journal, MessageFinish, MessageId, MessageKind, MessagePart, MessageQuery, MessageRole,
    PartKind, SessionId, SessionMessage, SessionQuery, SessionRow, SessionStatus, TokenCounts,
};
use serde_json::Value;

use super::runs::last_change;
use crate::limits::{MESSAGES_SHOWN_MAX, SESSIONS_SHOWN_MAX};
use crate::navigation::{Section, Sections};
use crate::page_error::PageError;
use crate::request::{InspectorRequest, call_url, parse_call, run_url};
use crate::response::{self, PageResponse};
use crate::source::{Source, find_run};
use crate::text::{number, on_one_line, shown, url_part};
use haft_app::records::is_holder_dead;

#[derive(Template)]
#[template(path = "sessions.html")]
struct SessionsPage {
    sections: Sections,
    last_change: u64,
    sessions: Vec<SessionLine>,
    more: Option<String>,
}

/// A session on one line.
struct SessionLine {
    id: String,
    url: String,
    title: String,
    agent: String,
    model: String,
    root: String,
    status: String,
    style: &'static str,
    updated: String,
    tokens: String,
}

#[derive(Template)]
#[template(path = "session.html")]
struct SessionPage {
    sections: Sections,
    last_change: u64,
    session: SessionLine,
    run_url: String,
    begun: String,
    parent: Option<(String, String)>,
    tokens: Vec<(&'static str, String)>,
    steps: u32,
    messages: Vec<TalkMessage>,
    subagents: Vec<SessionLine>,
    more: Option<String>,
}

/// A message of a conversation.
struct TalkMessage {
    style: &'static str,
    who: String,
    when: String,
    remark: String,
    parts: Vec<TalkPart>,
    error: String,
}

/// A part of a message.
enum TalkPart {
    Said(String),
    Thought(String),
    Call(TalkCall),
}

/// A call in a conversation.
struct TalkCall {
    title: String,
    url: Option<String>,
    status: &'static str,
    style: &'static str,
    session: Option<(String, String)>,
}

/// Shows the list.
pub(crate) async fn list(
    source: &Arc<Source>,
    request: &InspectorRequest,
) -> Result<PageResponse, PageError> {
    let mut page = SessionsPage {
        sections: Sections(Section::Sessions),
        last_change: 0,
        sessions: Vec::new(),
        more: None,
    };
    if let Some(journal) = source.journal().await? {
        page.last_change = last_change(&*journal).await?;
        let before = request.query("before").map(parse_session).transpose()?;
        let query = SessionQuery {
            only_top: true,
            before,
            limit: SESSIONS_SHOWN_MAX,
            ..SessionQuery::default()
        };
        let sessions = journal.sessions(query).await?;
        let is_full = sessions.len() >= usize::try_from(SESSIONS_SHOWN_MAX).unwrap_or(usize::MAX);
        let last = sessions.last().filter(|_| is_full);
        page.more = last.map(|last| format!("/sessions?before={}", url_part(last.id.as_str())));
        for session in &sessions {
            page.sessions.push(line(&*journal, session).await?);
        }
    }
    response::html(&page)
}

/// Shows a conversation.
pub(crate) async fn show(
    source: &Arc<Source>,
    request: &InspectorRequest,
    session: &str,
) -> Result<PageResponse, PageError> {
    let journal = source.present_journal().await?;
    let id = parse_session(session)?;
    let session = journal.session(&id).await?;
    let session =
        session.ok_or_else(|| PageError::not_found(format!("There is no session {id}.")))?;
    let last_change = last_change(&*journal).await?;
    let after = request.query("after").map(MessageId::parse).transpose();
    let after = after.map_err(|err| PageError::bad_request(err.to_string()))?;
    let query = MessageQuery { after, with_rewound: true, limit: MESSAGES_SHOWN_MAX };
    let messages = journal.session_messages(&id, query).await?;
    let is_full = messages.len() >= usize::try_from(MESSAGES_SHOWN_MAX).unwrap_or(usize::MAX);
    let last = messages.last().filter(|_| is_full).map(|(message, _)| message);
    let path = format!("/sessions/{}", url_part(id.as_str()));
    let more = last.map(|last| format!("{path}?after={}", url_part(&last.id.to_string())));
    let query =
        SessionQuery { parent: Some(id.clone()), with_opaque: true, ..SessionQuery::default() };
    let children = journal.sessions(query).await?;
    let begun: HashMap<&str, &SessionRow> = children
        .iter()
        .filter_map(|child| Some((child.parent_tool_call_id.as_deref()?, child)))
        .collect();
    let mut subagents = Vec::new();
    for child in &children {
        subagents.push(line(&*journal, child).await?);
    }
    let parent = session
        .parent_id
        .as_ref()
        .map(|parent| (format!("/sessions/{}", url_part(parent.as_str())), parent.to_string()));
    response::html(&SessionPage {
        sections: Sections(Section::Sessions),
        last_change,
        session: line(&*journal, &session).await?,
        run_url: run_url(&id.run()),
        begun: rfc3339(session.created_at_ms),
        parent,
        tokens: tokens(&session.tokens),
        steps: session.steps,
        messages: messages.iter().map(|(message, parts)| talk(message, parts, &begun)).collect(),
        subagents,
        more,
    })
}

async fn line(journal: &dyn Journal, session: &SessionRow) -> Result<SessionLine, PageError> {
    let (status, style) = match session.status {
        SessionStatus::Running => {
            let run = find_run(journal, &session.id.run()).await?;
            if run.holder.is_some() && !is_holder_dead(&run) {
                ("running", "running")
            } else {
                ("interrupted", "interrupted")
            }
        }
        SessionStatus::Failed => ("failed", "failed"),
        SessionStatus::Aborted => ("stopped", "unknown"),
        SessionStatus::Completed => ("done", "succeeded"),
        SessionStatus::Idle => ("idle", "ended"),
    };
    let TokenCounts { input, output, reasoning, cache_read, cache_write } = session.tokens;
    let (read, written) = (input + cache_read + cache_write, output + reasoning);
    let id = session.id.to_string();
    Ok(SessionLine {
        url: format!("/sessions/{}", url_part(&id)),
        title: on_one_line(session.title.as_deref().unwrap_or_default()),
        agent: on_one_line(&session.agent),
        model: on_one_line(&session.model),
        root: on_one_line(&session.root),
        status: status.to_owned(),
        style,
        updated: rfc3339(session.updated_at_ms),
        tokens: format!("{} read, {} written", number(read), number(written)),
        id,
    })
}

fn tokens(counts: &TokenCounts) -> Vec<(&'static str, String)> {
    let counts = [
        ("Read", counts.input),
        ("Read from the cache", counts.cache_read),
        ("Put into the cache", counts.cache_write),
        ("Written as answers", counts.output),
        ("Written as thoughts", counts.reasoning),
    ];
    counts.into_iter().map(|(name, count)| (name, number(count))).collect()
}

fn talk(
    message: &SessionMessage,
    parts: &[MessagePart],
    begun: &HashMap<&str, &SessionRow>,
) -> TalkMessage {
    let (style, who) = match (message.kind, message.role) {
        (MessageKind::Said, MessageRole::User) => ("user", "Person".to_owned()),
        (MessageKind::Said, MessageRole::Assistant) => {
            ("agent", on_one_line(message.agent.as_deref().unwrap_or("agent")))
        }
        (MessageKind::Summary, _) => ("notice", "Summary of the messages before".to_owned()),
        (MessageKind::Notice, _) => ("notice", "haft, to the agent".to_owned()),
    };
    let unfinished = match (message.role, message.finish) {
        (MessageRole::Assistant, None) => "not finished",
        (MessageRole::Assistant, Some(MessageFinish::Length)) => "cut at its longest length",
        (MessageRole::Assistant, Some(MessageFinish::Interrupted)) => "interrupted",
        (MessageRole::Assistant, Some(MessageFinish::Aborted)) => "stopped",
        (MessageRole::Assistant, Some(MessageFinish::Error)) => "failed",
        (_, _) => "",
    };
    let rewound = if message.rewound_at_ms.is_some() { "set aside" } else { "" };
    let remark: Vec<&str> = [unfinished, rewound].into_iter().filter(|it| !it.is_empty()).collect();
    TalkMessage {
        style,
        who,
        when: rfc3339(message.created_at_ms),
        remark: remark.join(", "),
        parts: parts.iter().map(|part| talk_part(part, begun)).collect(),
        error: message.error.as_deref().map(shown).unwrap_or_default(),
    }
}

fn talk_part(part: &MessagePart, begun: &HashMap<&str, &SessionRow>) -> TalkPart {
    let text = || shown(part.text.as_deref().unwrap_or_default().trim());
    match part.kind {
        PartKind::Text => TalkPart::Said(text()),
        PartKind::Reasoning => TalkPart::Thought(text()),
        PartKind::Tool => {
            let json = |text: &Option<String>| {
                let value =
                    text.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
                value.unwrap_or_default()
            };
            let envelope = part.output_json.as_deref();
            let envelope = envelope.and_then(|text| serde_json::from_str::<Envelope>(text).ok());
            let (status, style) = match envelope {
                None => ("no answer yet", "running"),
                Some(Envelope::Output { .. }) => ("done", "succeeded"),
                Some(Envelope::Error { .. }) => ("error", "failed"),
            };
            let parts =
                part.call_id.as_deref().map(|call| call.split('/').map(str::to_owned).collect());
            let call = parts.and_then(|parts: Vec<String>| parse_call(&parts).ok());
            let child = part.tool_call_id.as_deref().and_then(|id| begun.get(id));
            TalkPart::Call(TalkCall {
                title: on_one_line(&call_title(
                    part.tool.as_deref().unwrap_or_default(),
                    &json(&part.input_json),
                )),
                url: call.map(|call| call_url(&call)),
                status,
                style,
                session: child.map(|child| {
                    let id = child.id.to_string();
                    (format!("/sessions/{}", url_part(&id)), id)
                }),
            })
        }
    }
}

fn parse_session(text: &str) -> Result<SessionId, PageError> {
    SessionId::parse(text).map_err(|err| PageError::bad_request(err.to_string()))
}
