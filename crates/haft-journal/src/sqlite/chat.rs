//! The statements about chats. What belongs where is asked in the statement that writes: where it does not fit, no row is
//! written, and the whole of what came with it is taken back.

use haft_contract::RunId;
use rusqlite::types::Value;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params, params_from_iter};

use super::job::Applied;
use super::reader::{number, optional_number, optional_word, word};
use super::record::FRUITLESS_RESET;
use super::transaction::{Writing, integer};
use crate::chat::{Batch, Gathered, Gathering};
use crate::{
    ChatId, ChatMessage, ChatMode, ChatPart, ChatQuery, ChatRecord, ChatRole, ChatSession,
    ChatStatus, JournalError, Lease, MessageFinish, MessageId, MessageKind, MessageQuery, PartId,
    PartKind, PartState, TokenCounts,
};

const SESSION_COLUMNS: &str = "\
id, parent_id, parent_tool_call_id, forked_from_id, forked_from_message_id, agent, title, model, root, status, mode, \
inspectable, delivered, permissions_json, metadata_json, depth, tokens_input, tokens_output, tokens_reasoning, \
tokens_cache_read, tokens_cache_write, steps, created_at_ms, updated_at_ms";

const MESSAGE_COLUMNS: &str = "\
id, session_id, role, kind, agent, model, finish, error, covers_through, tokens_input, tokens_output, \
tokens_reasoning, tokens_cache_read, tokens_cache_write, created_at_ms, completed_at_ms, rewound_at_ms";

const PART_COLUMNS: &str = "\
id, message_id, session_id, type, text, tool_call_id, tool, state, input_json, output_json, call_id, \
signatures_json, created_at_ms, updated_at_ms";

pub(super) const SESSION_UPSERT: &str = "\
INSERT INTO chat_sessions (id, parent_id, parent_tool_call_id, forked_from_id, forked_from_message_id, agent, title, \
model, root, status, mode, inspectable, delivered, permissions_json, metadata_json, depth, tokens_input, \
tokens_output, tokens_reasoning, tokens_cache_read, tokens_cache_write, steps, created_at_ms, updated_at_ms) \
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24 \
FROM runs WHERE id = ?1 AND is_going = 0 \
ON CONFLICT (id) DO UPDATE SET parent_tool_call_id = excluded.parent_tool_call_id, \
forked_from_id = excluded.forked_from_id, forked_from_message_id = excluded.forked_from_message_id, \
agent = excluded.agent, title = excluded.title, model = excluded.model, root = excluded.root, \
status = excluded.status, mode = excluded.mode, inspectable = excluded.inspectable, delivered = excluded.delivered, \
permissions_json = excluded.permissions_json, metadata_json = excluded.metadata_json, depth = excluded.depth, \
tokens_input = excluded.tokens_input, tokens_output = excluded.tokens_output, \
tokens_reasoning = excluded.tokens_reasoning, tokens_cache_read = excluded.tokens_cache_read, \
tokens_cache_write = excluded.tokens_cache_write, steps = excluded.steps, created_at_ms = excluded.created_at_ms, \
updated_at_ms = max(updated_at_ms, excluded.updated_at_ms) WHERE parent_id IS excluded.parent_id";

pub(super) const MESSAGE_UPSERT: &str = "\
INSERT INTO chat_messages (id, session_id, role, kind, agent, model, finish, error, covers_through, tokens_input, \
tokens_output, tokens_reasoning, tokens_cache_read, tokens_cache_write, created_at_ms, completed_at_ms) \
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16 FROM chat_sessions WHERE id = ?2 \
ON CONFLICT (id) DO UPDATE SET role = excluded.role, kind = excluded.kind, agent = excluded.agent, \
model = excluded.model, finish = excluded.finish, error = excluded.error, covers_through = excluded.covers_through, \
tokens_input = excluded.tokens_input, tokens_output = excluded.tokens_output, \
tokens_reasoning = excluded.tokens_reasoning, tokens_cache_read = excluded.tokens_cache_read, \
tokens_cache_write = excluded.tokens_cache_write, created_at_ms = excluded.created_at_ms, \
completed_at_ms = excluded.completed_at_ms WHERE session_id = excluded.session_id";

pub(super) const PART_UPSERT: &str = "\
INSERT INTO chat_parts (id, message_id, session_id, type, text, tool_call_id, tool, state, input_json, output_json, \
call_id, signatures_json, created_at_ms, updated_at_ms) \
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14 FROM chat_messages WHERE id = ?2 \
AND session_id = ?3 AND NOT EXISTS \
(SELECT 1 FROM chat_parts WHERE session_id = ?3 AND tool_call_id = ?6 AND id <> ?1) \
ON CONFLICT (id) DO UPDATE SET type = excluded.type, text = excluded.text, tool_call_id = excluded.tool_call_id, \
tool = excluded.tool, state = excluded.state, input_json = excluded.input_json, output_json = excluded.output_json, \
call_id = excluded.call_id, signatures_json = excluded.signatures_json, created_at_ms = excluded.created_at_ms, \
updated_at_ms = excluded.updated_at_ms WHERE session_id = excluded.session_id AND message_id = excluded.message_id";

pub(super) const SESSION_TOUCH: &str =
    "UPDATE chat_sessions SET updated_at_ms = max(updated_at_ms, ?2) WHERE id = ?1";

pub(super) const MESSAGE_FIND: &str =
    "SELECT EXISTS (SELECT 1 FROM chat_messages WHERE id = ?2 AND +session_id = ?1)";

pub(super) const MESSAGES_REWIND: &str = "\
UPDATE chat_messages SET rewound_at_ms = ?3 WHERE session_id = ?1 AND id >= ?2 AND rewound_at_ms IS NULL";

/// Records all that a batch holds, or nothing of it.
pub(super) fn record(tx: &mut Writing<'_>, lease: &Lease, batch: &Batch) -> Applied<()> {
    if let Err(refusal) = tx.admit_lease(lease)? {
        return Ok(Err(refusal));
    }
    tx.db.prepare_cached("SAVEPOINT chat")?.execute([])?;
    for record in batch.records() {
        // A failure of the database takes the whole transaction back, and this with it.
        if write(tx, record)? == 0 {
            tx.db.prepare_cached("ROLLBACK TO chat")?.execute([])?;
            tx.db.prepare_cached("RELEASE chat")?.execute([])?;
            return Ok(Err(record.unfit(&lease.run)));
        }
    }
    if let Some(heard_at_ms) = batch.heard_at_ms() {
        touch(tx, &lease.run, heard_at_ms)?;
    }
    tx.db.prepare_cached("RELEASE chat")?.execute([])?;
    let fruitless = tx.standing(&lease.run)?.map_or(0, |standing| standing.fruitless);
    if fruitless > 0 && batch.is_step_ahead() {
        tx.db.prepare_cached(FRUITLESS_RESET)?.execute([lease.run.as_str()])?;
        tx.forget_standing(&lease.run);
    }
    Ok(Ok(()))
}

/// Sets messages aside.
pub(super) fn rewind(
    tx: &mut Writing<'_>,
    lease: &Lease,
    from: &MessageId,
    at_ms: u64,
) -> Applied<u64> {
    if let Err(refusal) = tx.admit_lease(lease)? {
        return Ok(Err(refusal));
    }
    let (run, message) = (lease.run.as_str(), from.as_str());
    let is_there: bool =
        tx.db.prepare_cached(MESSAGE_FIND)?.query_row([run, message], |row| row.get(0))?;
    if !is_there {
        let (run, message) = (lease.run.clone(), from.clone());
        return Ok(Err(JournalError::UnknownMessage { run, message }));
    }
    let rewound =
        tx.db.prepare_cached(MESSAGES_REWIND)?.execute(params![run, message, integer(at_ms)?])?;
    touch(tx, &lease.run, at_ms)?;
    Ok(Ok(u64::try_from(rewound).unwrap_or(u64::MAX)))
}

fn touch(tx: &Writing<'_>, run: &RunId, at_ms: u64) -> rusqlite::Result<()> {
    let parameters = params![run.as_str(), integer(at_ms)?];
    tx.db.prepare_cached(SESSION_TOUCH)?.execute(parameters).map(drop)
}

/// Writes one row, and returns how many that were.
fn write(tx: &Writing<'_>, record: &ChatRecord) -> rusqlite::Result<usize> {
    match record {
        ChatRecord::Session(session) => {
            write_session(tx.db.prepare_cached(SESSION_UPSERT)?, session)
        }
        ChatRecord::Message(message) => {
            write_message(tx.db.prepare_cached(MESSAGE_UPSERT)?, message)
        }
        ChatRecord::Part(part) => write_part(tx.db.prepare_cached(PART_UPSERT)?, part),
    }
}

fn write_session(
    mut statement: CachedStatement<'_>,
    session: &ChatSession,
) -> rusqlite::Result<usize> {
    let tokens = &session.tokens;
    statement.execute(params![
        session.id.as_str(),
        session.parent_id.as_ref().map(ChatId::as_str),
        session.parent_tool_call_id,
        session.forked_from_id.as_ref().map(ChatId::as_str),
        session.forked_from_message_id.as_ref().map(MessageId::as_str),
        session.agent,
        session.title,
        session.model,
        session.root,
        session.status.as_str(),
        session.mode.as_str(),
        session.inspectable,
        session.delivered,
        session.permissions_json,
        session.metadata_json,
        session.depth,
        integer(tokens.input)?,
        integer(tokens.output)?,
        integer(tokens.reasoning)?,
        integer(tokens.cache_read)?,
        integer(tokens.cache_write)?,
        session.steps,
        integer(session.created_at_ms)?,
        integer(session.updated_at_ms)?,
    ])
}

fn write_message(
    mut statement: CachedStatement<'_>,
    message: &ChatMessage,
) -> rusqlite::Result<usize> {
    let tokens = &message.tokens;
    statement.execute(params![
        message.id.as_str(),
        message.session_id.as_str(),
        message.role.as_str(),
        message.kind.as_str(),
        message.agent,
        message.model,
        message.finish.map(MessageFinish::as_str),
        message.error,
        message.covers_through.as_ref().map(MessageId::as_str),
        integer(tokens.input)?,
        integer(tokens.output)?,
        integer(tokens.reasoning)?,
        integer(tokens.cache_read)?,
        integer(tokens.cache_write)?,
        integer(message.created_at_ms)?,
        message.completed_at_ms.map(integer).transpose()?,
    ])
}

fn write_part(mut statement: CachedStatement<'_>, part: &ChatPart) -> rusqlite::Result<usize> {
    statement.execute(params![
        part.id.as_str(),
        part.message_id.as_str(),
        part.session_id.as_str(),
        part.kind.as_str(),
        part.text,
        part.tool_call_id,
        part.tool,
        part.state.map(PartState::as_str),
        part.input_json,
        part.output_json,
        part.call_id,
        part.signatures_json,
        integer(part.created_at_ms)?,
        integer(part.updated_at_ms)?,
    ])
}

/// Returns a chat, unless its run is being removed.
pub(super) fn chat(db: &Connection, id: &ChatId) -> rusqlite::Result<Option<ChatSession>> {
    db.prepare_cached(&chat_statement())?.query_row([id.as_str()], session_row).optional()
}

/// Returns the text of the query for one chat.
pub(super) fn chat_statement() -> String {
    format!("SELECT {SESSION_COLUMNS} FROM chat_sessions WHERE id = ?1 AND {IS_STAYING}")
}

/// Whether the run of a session is not being removed.
const IS_STAYING: &str =
    "NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = chat_sessions.id AND is_going = 1)";

/// Returns the chats that the query asks for.
pub(super) fn chats(db: &Connection, query: &ChatQuery) -> rusqlite::Result<Vec<ChatSession>> {
    let (text, parameters) = chats_statement(query);
    let mut statement = db.prepare_cached(&text)?;
    let rows = statement.query_map(params_from_iter(parameters), session_row)?;
    rows.collect()
}

/// Returns the text and the parameters of a query for chats.
pub(super) fn chats_statement(query: &ChatQuery) -> (String, Vec<Value>) {
    let (mut filter, mut parameters) = (String::new(), Vec::new());
    if let Some(parent) = &query.parent {
        filter.push_str("AND parent_id = ? ");
        parameters.push(parent.as_str().to_owned().into());
    }
    if let Some(before) = &query.before {
        filter.push_str("AND id < ? ");
        parameters.push(before.as_str().to_owned().into());
    }
    if let Some(root) = &query.root {
        filter.push_str("AND root = ? ");
        parameters.push(root.clone().into());
    }
    if query.only_top {
        filter.push_str("AND parent_id IS NULL ");
    }
    if !query.with_opaque {
        filter.push_str("AND inspectable = 1 ");
    }
    parameters.push(query.rows_max().into());
    let text = format!(
        "SELECT {SESSION_COLUMNS} FROM chat_sessions WHERE {IS_STAYING} {filter}ORDER BY id DESC LIMIT ?"
    );
    (text, parameters)
}

/// Returns messages of a chat with their parts.
pub(super) fn messages(
    db: &Connection,
    chat: &ChatId,
    query: &MessageQuery,
) -> rusqlite::Result<Gathered> {
    let mut statement = db.prepare_cached(&messages_statement(query))?;
    let mut parts_statement = db.prepare_cached(&parts_statement())?;
    let after = query.after.as_ref().map_or("", MessageId::as_str);
    let mut rows = statement.query(params![chat.as_str(), after, query.rows_max()])?;
    let mut gathering = Gathering::default();
    while !gathering.is_full()
        && let Some(row) = rows.next()?
    {
        let message = message_row(row)?;
        let parts = parts_statement.query_map([message.id.as_str()], part_row)?;
        gathering.push(message, parts.collect::<Result<_, _>>()?);
    }
    Ok(gathering.into_gathered())
}

/// Returns the text of the query for messages.
pub(super) fn messages_statement(query: &MessageQuery) -> String {
    let filter = if query.with_rewound { "" } else { "AND rewound_at_ms IS NULL " };
    format!(
        "SELECT {MESSAGE_COLUMNS} FROM chat_messages WHERE session_id = ?1 AND id > ?2 {filter}\
         AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = ?1 AND is_going = 1) ORDER BY id LIMIT ?3"
    )
}

/// Returns the text of the query for the parts of a message.
pub(super) fn parts_statement() -> String {
    format!("SELECT {PART_COLUMNS} FROM chat_parts WHERE message_id = ?1 ORDER BY id")
}

/// Returns the texts of the queries for all there is: sessions, messages and parts.
pub(super) fn everything() -> [String; 3] {
    [
        format!("SELECT {SESSION_COLUMNS} FROM chat_sessions ORDER BY id"),
        format!("SELECT {MESSAGE_COLUMNS} FROM chat_messages ORDER BY id"),
        format!("SELECT {PART_COLUMNS} FROM chat_parts ORDER BY id"),
    ]
}

/// Reads a session.
pub(super) fn session_row(row: &Row<'_>) -> rusqlite::Result<ChatSession> {
    Ok(ChatSession {
        id: word(row, 0, |text| ChatId::parse(text).ok())?,
        parent_id: optional_word(row, 1, |text| ChatId::parse(text).ok())?,
        parent_tool_call_id: row.get(2)?,
        forked_from_id: optional_word(row, 3, |text| ChatId::parse(text).ok())?,
        forked_from_message_id: optional_word(row, 4, |text| MessageId::parse(text).ok())?,
        agent: row.get(5)?,
        title: row.get(6)?,
        model: row.get(7)?,
        root: row.get(8)?,
        status: word(row, 9, ChatStatus::parse)?,
        mode: word(row, 10, ChatMode::parse)?,
        inspectable: row.get(11)?,
        delivered: row.get(12)?,
        permissions_json: row.get(13)?,
        metadata_json: row.get(14)?,
        depth: number(row, 15)?,
        tokens: tokens(row, 16)?,
        steps: number(row, 21)?,
        created_at_ms: number(row, 22)?,
        updated_at_ms: number(row, 23)?,
    })
}

/// Reads a message.
pub(super) fn message_row(row: &Row<'_>) -> rusqlite::Result<ChatMessage> {
    Ok(ChatMessage {
        id: word(row, 0, |text| MessageId::parse(text).ok())?,
        session_id: word(row, 1, |text| ChatId::parse(text).ok())?,
        role: word(row, 2, ChatRole::parse)?,
        kind: word(row, 3, MessageKind::parse)?,
        agent: row.get(4)?,
        model: row.get(5)?,
        finish: optional_word(row, 6, MessageFinish::parse)?,
        error: row.get(7)?,
        covers_through: optional_word(row, 8, |text| MessageId::parse(text).ok())?,
        tokens: tokens(row, 9)?,
        created_at_ms: number(row, 14)?,
        completed_at_ms: optional_number(row, 15)?,
        rewound_at_ms: optional_number(row, 16)?,
    })
}

/// Reads a part.
pub(super) fn part_row(row: &Row<'_>) -> rusqlite::Result<ChatPart> {
    Ok(ChatPart {
        id: word(row, 0, |text| PartId::parse(text).ok())?,
        message_id: word(row, 1, |text| MessageId::parse(text).ok())?,
        session_id: word(row, 2, |text| ChatId::parse(text).ok())?,
        kind: word(row, 3, PartKind::parse)?,
        text: row.get(4)?,
        tool_call_id: row.get(5)?,
        tool: row.get(6)?,
        state: optional_word(row, 7, PartState::parse)?,
        input_json: row.get(8)?,
        output_json: row.get(9)?,
        call_id: row.get(10)?,
        signatures_json: row.get(11)?,
        created_at_ms: number(row, 12)?,
        updated_at_ms: number(row, 13)?,
    })
}

/// Reads the counts of tokens from five columns.
fn tokens(row: &Row<'_>, first: usize) -> rusqlite::Result<TokenCounts> {
    Ok(TokenCounts {
        input: number(row, first)?,
        output: number(row, first + 1)?,
        reasoning: number(row, first + 2)?,
        cache_read: number(row, first + 3)?,
        cache_write: number(row, first + 4)?,
    })
}
