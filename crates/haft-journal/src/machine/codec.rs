//! How the journal's types are kept in rows, and read back.

use std::path::Path;

use haft_contract::{AttemptAddress, CallAddress, RunId};

use crate::row::parse_effect;
use crate::short_key::short_key;
use crate::store::{
    Column, Row, RowCondition, RowError, RowQuery, Value, calls, late_outcomes, messages, parts,
    runs, sessions, snapshots,
};
use crate::{
    CallRow, CallStatus, ChangedRepository, JournalError, LateOutcome, MessageFinish, MessageId,
    MessageKind, MessagePart, MessageRole, NewRun, PartId, PartKind, PartState, PlannedCall,
    SessionId, SessionMessage, SessionMode, SessionRow, SessionStatus, SettledBy,
    SettlementVerdict, SnapshotNote, TokenCounts,
};

/// The columns of a row with their values.
pub(super) type Cells = Vec<(Column, Value)>;

/// A number that no column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge(u64);

impl TooLarge {
    pub(super) fn error(self, location: &Path) -> JournalError {
        let detail = format!("{} is more than a column holds, {}", self.0, i64::MAX);
        JournalError::Failed { path: location.to_owned(), detail }
    }
}

/// Returns the number as a column holds it.
pub(super) fn integer(number: u64) -> Result<Value, TooLarge> {
    i64::try_from(number).map(Value::Integer).map_err(|_| TooLarge(number))
}

/// Returns the key of a run, and of its session.
pub(super) fn run_key(run: &RunId) -> [Value; 1] {
    [run.as_str().into()]
}

/// Returns the key of a call.
pub(super) fn call_key(call: &CallAddress) -> [Value; 5] {
    let AttemptAddress { run, node, iteration, attempt } = &call.scope;
    let (run, node) = (run.as_str().into(), node.as_str().into());
    [run, node, (*iteration).into(), (*attempt).into(), call.seq.into()]
}

/// Asks for the calls of a run.
pub(super) fn calls_of_run(run: &RunId, columns: &'static [Column]) -> RowQuery {
    let of_run = RowCondition::Equal(calls::RUN, run.as_str().into());
    RowQuery::of(&calls::TABLE, columns).with([of_run])
}

/// Asks for the calls of a node and iteration, in the order of their addresses.
pub(super) fn calls_of_iteration(scope: &AttemptAddress, columns: &'static [Column]) -> RowQuery {
    calls_of_run(&scope.run, columns).with([
        RowCondition::Equal(calls::NODE, scope.node.as_str().into()),
        RowCondition::Equal(calls::ITERATION, scope.iteration.into()),
    ])
}

/// Asks for the calls of an attempt, in the order of their numbers.
pub(super) fn calls_of_attempt(scope: &AttemptAddress, columns: &'static [Column]) -> RowQuery {
    let of_attempt = RowCondition::Equal(calls::ATTEMPT, scope.attempt.into());
    calls_of_iteration(scope, columns).with([of_attempt])
}

/// Returns the row of a run that begins.
pub(super) fn new_run(run: &NewRun, fencing_token: u64) -> Result<Cells, TooLarge> {
    Ok(vec![
        (runs::ID, run.id.as_str().into()),
        (runs::FRONT_END, run.front_end.as_str().into()),
        (runs::ROOT, run.root.as_str().into()),
        (runs::VERSION, run.version.as_str().into()),
        (runs::STARTED_AT_MS, integer(run.started_at_ms)?),
        (runs::SETTINGS, run.settings.as_str().into()),
        (runs::FENCING_TOKEN, integer(fencing_token)?),
        (runs::FAILED_RESUMES, Value::Integer(0)),
        (runs::FAILED_SINCE, Value::Integer(0)),
        (runs::IS_BEING_REMOVED, false.into()),
        (runs::SHORT_KEY, short_key(&run.id).into()),
        (runs::HELD_UNTIL_MS, integer(run.started_at_ms)?),
    ])
}

/// Returns the row of a call that is about to execute. Its change number comes first, and is filled in by the record.
pub(super) fn open_call(call: &PlannedCall) -> Result<Cells, TooLarge> {
    let [run, node, iteration, attempt, seq] = call_key(&call.id);
    Ok(vec![
        (calls::CHANGE, Value::Integer(0)),
        (calls::RUN, run),
        (calls::NODE, node),
        (calls::ITERATION, iteration),
        (calls::ATTEMPT, attempt),
        (calls::SEQ, seq),
        (calls::FENCING_TOKEN, integer(call.fencing_token)?),
        (calls::TOOL, call.tool.as_str().into()),
        (calls::EFFECT, call.effect.as_str().into()),
        (calls::STATUS, CallStatus::Intended.as_str().into()),
        (calls::STARTED_AT_MS, integer(call.started_at_ms)?),
        (calls::FIRST_KEY, call.first_key.to_string().into()),
        (calls::CALL_KEY, call.call_key.to_string().into()),
        (calls::DRIVER_CALL_ID, call.driver_call_id.clone().into()),
        (calls::INPUT, call.input.as_str().into()),
        (calls::ACCESSES, call.accesses.as_str().into()),
    ])
}

/// Reads a call.
pub(super) fn call_row(row: &mut Row) -> Result<CallRow, RowError> {
    let CallAddress { scope, seq } = call_id(row)?;
    Ok(CallRow {
        change: row.number(calls::CHANGE)?,
        scope,
        seq,
        tool: row.text(calls::TOOL)?,
        effect: row.word(calls::EFFECT, parse_effect)?,
        status: row.word(calls::STATUS, CallStatus::parse)?,
        started_at_ms: row.number(calls::STARTED_AT_MS)?,
        finished_at_ms: row.optional_number(calls::FINISHED_AT_MS)?,
        first_key: row.text(calls::FIRST_KEY)?,
        call_key: row.text(calls::CALL_KEY)?,
        driver_call_id: row.optional_text(calls::DRIVER_CALL_ID)?,
        input: row.text(calls::INPUT)?,
        accesses: row.text(calls::ACCESSES)?,
        fencing_token: row.number(calls::FENCING_TOKEN)?,
        details: row.optional_text(calls::DETAILS)?,
        envelope: row.optional_text(calls::ENVELOPE)?,
        verdict: row.optional_word(calls::VERDICT, SettlementVerdict::parse)?,
        settled_by: row.optional_word(calls::SETTLED_BY, SettledBy::parse)?,
    })
}

/// Reads which call a row is of.
pub(super) fn call_id(row: &mut Row) -> Result<CallAddress, RowError> {
    address(row, [calls::RUN, calls::NODE, calls::ITERATION, calls::ATTEMPT, calls::SEQ])
}

/// Reads the address of a call from these columns.
pub(super) fn address(row: &mut Row, columns: [Column; 5]) -> Result<CallAddress, RowError> {
    let [run, node, iteration, attempt, seq] = columns;
    let scope = AttemptAddress {
        run: row.word(run, |text| RunId::parse(text).ok())?,
        node: row.text(node)?,
        iteration: row.number(iteration)?,
        attempt: row.number(attempt)?,
    };
    Ok(CallAddress { scope, seq: row.number(seq)? })
}

/// Reads an outcome that came too late.
pub(super) fn late_outcome(row: &mut Row) -> Result<LateOutcome, RowError> {
    use late_outcomes as late;
    Ok(LateOutcome {
        call: address(row, [late::RUN, late::NODE, late::ITERATION, late::ATTEMPT, late::SEQ])?,
        tool: row.text(late::TOOL)?,
        fencing_token: row.number(late::FENCING_TOKEN)?,
        status: row.word(late::STATUS, CallStatus::parse)?,
        envelope: row.text(late::ENVELOPE)?,
        finished_at_ms: row.number(late::FINISHED_AT_MS)?,
    })
}

/// Returns the row of a snapshot's note: first its key, then the rest.
pub(super) fn snapshot_cells(note: &SnapshotNote) -> Result<(Cells, Cells), TooLarge> {
    let [run, node, iteration, attempt, seq] = call_key(&note.call);
    let key = vec![
        (snapshots::RUN, run),
        (snapshots::NODE, node),
        (snapshots::ITERATION, iteration),
        (snapshots::ATTEMPT, attempt),
        (snapshots::SEQ, seq),
        (snapshots::ROOT, note.root.as_str().into()),
    ];
    let rest = vec![
        (snapshots::BEFORE, note.before.clone().into()),
        (snapshots::AFTER, note.after.clone().into()),
        (snapshots::NOTE, note.note.clone().into()),
        (snapshots::TAKEN_AT_MS, integer(note.taken_at_ms)?),
        (snapshots::REPOSITORIES, repositories_json(&note.repositories).into()),
    ];
    Ok((key, rest))
}

/// Reads the note of a snapshot.
pub(super) fn snapshot_note(row: &mut Row) -> Result<SnapshotNote, RowError> {
    use snapshots as of;
    Ok(SnapshotNote {
        call: address(row, [of::RUN, of::NODE, of::ITERATION, of::ATTEMPT, of::SEQ])?,
        root: row.text(of::ROOT)?,
        before: row.optional_text(of::BEFORE)?,
        after: row.optional_text(of::AFTER)?,
        note: row.optional_text(of::NOTE)?,
        taken_at_ms: row.number(of::TAKEN_AT_MS)?,
        // A text that is not such a list was written by another hand.
        repositories: row
            .optional_text(of::REPOSITORIES)?
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default(),
    })
}

/// Returns what a row keeps of the repositories that a call changed.
fn repositories_json(repositories: &[ChangedRepository]) -> Option<String> {
    let text = || {
        serde_json::to_string(repositories)
            .expect("the list is made of strings and words, which always serialize")
    };
    (!repositories.is_empty()).then(text)
}

/// Returns the row of a session.
pub(super) fn session_cells(session: &SessionRow) -> Result<Cells, TooLarge> {
    use sessions as of;
    let id = |id: &Option<SessionId>| id.as_ref().map(SessionId::as_str).into();
    let tokens = &session.tokens;
    Ok(vec![
        (of::ID, session.id.as_str().into()),
        (of::PARENT_ID, id(&session.parent_id)),
        (of::PARENT_TOOL_CALL_ID, session.parent_tool_call_id.clone().into()),
        (of::FORKED_FROM_ID, id(&session.forked_from_id)),
        (
            of::FORKED_FROM_MESSAGE_ID,
            session.forked_from_message_id.as_ref().map(MessageId::as_str).into(),
        ),
        (of::AGENT, session.agent.as_str().into()),
        (of::TITLE, session.title.clone().into()),
        (of::MODEL, session.model.as_str().into()),
        (of::ROOT, session.root.as_str().into()),
        (of::STATUS, session.status.as_str().into()),
        (of::MODE, session.mode.as_str().into()),
        (of::INSPECTABLE, session.inspectable.into()),
        (of::DELIVERED, session.delivered.into()),
        (of::PERMISSIONS_JSON, session.permissions_json.as_str().into()),
        (of::METADATA_JSON, session.metadata_json.as_str().into()),
        (of::DEPTH, session.depth.into()),
        (of::TOKENS_INPUT, integer(tokens.input)?),
        (of::TOKENS_OUTPUT, integer(tokens.output)?),
        (of::TOKENS_REASONING, integer(tokens.reasoning)?),
        (of::TOKENS_CACHE_READ, integer(tokens.cache_read)?),
        (of::TOKENS_CACHE_WRITE, integer(tokens.cache_write)?),
        (of::STEPS, session.steps.into()),
        (of::CREATED_AT_MS, integer(session.created_at_ms)?),
        (of::UPDATED_AT_MS, integer(session.updated_at_ms)?),
    ])
}

/// Reads a session.
pub(super) fn session_row(row: &mut Row) -> Result<SessionRow, RowError> {
    use sessions as of;
    Ok(SessionRow {
        id: row.word(of::ID, |text| SessionId::parse(text).ok())?,
        parent_id: row.optional_word(of::PARENT_ID, |text| SessionId::parse(text).ok())?,
        parent_tool_call_id: row.optional_text(of::PARENT_TOOL_CALL_ID)?,
        forked_from_id: row
            .optional_word(of::FORKED_FROM_ID, |text| SessionId::parse(text).ok())?,
        forked_from_message_id: row
            .optional_word(of::FORKED_FROM_MESSAGE_ID, |text| MessageId::parse(text).ok())?,
        agent: row.text(of::AGENT)?,
        title: row.optional_text(of::TITLE)?,
        model: row.text(of::MODEL)?,
        root: row.text(of::ROOT)?,
        status: row.word(of::STATUS, SessionStatus::parse)?,
        mode: row.word(of::MODE, SessionMode::parse)?,
        inspectable: row.flag(of::INSPECTABLE)?,
        delivered: row.flag(of::DELIVERED)?,
        permissions_json: row.text(of::PERMISSIONS_JSON)?,
        metadata_json: row.text(of::METADATA_JSON)?,
        depth: row.number(of::DEPTH)?,
        tokens: TokenCounts {
            input: row.number(of::TOKENS_INPUT)?,
            output: row.number(of::TOKENS_OUTPUT)?,
            reasoning: row.number(of::TOKENS_REASONING)?,
            cache_read: row.number(of::TOKENS_CACHE_READ)?,
            cache_write: row.number(of::TOKENS_CACHE_WRITE)?,
        },
        steps: row.number(of::STEPS)?,
        created_at_ms: row.number(of::CREATED_AT_MS)?,
        updated_at_ms: row.number(of::UPDATED_AT_MS)?,
    })
}

/// Returns the row of a message, but for when it was set aside: recording does not say that.
pub(super) fn message_cells(message: &SessionMessage) -> Result<Cells, TooLarge> {
    use messages as of;
    let tokens = &message.tokens;
    Ok(vec![
        (of::ID, message.id.as_str().into()),
        (of::SESSION_ID, message.session_id.as_str().into()),
        (of::ROLE, message.role.as_str().into()),
        (of::KIND, message.kind.as_str().into()),
        (of::AGENT, message.agent.clone().into()),
        (of::MODEL, message.model.clone().into()),
        (of::FINISH, message.finish.map(MessageFinish::as_str).into()),
        (of::ERROR, message.error.clone().into()),
        (of::COVERS_THROUGH, message.covers_through.as_ref().map(MessageId::as_str).into()),
        (of::TOKENS_INPUT, integer(tokens.input)?),
        (of::TOKENS_OUTPUT, integer(tokens.output)?),
        (of::TOKENS_REASONING, integer(tokens.reasoning)?),
        (of::TOKENS_CACHE_READ, integer(tokens.cache_read)?),
        (of::TOKENS_CACHE_WRITE, integer(tokens.cache_write)?),
        (of::CREATED_AT_MS, integer(message.created_at_ms)?),
        (of::COMPLETED_AT_MS, message.completed_at_ms.map_or(Ok(Value::Null), integer)?),
    ])
}

/// Reads a message.
pub(super) fn message_row(row: &mut Row) -> Result<SessionMessage, RowError> {
    use messages as of;
    Ok(SessionMessage {
        id: row.word(of::ID, |text| MessageId::parse(text).ok())?,
        session_id: row.word(of::SESSION_ID, |text| SessionId::parse(text).ok())?,
        role: row.word(of::ROLE, MessageRole::parse)?,
        kind: row.word(of::KIND, MessageKind::parse)?,
        agent: row.optional_text(of::AGENT)?,
        model: row.optional_text(of::MODEL)?,
        finish: row.optional_word(of::FINISH, MessageFinish::parse)?,
        error: row.optional_text(of::ERROR)?,
        covers_through: row
            .optional_word(of::COVERS_THROUGH, |text| MessageId::parse(text).ok())?,
        tokens: TokenCounts {
            input: row.number(of::TOKENS_INPUT)?,
            output: row.number(of::TOKENS_OUTPUT)?,
            reasoning: row.number(of::TOKENS_REASONING)?,
            cache_read: row.number(of::TOKENS_CACHE_READ)?,
            cache_write: row.number(of::TOKENS_CACHE_WRITE)?,
        },
        created_at_ms: row.number(of::CREATED_AT_MS)?,
        completed_at_ms: row.optional_number(of::COMPLETED_AT_MS)?,
        rewound_at_ms: row.optional_number(of::REWOUND_AT_MS)?,
    })
}

/// Returns the row of a part.
pub(super) fn part_cells(part: &MessagePart) -> Result<Cells, TooLarge> {
    use parts as of;
    Ok(vec![
        (of::ID, part.id.as_str().into()),
        (of::MESSAGE_ID, part.message_id.as_str().into()),
        (of::SESSION_ID, part.session_id.as_str().into()),
        (of::KIND, part.kind.as_str().into()),
        (of::STATE, part.state.map(PartState::as_str).into()),
        (of::CREATED_AT_MS, integer(part.created_at_ms)?),
        (of::UPDATED_AT_MS, integer(part.updated_at_ms)?),
        (of::TOOL_CALL_ID, part.tool_call_id.clone().into()),
        (of::TOOL, part.tool.clone().into()),
        (of::CALL_ID, part.call_id.clone().into()),
        (of::TEXT, part.text.clone().into()),
        (of::INPUT_JSON, part.input_json.clone().into()),
        (of::OUTPUT_JSON, part.output_json.clone().into()),
        (of::SIGNATURES_JSON, part.signatures_json.clone().into()),
    ])
}

/// Reads a part.
pub(super) fn part_row(row: &mut Row) -> Result<MessagePart, RowError> {
    use parts as of;
    Ok(MessagePart {
        id: row.word(of::ID, |text| PartId::parse(text).ok())?,
        message_id: row.word(of::MESSAGE_ID, |text| MessageId::parse(text).ok())?,
        session_id: row.word(of::SESSION_ID, |text| SessionId::parse(text).ok())?,
        kind: row.word(of::KIND, PartKind::parse)?,
        text: row.optional_text(of::TEXT)?,
        tool_call_id: row.optional_text(of::TOOL_CALL_ID)?,
        tool: row.optional_text(of::TOOL)?,
        state: row.optional_word(of::STATE, PartState::parse)?,
        input_json: row.optional_text(of::INPUT_JSON)?,
        output_json: row.optional_text(of::OUTPUT_JSON)?,
        call_id: row.optional_text(of::CALL_ID)?,
        signatures_json: row.optional_text(of::SIGNATURES_JSON)?,
        // Known once the texts are read.
        lies_apart: false,
        created_at_ms: row.number(of::CREATED_AT_MS)?,
        updated_at_ms: row.number(of::UPDATED_AT_MS)?,
    })
}
