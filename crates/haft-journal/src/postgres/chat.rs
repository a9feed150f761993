//! The statements about chats. What belongs where is asked in the statement that writes: where it does not fit, no row is
//! written, and the whole of what came with it is taken back.

use std::borrow::Cow;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use futures_util::future::{MaybeDone, maybe_done};
use haft_contract::RunId;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row};

use super::action::Applied;
use super::batch::{Pass, integer};
use super::failure::Trouble;
use super::lease;
use super::record::FRUITLESS_RESET;
use super::row::Columns as _;
use super::text::stored;
use crate::chat::{Batch, Gathered, Gathering};
use crate::limits::COMMIT_ENTRIES_MAX;
use crate::{
    ChatId, ChatMessage, ChatMode, ChatPart, ChatRecord, ChatRole, ChatSession, ChatStatus,
    JournalError, Lease, MessageFinish, MessageId, MessageKind, PartId, PartKind, PartState,
    TokenCounts,
};

pub(super) const SESSION_COLUMNS: &str = "\
id, parent_id, parent_tool_call_id, forked_from_id, forked_from_message_id, agent, title, model, root, status, mode, \
inspectable, delivered, permissions_json, metadata_json, depth, tokens_input, tokens_output, tokens_reasoning, \
tokens_cache_read, tokens_cache_write, steps, created_at_ms, updated_at_ms";

pub(super) const MESSAGE_COLUMNS: &str = "\
id, session_id, role, kind, agent, model, finish, error, covers_through, tokens_input, tokens_output, \
tokens_reasoning, tokens_cache_read, tokens_cache_write, created_at_ms, completed_at_ms, rewound_at_ms";

pub(super) const PART_COLUMNS: &str = "\
id, message_id, session_id, type, text, tool_call_id, tool, state, input_json, output_json, call_id, \
signatures_json, created_at_ms, updated_at_ms";

/// How many columns come before those of a part where both are read.
const MESSAGE_COLUMNS_COUNT: usize = 17;

const SESSION_UPSERT: &str = "\
INSERT INTO haft.chat_sessions (id, parent_id, parent_tool_call_id, forked_from_id, forked_from_message_id, agent, \
title, model, root, status, mode, inspectable, delivered, permissions_json, metadata_json, depth, tokens_input, \
tokens_output, tokens_reasoning, tokens_cache_read, tokens_cache_write, steps, created_at_ms, updated_at_ms) \
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24 \
FROM haft.runs WHERE id = $1 AND NOT is_going \
ON CONFLICT (id) DO UPDATE SET parent_tool_call_id = excluded.parent_tool_call_id, \
forked_from_id = excluded.forked_from_id, forked_from_message_id = excluded.forked_from_message_id, \
agent = excluded.agent, title = excluded.title, model = excluded.model, root = excluded.root, \
status = excluded.status, mode = excluded.mode, inspectable = excluded.inspectable, delivered = excluded.delivered, \
permissions_json = excluded.permissions_json, metadata_json = excluded.metadata_json, depth = excluded.depth, \
tokens_input = excluded.tokens_input, tokens_output = excluded.tokens_output, \
tokens_reasoning = excluded.tokens_reasoning, tokens_cache_read = excluded.tokens_cache_read, \
tokens_cache_write = excluded.tokens_cache_write, steps = excluded.steps, created_at_ms = excluded.created_at_ms, \
updated_at_ms = greatest(chat_sessions.updated_at_ms, excluded.updated_at_ms) \
WHERE chat_sessions.parent_id IS NOT DISTINCT FROM excluded.parent_id";

const MESSAGE_UPSERT: &str = "\
INSERT INTO haft.chat_messages (id, session_id, role, kind, agent, model, finish, error, covers_through, \
tokens_input, tokens_output, tokens_reasoning, tokens_cache_read, tokens_cache_write, created_at_ms, completed_at_ms) \
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16 FROM haft.chat_sessions WHERE id = $2 \
ON CONFLICT (id) DO UPDATE SET role = excluded.role, kind = excluded.kind, agent = excluded.agent, \
model = excluded.model, finish = excluded.finish, error = excluded.error, covers_through = excluded.covers_through, \
tokens_input = excluded.tokens_input, tokens_output = excluded.tokens_output, \
tokens_reasoning = excluded.tokens_reasoning, tokens_cache_read = excluded.tokens_cache_read, \
tokens_cache_write = excluded.tokens_cache_write, created_at_ms = excluded.created_at_ms, \
completed_at_ms = excluded.completed_at_ms WHERE chat_messages.session_id = excluded.session_id";

const PART_UPSERT: &str = "\
INSERT INTO haft.chat_parts (id, message_id, session_id, type, text, tool_call_id, tool, state, input_json, \
output_json, call_id, signatures_json, created_at_ms, updated_at_ms) \
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14 FROM haft.chat_messages \
WHERE id = $2 AND session_id = $3 AND NOT EXISTS \
(SELECT FROM haft.chat_parts WHERE session_id = $3 AND tool_call_id = $6 AND id <> $1) \
ON CONFLICT (id) DO UPDATE SET type = excluded.type, text = excluded.text, tool_call_id = excluded.tool_call_id, \
tool = excluded.tool, state = excluded.state, input_json = excluded.input_json, output_json = excluded.output_json, \
call_id = excluded.call_id, signatures_json = excluded.signatures_json, created_at_ms = excluded.created_at_ms, \
updated_at_ms = excluded.updated_at_ms \
WHERE chat_parts.session_id = excluded.session_id AND chat_parts.message_id = excluded.message_id";

const SESSION_TOUCH: &str =
    "UPDATE haft.chat_sessions SET updated_at_ms = greatest(updated_at_ms, $2) WHERE id = $1";

const MESSAGE_FIND: &str =
    "SELECT EXISTS (SELECT FROM haft.chat_messages WHERE id = $2 AND session_id = $1)";

/// What was set aside at that very time may be what was written in a session that broke.
const MESSAGES_REWIND: &str = "\
UPDATE haft.chat_messages SET rewound_at_ms = $3 WHERE session_id = $1 AND id >= $2 \
AND (rewound_at_ms IS NULL OR $4 AND rewound_at_ms = $3)";

/// Records all that a batch holds, or nothing of it. Done twice, it is done once.
pub(super) async fn record(db: &Client, lease: &Lease, batch: &Batch) -> Applied<()> {
    let fruitless = match lease::admitted(db, lease).await? {
        Ok(standing) => standing.fruitless,
        Err(refusal) => return Ok(Err(refusal)),
    };
    db.batch_execute("SAVEPOINT chat").await?;
    // As many as share a commit elsewhere are sent before the first is answered.
    for records in batch.records().chunks(COMMIT_ENTRIES_MAX) {
        let rows = write(db, records).await?;
        let unfit = records.iter().zip(rows).find(|(_, rows)| *rows == 0);
        if let Some((record, _)) = unfit {
            db.batch_execute("ROLLBACK TO SAVEPOINT chat").await?;
            return Ok(Err(record.unfit(&lease.run)));
        }
    }
    if let Some(heard_at_ms) = batch.heard_at_ms() {
        touch(db, &lease.run, heard_at_ms).await?;
    }
    if fruitless > 0 && batch.is_step_ahead() {
        db.execute(FRUITLESS_RESET, &[&lease.run.as_str()]).await?;
    }
    Ok(Ok(()))
}

/// Sets messages aside.
pub(super) async fn rewind(
    db: &Client,
    lease: &Lease,
    from: &MessageId,
    (at_ms, pass): (u64, Pass),
) -> Applied<u64> {
    if let Err(refusal) = lease::admitted(db, lease).await? {
        return Ok(Err(refusal));
    }
    let (run, message) = (lease.run.as_str(), from.as_str());
    let is_there: bool = db.query_one(MESSAGE_FIND, &[&run, &message]).await?.try_get(0)?;
    if !is_there {
        let (run, message) = (lease.run.clone(), from.clone());
        return Ok(Err(JournalError::UnknownMessage { run, message }));
    }
    let may_be_done = pass == Pass::Again;
    let parameters: [&(dyn ToSql + Sync); 4] = [&run, &message, &integer(at_ms)?, &may_be_done];
    let rewound = db.execute(MESSAGES_REWIND, &parameters).await?;
    touch(db, &lease.run, at_ms).await?;
    Ok(Ok(rewound))
}

async fn touch(db: &Client, run: &RunId, at_ms: u64) -> Result<(), Trouble> {
    db.execute(SESSION_TOUCH, &[&run.as_str(), &integer(at_ms)?]).await?;
    Ok(())
}

/// Writes the rows in their order, and returns how many each of the statements wrote.
async fn write(db: &Client, records: &[ChatRecord]) -> Result<Vec<u64>, Trouble> {
    let rows = records.iter().map(|record| match record {
        ChatRecord::Session(session) => Ok((SESSION_UPSERT, session_values(session)?)),
        ChatRecord::Message(message) => Ok((MESSAGE_UPSERT, message_values(message)?)),
        ChatRecord::Part(part) => Ok((PART_UPSERT, part_values(part)?)),
    });
    let rows: Vec<(&str, Vec<Value<'_>>)> = rows.collect::<Result<_, Trouble>>()?;
    let mut sent: Vec<Pin<Box<MaybeDone<_>>>> =
        rows.iter().map(|(text, values)| Box::pin(maybe_done(execute(db, text, values)))).collect();
    // A statement is sent when it is asked for the first time.
    poll_fn(|cx| {
        for statement in &mut sent {
            let _ = statement.as_mut().poll(cx);
        }
        Poll::Ready(())
    })
    .await;
    let mut written = Vec::with_capacity(sent.len());
    for statement in &mut sent {
        statement.as_mut().await;
        let rows = statement.as_mut().take_output().expect("a statement is taken once");
        // Those behind one that failed only say that it did.
        written.push(rows?);
    }
    Ok(written)
}

async fn execute(db: &Client, text: &str, values: &[Value<'_>]) -> Result<u64, Error> {
    let parameters: Vec<(&(dyn ToSql + Sync), Type)> =
        values.iter().map(Value::parameter).collect();
    db.execute_typed(text, &parameters).await
}

/// What is written into one column.
enum Value<'a> {
    Text(Option<Cow<'a, str>>),
    Number(Option<i64>),
    Flag(bool),
}

impl<'a> Value<'a> {
    fn text(text: &'a str) -> Self {
        Self::Text(Some(stored(text)))
    }

    fn optional_text(text: Option<&'a str>) -> Self {
        Self::Text(text.map(stored))
    }

    fn number(number: u64) -> Result<Self, Trouble> {
        Ok(Self::Number(Some(integer(number)?)))
    }

    fn parameter(&self) -> (&(dyn ToSql + Sync), Type) {
        match self {
            Self::Text(text) => (text, Type::TEXT),
            Self::Number(number) => (number, Type::INT8),
            Self::Flag(flag) => (flag, Type::BOOL),
        }
    }
}

fn session_values(session: &ChatSession) -> Result<Vec<Value<'_>>, Trouble> {
    let mut values = vec![
        Value::text(session.id.as_str()),
        Value::optional_text(session.parent_id.as_ref().map(ChatId::as_str)),
        Value::optional_text(session.parent_tool_call_id.as_deref()),
        Value::optional_text(session.forked_from_id.as_ref().map(ChatId::as_str)),
        Value::optional_text(session.forked_from_message_id.as_ref().map(MessageId::as_str)),
        Value::text(&session.agent),
        Value::optional_text(session.title.as_deref()),
        Value::text(&session.model),
        Value::text(&session.root),
        Value::text(session.status.as_str()),
        Value::text(session.mode.as_str()),
        Value::Flag(session.inspectable),
        Value::Flag(session.delivered),
        Value::text(&session.permissions_json),
        Value::text(&session.metadata_json),
        Value::number(session.depth.into())?,
    ];
    values.extend(token_values(&session.tokens)?);
    values.extend([
        Value::number(session.steps.into())?,
        Value::number(session.created_at_ms)?,
        Value::number(session.updated_at_ms)?,
    ]);
    Ok(values)
}

fn message_values(message: &ChatMessage) -> Result<Vec<Value<'_>>, Trouble> {
    let mut values = vec![
        Value::text(message.id.as_str()),
        Value::text(message.session_id.as_str()),
        Value::text(message.role.as_str()),
        Value::text(message.kind.as_str()),
        Value::optional_text(message.agent.as_deref()),
        Value::optional_text(message.model.as_deref()),
        Value::optional_text(message.finish.map(MessageFinish::as_str)),
        Value::optional_text(message.error.as_deref()),
        Value::optional_text(message.covers_through.as_ref().map(MessageId::as_str)),
    ];
    values.extend(token_values(&message.tokens)?);
    values.push(Value::number(message.created_at_ms)?);
    values.push(Value::Number(message.completed_at_ms.map(integer).transpose()?));
    Ok(values)
}

fn token_values<'a>(tokens: &TokenCounts) -> Result<[Value<'a>; 5], Trouble> {
    Ok([
        Value::number(tokens.input)?,
        Value::number(tokens.output)?,
        Value::number(tokens.reasoning)?,
        Value::number(tokens.cache_read)?,
        Value::number(tokens.cache_write)?,
    ])
}

fn part_values(part: &ChatPart) -> Result<Vec<Value<'_>>, Trouble> {
    Ok(vec![
        Value::text(part.id.as_str()),
        Value::text(part.message_id.as_str()),
        Value::text(part.session_id.as_str()),
        Value::text(part.kind.as_str()),
        Value::optional_text(part.text.as_deref()),
        Value::optional_text(part.tool_call_id.as_deref()),
        Value::optional_text(part.tool.as_deref()),
        Value::optional_text(part.state.map(PartState::as_str)),
        Value::optional_text(part.input_json.as_deref()),
        Value::optional_text(part.output_json.as_deref()),
        Value::optional_text(part.call_id.as_deref()),
        Value::optional_text(part.signatures_json.as_deref()),
        Value::number(part.created_at_ms)?,
        Value::number(part.updated_at_ms)?,
    ])
}

/// Puts messages and their parts together, which come as one row for each part.
pub(super) fn gathered(rows: &[Row]) -> Result<Gathered, Trouble> {
    let mut gathering = Gathering::default();
    for rows in rows.chunk_by(|one, other| {
        // The first column names the message.
        matches!((one.try_get::<_, &str>(0), other.try_get::<_, &str>(0)), (Ok(one), Ok(other)) if one == other)
    }) {
        let Some(first) = rows.first() else { continue };
        let parts = rows.iter().map(|row| part_row(row, MESSAGE_COLUMNS_COUNT));
        let parts: Vec<Option<ChatPart>> = parts.collect::<Result<_, _>>()?;
        gathering.push(message_row(first)?, parts.into_iter().flatten().collect());
    }
    Ok(gathering.into_gathered())
}

/// Reads a session from [`SESSION_COLUMNS`].
pub(super) fn session_row(row: &Row) -> Result<ChatSession, Trouble> {
    Ok(ChatSession {
        id: row.word(0, |text| ChatId::parse(text).ok())?,
        parent_id: row.optional_word(1, |text| ChatId::parse(text).ok())?,
        parent_tool_call_id: row.optional_text(2)?,
        forked_from_id: row.optional_word(3, |text| ChatId::parse(text).ok())?,
        forked_from_message_id: row.optional_word(4, |text| MessageId::parse(text).ok())?,
        agent: row.text(5)?,
        title: row.optional_text(6)?,
        model: row.text(7)?,
        root: row.text(8)?,
        status: row.word(9, ChatStatus::parse)?,
        mode: row.word(10, ChatMode::parse)?,
        inspectable: row.try_get(11)?,
        delivered: row.try_get(12)?,
        permissions_json: row.text(13)?,
        metadata_json: row.text(14)?,
        depth: row.number(15)?,
        tokens: tokens(row, 16)?,
        steps: row.number(21)?,
        created_at_ms: row.number(22)?,
        updated_at_ms: row.number(23)?,
    })
}

/// Reads a message from [`MESSAGE_COLUMNS`].
pub(super) fn message_row(row: &Row) -> Result<ChatMessage, Trouble> {
    Ok(ChatMessage {
        id: row.word(0, |text| MessageId::parse(text).ok())?,
        session_id: row.word(1, |text| ChatId::parse(text).ok())?,
        role: row.word(2, ChatRole::parse)?,
        kind: row.word(3, MessageKind::parse)?,
        agent: row.optional_text(4)?,
        model: row.optional_text(5)?,
        finish: row.optional_word(6, MessageFinish::parse)?,
        error: row.optional_text(7)?,
        covers_through: row.optional_word(8, |text| MessageId::parse(text).ok())?,
        tokens: tokens(row, 9)?,
        created_at_ms: row.number(14)?,
        completed_at_ms: row.optional_number(15)?,
        rewound_at_ms: row.optional_number(16)?,
    })
}

/// Reads a part from [`PART_COLUMNS`], `None` if there is none.
pub(super) fn part_row(row: &Row, first: usize) -> Result<Option<ChatPart>, Trouble> {
    let Some(id) = row.optional_word(first, |text| PartId::parse(text).ok())? else {
        return Ok(None);
    };
    Ok(Some(ChatPart {
        id,
        message_id: row.word(first + 1, |text| MessageId::parse(text).ok())?,
        session_id: row.word(first + 2, |text| ChatId::parse(text).ok())?,
        kind: row.word(first + 3, PartKind::parse)?,
        text: row.optional_text(first + 4)?,
        tool_call_id: row.optional_text(first + 5)?,
        tool: row.optional_text(first + 6)?,
        state: row.optional_word(first + 7, PartState::parse)?,
        input_json: row.optional_text(first + 8)?,
        output_json: row.optional_text(first + 9)?,
        call_id: row.optional_text(first + 10)?,
        signatures_json: row.optional_text(first + 11)?,
        created_at_ms: row.number(first + 12)?,
        updated_at_ms: row.number(first + 13)?,
    }))
}

/// Reads the counts of tokens from five columns.
fn tokens(row: &Row, first: usize) -> Result<TokenCounts, Trouble> {
    Ok(TokenCounts {
        input: row.number(first)?,
        output: row.number(first + 1)?,
        reasoning: row.number(first + 2)?,
        cache_read: row.number(first + 3)?,
        cache_write: row.number(first + 4)?,
    })
}
