//! Sessions to record, and what was said in them as text to compare. Ids follow from numbers, so that they sort as those do.

use std::fmt::Write;

use crate::{
    Journal, JournalError, Lease, MessageFinish, MessageId, MessageKind, MessagePart, MessageQuery,
    MessageRole, PartId, PartKind, PartState, SessionDurability, SessionId, SessionJournal,
    SessionMessage, SessionMode, SessionRecord, SessionRow, SessionStatus, TokenCounts,
};

use super::CaseResult;
use super::fixture::{request, run};

pub fn session_id(number: u128) -> SessionId {
    SessionId::from_bits(number)
}

pub fn message_id(number: u128) -> MessageId {
    MessageId::from_bits(number)
}

pub fn part_id(number: u128) -> PartId {
    PartId::from_bits(number)
}

/// Takes the run of a session for its first owner.
pub async fn open_session(journal: &dyn Journal, number: u128) -> CaseResult<Lease> {
    Ok(journal.open_run(run(session_id(number).as_str()), request("one")).await?)
}

/// Takes the run of a session, and records the session.
pub async fn begin_session(journal: &dyn Journal, number: u128) -> CaseResult<Lease> {
    let lease = open_session(journal, number).await?;
    let session = SessionRecord::Session(session(number));
    record_all(journal, &lease, vec![session]).await?;
    Ok(lease)
}

pub async fn record_all(
    journal: &dyn SessionJournal,
    lease: &Lease,
    records: Vec<SessionRecord>,
) -> Result<(), JournalError> {
    journal.record_session(lease, records, SessionDurability::Ordered).await
}

pub fn session(number: u128) -> SessionRow {
    SessionRow {
        id: session_id(number),
        parent_id: None,
        parent_tool_call_id: None,
        forked_from_id: None,
        forked_from_message_id: None,
        agent: "build".to_owned(),
        title: Some("mend the test".to_owned()),
        model: "acme/large".to_owned(),
        root: "/project".to_owned(),
        status: SessionStatus::Idle,
        mode: SessionMode::Foreground,
        inspectable: true,
        delivered: false,
        permissions_json: "{}".to_owned(),
        metadata_json: "{}".to_owned(),
        depth: 0,
        tokens: TokenCounts::default(),
        steps: 0,
        created_at_ms: 2_000,
        updated_at_ms: 2_000,
    }
}

/// Returns a session that another one began.
pub fn child(number: u128, parent: u128) -> SessionRow {
    SessionRow {
        parent_id: Some(session_id(parent)),
        parent_tool_call_id: Some("toolu_1".to_owned()),
        mode: SessionMode::Background,
        depth: 1,
        ..session(number)
    }
}

/// Returns what the person says.
pub fn said(session: u128, number: u128) -> SessionMessage {
    SessionMessage {
        id: message_id(number),
        session_id: session_id(session),
        role: MessageRole::User,
        kind: MessageKind::Said,
        agent: None,
        model: None,
        finish: None,
        error: None,
        covers_through: None,
        tokens: TokenCounts::default(),
        created_at_ms: 3_000,
        completed_at_ms: Some(3_000),
        rewound_at_ms: None,
    }
}

/// Returns what the model answers.
pub fn answer(session: u128, number: u128, finish: Option<MessageFinish>) -> SessionMessage {
    SessionMessage {
        role: MessageRole::Assistant,
        agent: Some("build".to_owned()),
        model: Some("acme/large".to_owned()),
        finish,
        tokens: TokenCounts { input: 5, output: 4, reasoning: 3, cache_read: 2, cache_write: 1 },
        completed_at_ms: finish.map(|_| 3_500),
        ..said(session, number)
    }
}

pub fn text_part(session: u128, message: u128, number: u128, text: &str) -> MessagePart {
    MessagePart {
        id: part_id(number),
        message_id: message_id(message),
        session_id: session_id(session),
        kind: PartKind::Text,
        text: Some(text.to_owned()),
        tool_call_id: None,
        tool: None,
        state: None,
        input_json: None,
        output_json: None,
        call_id: None,
        signatures_json: None,
        lies_apart: false,
        created_at_ms: 3_100,
        updated_at_ms: 3_200,
    }
}

pub fn tool_part(session: u128, message: u128, number: u128, state: PartState) -> MessagePart {
    let output = r#"{"type":"output","data":"ok","metadata":{"duration_ms":3}}"#;
    MessagePart {
        kind: PartKind::Tool,
        text: None,
        tool_call_id: Some(format!("toolu_{number}")),
        tool: Some("read".to_owned()),
        state: Some(state),
        input_json: Some(r#"{"path":"a"}"#.to_owned()),
        output_json: state.is_finished().then(|| output.to_owned()),
        call_id: state.is_finished().then(|| format!("{}/main/0/1/1", session_id(session))),
        signatures_json: Some(r#"{"acme":"c2ln"}"#.to_owned()),
        ..text_part(session, message, number, "")
    }
}

/// Renders the messages of a session one a line, with their parts behind them.
pub async fn transcript(
    journal: &dyn SessionJournal,
    session: u128,
    query: MessageQuery,
) -> CaseResult<String> {
    let messages = journal.session_messages(&session_id(session), query).await?;
    let mut text = String::new();
    for (message, parts) in messages {
        let finish = message.finish.map_or("-", MessageFinish::as_str);
        let (number, role) = (message.id.bits(), message.role);
        write!(text, "{number} {role} {} {finish}", message.kind)?;
        for part in parts {
            let state = part.state.map_or("-", PartState::as_str);
            let said = part.text.as_deref().unwrap_or_default();
            write!(text, " | {} {} {state} {said:?}", part.id.bits(), part.kind)?;
        }
        text.push('\n');
    }
    Ok(text)
}
