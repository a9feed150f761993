//! Chats to record, and what was said in them as text to compare. Ids follow from numbers, so that they sort as those do.

use std::fmt::Write;

use haft_journal::{
    ChatFirmness, ChatId, ChatMessage, ChatMode, ChatPart, ChatRecord, ChatRole, ChatSession,
    ChatStatus, Chats, Journal, JournalError, Lease, MessageFinish, MessageId, MessageKind,
    MessageQuery, PartId, PartKind, PartState, TokenCounts,
};

use crate::fixture::{claim, run};

pub(crate) fn chat_id(number: u128) -> ChatId {
    ChatId::from_bits(number)
}

pub(crate) fn message_id(number: u128) -> MessageId {
    MessageId::from_bits(number)
}

pub(crate) fn part_id(number: u128) -> PartId {
    PartId::from_bits(number)
}

/// Takes the run of a chat for its first owner.
pub(crate) async fn open_chat(journal: &dyn Journal, number: u128) -> Lease {
    journal.open_run(run(chat_id(number).as_str()), claim("one")).await.unwrap()
}

/// Takes the run of a chat, and records the chat.
pub(crate) async fn begin_chat(journal: &dyn Journal, number: u128) -> Lease {
    let lease = open_chat(journal, number).await;
    let session = ChatRecord::Session(session(number));
    record_all(journal, &lease, vec![session]).await.unwrap();
    lease
}

pub(crate) async fn record_all(
    journal: &dyn Chats,
    lease: &Lease,
    records: Vec<ChatRecord>,
) -> Result<(), JournalError> {
    journal.record_chat(lease, records, ChatFirmness::Ordered).await
}

pub(crate) fn session(number: u128) -> ChatSession {
    ChatSession {
        id: chat_id(number),
        parent_id: None,
        parent_tool_call_id: None,
        forked_from_id: None,
        forked_from_message_id: None,
        agent: "build".to_owned(),
        title: Some("mend the test".to_owned()),
        model: "acme/large".to_owned(),
        root: "/project".to_owned(),
        status: ChatStatus::Idle,
        mode: ChatMode::Foreground,
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

/// Returns a chat that another one began.
pub(crate) fn child(number: u128, parent: u128) -> ChatSession {
    ChatSession {
        parent_id: Some(chat_id(parent)),
        parent_tool_call_id: Some("toolu_1".to_owned()),
        mode: ChatMode::Background,
        depth: 1,
        ..session(number)
    }
}

/// Returns what the person says.
pub(crate) fn said(chat: u128, number: u128) -> ChatMessage {
    ChatMessage {
        id: message_id(number),
        session_id: chat_id(chat),
        role: ChatRole::User,
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
pub(crate) fn answer(chat: u128, number: u128, finish: Option<MessageFinish>) -> ChatMessage {
    ChatMessage {
        role: ChatRole::Assistant,
        agent: Some("build".to_owned()),
        model: Some("acme/large".to_owned()),
        finish,
        tokens: TokenCounts { input: 5, output: 4, reasoning: 3, cache_read: 2, cache_write: 1 },
        completed_at_ms: finish.map(|_| 3_500),
        ..said(chat, number)
    }
}

pub(crate) fn text_part(chat: u128, message: u128, number: u128, text: &str) -> ChatPart {
    ChatPart {
        id: part_id(number),
        message_id: message_id(message),
        session_id: chat_id(chat),
        kind: PartKind::Text,
        text: Some(text.to_owned()),
        tool_call_id: None,
        tool: None,
        state: None,
        input_json: None,
        output_json: None,
        call_id: None,
        signatures_json: None,
        created_at_ms: 3_100,
        updated_at_ms: 3_200,
    }
}

pub(crate) fn tool_part(chat: u128, message: u128, number: u128, state: PartState) -> ChatPart {
    let output = r#"{"type":"output","data":"ok","metadata":{"duration_ms":3}}"#;
    ChatPart {
        kind: PartKind::Tool,
        text: None,
        tool_call_id: Some(format!("toolu_{number}")),
        tool: Some("read".to_owned()),
        state: Some(state),
        input_json: Some(r#"{"path":"a"}"#.to_owned()),
        output_json: state.is_over().then(|| output.to_owned()),
        call_id: state.is_over().then(|| format!("{}/main/0/1/1", chat_id(chat))),
        signatures_json: Some(r#"{"acme":"c2ln"}"#.to_owned()),
        ..text_part(chat, message, number, "")
    }
}

/// Renders the messages of a chat one a line, with their parts behind them.
pub(crate) async fn transcript(journal: &dyn Chats, chat: u128, query: MessageQuery) -> String {
    let messages = journal.chat_messages(&chat_id(chat), query).await.unwrap();
    messages.into_iter().fold(String::new(), |mut text, (message, parts)| {
        let finish = message.finish.map_or("-", MessageFinish::as_str);
        let (number, role) = (message.id.bits(), message.role);
        write!(text, "{number} {role} {} {finish}", message.kind).unwrap();
        for part in parts {
            let state = part.state.map_or("-", PartState::as_str);
            let said = part.text.as_deref().unwrap_or_default();
            write!(text, " | {} {} {state} {said:?}", part.id.bits(), part.kind).unwrap();
        }
        text.push('\n');
        text
    })
}
