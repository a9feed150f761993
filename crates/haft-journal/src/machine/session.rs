//! Sessions: what is recorded of a conversation belongs to the session of the run that the lease is of. All that is recorded
//! together is looked at before the first row of it is written.

use std::collections::{HashMap, VecDeque};

use haft_contract::RunId;

use super::codec::{self, Cells, run_key};
use super::lease_state::{LEASE, lease_state};
use super::recall::all;
use super::{Stop, contents, lease};
use crate::limits::QUERY_BYTES_MAX;
use crate::session::{Gathered, Gathering, SessionBatch};
use crate::store::{
    Column, Inserted, Reader, RowCondition, RowNeed, RowQuery, RowUpdate, Table, Transaction,
    Value, messages, parts, runs, sessions,
};
use crate::{
    JournalError, Lease, MessageId, MessagePart, MessageQuery, SessionId, SessionMessage,
    SessionQuery, SessionRecord, SessionRow,
};

const SESSION_HEAD: &[Column] = &[sessions::PARENT_ID, sessions::UPDATED_AT_MS];
const MESSAGE_HEAD: &[Column] = &[messages::SESSION_ID];
const PART_HEAD: &[Column] = &[parts::MESSAGE_ID, parts::SESSION_ID];

/// Returns the rows that a record of a session looks at.
pub(super) fn needs(run: &RunId, batch: &SessionBatch) -> Vec<RowNeed> {
    let need = |table, id: &str, columns| RowNeed { table, key: vec![id.into()], columns };
    let mut needs = vec![
        need(&runs::TABLE, run.as_str(), LEASE),
        need(&sessions::TABLE, run.as_str(), SESSION_HEAD),
    ];
    for record in batch.records() {
        match record {
            SessionRecord::Session(session) => {
                needs.push(need(&runs::TABLE, session.id.as_str(), LEASE));
                needs.push(need(&sessions::TABLE, session.id.as_str(), SESSION_HEAD));
            }
            SessionRecord::Message(message) => {
                needs.push(need(&messages::TABLE, message.id.as_str(), MESSAGE_HEAD));
            }
            SessionRecord::Part(part) => {
                needs.push(need(&messages::TABLE, part.message_id.as_str(), MESSAGE_HEAD));
                needs.push(need(&parts::TABLE, part.id.as_str(), PART_HEAD));
            }
        }
    }
    needs.extend(batch.contents().iter().map(|content| contents::need(run, &content.digest)));
    needs
}

/// Records all that a batch holds, or nothing of it.
pub(super) fn record(
    tx: &mut dyn Transaction,
    lease: &Lease,
    batch: &SessionBatch,
) -> Result<(), Stop> {
    let state = lease::admit_lease(tx, lease)?;
    let mut known = Known::of(tx, &lease.run, batch)?;
    let mut writes = Vec::with_capacity(batch.records().len());
    for record in batch.records() {
        let write = known.place(tx, record)?;
        writes.push(write.ok_or_else(|| record.unfit(&lease.run))?);
    }
    contents::insert(tx, &lease.run, batch.contents())?;
    for RowWrite { table, cells, is_known } in &writes {
        match (is_known, cells.split_first()) {
            (true, Some(((_, id), changes))) => {
                let key = std::slice::from_ref(id);
                tx.update(&RowUpdate { table, key, place: None, expected: &[], changes })?;
            }
            _ => match tx.insert(table, cells)? {
                Inserted::At(_) => {}
                Inserted::Taken => unreachable!("a row that is not there has a free key"),
            },
        }
    }
    if let Some(latest_ms) = batch.recorded_at_ms() {
        touch(tx, &lease.run, latest_ms)?;
    }
    if state.failed_resumes > 0 && batch.is_step_ahead() {
        lease::reset_failed_resumes(tx, &lease.run)?;
    }
    Ok(())
}

/// Sets a message and all later ones aside.
pub(super) fn rewind(
    tx: &mut dyn Transaction,
    lease: &Lease,
    from: &MessageId,
    at_ms: u64,
) -> Result<u64, Stop> {
    lease::admit_lease(tx, lease)?;
    let run = Value::from(lease.run.as_str());
    let found = tx.get(&messages::TABLE, &[from.as_str().into()], MESSAGE_HEAD)?;
    if found.is_none_or(|row| *row.value(messages::SESSION_ID) != run) {
        let (run, message) = (lease.run.clone(), from.clone());
        return Err(JournalError::UnknownMessage { run, message }.into());
    }
    let query = RowQuery::of(&messages::TABLE, &[messages::ID]).with([
        RowCondition::Equal(messages::SESSION_ID, run),
        RowCondition::AtLeast(messages::ID, from.as_str().into()),
        RowCondition::Equal(messages::REWOUND_AT_MS, Value::Null),
    ]);
    let changes = &[(messages::REWOUND_AT_MS, codec::integer(at_ms)?)];
    let rows = tx.select(&query)?;
    for row in &rows {
        let (table, key) = (&messages::TABLE, row.values());
        tx.update(&RowUpdate { table, key, place: None, expected: &[], changes })?;
    }
    touch(tx, &lease.run, at_ms)?;
    Ok(u64::try_from(rows.len()).unwrap_or(u64::MAX))
}

/// Says when something of a session was recorded.
fn touch(tx: &mut dyn Transaction, run: &RunId, at_ms: u64) -> Result<(), Stop> {
    let (table, key) = (&sessions::TABLE, &run_key(run));
    let Some(row) = tx.get(table, key, SESSION_HEAD)? else { return Ok(()) };
    if row.number::<u64>(sessions::UPDATED_AT_MS)? < at_ms {
        let changes = &[(sessions::UPDATED_AT_MS, codec::integer(at_ms)?)];
        tx.update(&RowUpdate { table, key, place: None, expected: &[], changes })?;
    }
    Ok(())
}

/// A row that has its place.
struct RowWrite {
    table: &'static Table,
    /// The id comes first.
    cells: Cells,
    /// Whether there is a row of that id, which this one replaces.
    is_known: bool,
}

/// The rows that are in the store, with the rows of the batch so far.
#[derive(Default)]
struct Known {
    /// The parent of each session, and when it was updated last.
    sessions: HashMap<SessionId, Option<(Option<SessionId>, u64)>>,
    /// The session of each message.
    messages: HashMap<MessageId, Option<SessionId>>,
    /// The message and session of each part.
    parts: HashMap<String, (String, String)>,
    /// The part of each tool call of the session.
    tool_calls: HashMap<String, String>,
}

impl Known {
    fn of(tx: &mut dyn Transaction, run: &RunId, batch: &SessionBatch) -> Result<Self, Stop> {
        let tool_call = |record: &SessionRecord| match record {
            SessionRecord::Part(part) => part.tool_call_id.as_deref().map(Value::from),
            SessionRecord::Session(_) | SessionRecord::Message(_) => None,
        };
        let ids: Vec<Value> = batch.records().iter().filter_map(tool_call).collect();
        let mut known = Self::default();
        if !ids.is_empty() {
            const COLUMNS: &[Column] = &[parts::TOOL_CALL_ID, parts::ID];
            let query = RowQuery::of(&parts::TABLE, COLUMNS).with([
                RowCondition::Equal(parts::SESSION_ID, run.as_str().into()),
                RowCondition::OneOf(parts::TOOL_CALL_ID, ids),
            ]);
            for mut row in tx.select(&query)? {
                known.tool_calls.insert(row.text(parts::TOOL_CALL_ID)?, row.text(parts::ID)?);
            }
        }
        Ok(known)
    }

    /// Returns how a record is written, `None` if it belongs elsewhere.
    fn place(
        &mut self,
        tx: &mut dyn Transaction,
        record: &SessionRecord,
    ) -> Result<Option<RowWrite>, Stop> {
        match record {
            SessionRecord::Session(session) => {
                let run = lease_state(tx, &session.id.run())?;
                let known = self.session(tx, &session.id)?;
                let is_moved =
                    known.as_ref().is_some_and(|(parent, _)| *parent != session.parent_id);
                if is_moved || run.is_none_or(|run| run.is_being_removed) {
                    return Ok(None);
                }
                let is_known = known.is_some();
                let before_ms = known.map_or(0, |(_, updated_at_ms)| updated_at_ms);
                let updated_at_ms = session.updated_at_ms.max(before_ms);
                let cells = codec::session_cells(&SessionRow { updated_at_ms, ..session.clone() })?;
                let now = Some((session.parent_id.clone(), updated_at_ms));
                self.sessions.insert(session.id.clone(), now);
                Ok(Some(RowWrite { table: &sessions::TABLE, cells, is_known }))
            }
            SessionRecord::Message(message) => {
                let known = self.message(tx, &message.id)?;
                let is_moved = known.as_ref().is_some_and(|session| *session != message.session_id);
                if is_moved || self.session(tx, &message.session_id)?.is_none() {
                    return Ok(None);
                }
                let (cells, is_known) = (codec::message_cells(message)?, known.is_some());
                self.messages.insert(message.id.clone(), Some(message.session_id.clone()));
                Ok(Some(RowWrite { table: &messages::TABLE, cells, is_known }))
            }
            SessionRecord::Part(part) => {
                if self.message(tx, &part.message_id)?.as_ref() != Some(&part.session_id) {
                    return Ok(None);
                }
                let id = part.id.as_str();
                let place = (part.message_id.to_string(), part.session_id.to_string());
                let known = match self.parts.get(id) {
                    Some(known) => Some(known.clone()),
                    None => match tx.get(&parts::TABLE, &[id.into()], PART_HEAD)? {
                        Some(mut row) => {
                            Some((row.text(parts::MESSAGE_ID)?, row.text(parts::SESSION_ID)?))
                        }
                        None => None,
                    },
                };
                let is_moved = known.as_ref().is_some_and(|known| *known != place);
                let owner = part.tool_call_id.as_ref().and_then(|call| self.tool_calls.get(call));
                if is_moved || owner.is_some_and(|owner| owner != id) {
                    return Ok(None);
                }
                if let Some(call) = &part.tool_call_id {
                    // The part may have had another call before.
                    self.tool_calls.retain(|_, owner| owner != id);
                    self.tool_calls.insert(call.clone(), id.to_owned());
                }
                self.parts.insert(id.to_owned(), place);
                let cells = codec::part_cells(part)?;
                Ok(Some(RowWrite { table: &parts::TABLE, cells, is_known: known.is_some() }))
            }
        }
    }

    fn session(
        &mut self,
        tx: &mut dyn Transaction,
        id: &SessionId,
    ) -> Result<Option<(Option<SessionId>, u64)>, Stop> {
        if let Some(known) = self.sessions.get(id) {
            return Ok(known.clone());
        }
        let row = tx.get(&sessions::TABLE, &[id.as_str().into()], SESSION_HEAD)?;
        let known = match row {
            None => None,
            Some(row) => Some((
                row.optional_word(sessions::PARENT_ID, |text| SessionId::parse(text).ok())?,
                row.number(sessions::UPDATED_AT_MS)?,
            )),
        };
        self.sessions.insert(id.clone(), known.clone());
        Ok(known)
    }

    fn message(
        &mut self,
        tx: &mut dyn Transaction,
        id: &MessageId,
    ) -> Result<Option<SessionId>, Stop> {
        if let Some(known) = self.messages.get(id) {
            return Ok(known.clone());
        }
        let row = tx.get(&messages::TABLE, &[id.as_str().into()], MESSAGE_HEAD)?;
        let session = |text: &str| SessionId::parse(text).ok();
        let known = row.map(|row| row.word(messages::SESSION_ID, session)).transpose()?;
        self.messages.insert(id.clone(), known.clone());
        Ok(known)
    }
}

/// Returns a session, unless its run is being removed.
pub(super) fn session(reader: &mut dyn Reader, id: &SessionId) -> Result<Option<SessionRow>, Stop> {
    if is_being_removed(reader, id)? {
        return Ok(None);
    }
    let row = reader.get(&sessions::TABLE, &[id.as_str().into()], sessions::TABLE.columns)?;
    Ok(row.map(|mut row| codec::session_row(&mut row)).transpose()?)
}

/// Returns the sessions that a query asks for, without those whose run is being removed.
pub(super) fn sessions(
    reader: &mut dyn Reader,
    query: &SessionQuery,
) -> Result<Vec<SessionRow>, Stop> {
    let going = RowCondition::Equal(runs::IS_BEING_REMOVED, true.into());
    let going = RowQuery::of(&runs::TABLE, &[runs::ID]).with([going]);
    let going = all(reader, &going, |row| row.text(runs::ID))?;
    let mut conditions: Vec<RowCondition> =
        going.into_iter().map(|id| RowCondition::Differs(sessions::ID, id.into())).collect();
    if let Some(parent) = &query.parent {
        conditions.push(RowCondition::Equal(sessions::PARENT_ID, parent.as_str().into()));
    }
    if let Some(before) = &query.before {
        conditions.push(RowCondition::Below(sessions::ID, before.as_str().into()));
    }
    if let Some(root) = &query.root {
        conditions.push(RowCondition::Equal(sessions::ROOT, root.as_str().into()));
    }
    if query.only_top {
        conditions.push(RowCondition::Equal(sessions::PARENT_ID, Value::Null));
    }
    if !query.with_opaque {
        conditions.push(RowCondition::Equal(sessions::INSPECTABLE, true.into()));
    }
    let asked = RowQuery::of(&sessions::TABLE, sessions::TABLE.columns).with(conditions);
    let asked = asked.latest_first(&[sessions::ID]).at_most(query.rows_max());
    all(reader, &asked, codec::session_row)
}

/// Returns messages of a session with their parts.
pub(super) fn messages(
    reader: &mut dyn Reader,
    session: &SessionId,
    query: &MessageQuery,
) -> Result<Gathered, Stop> {
    if is_being_removed(reader, session)? {
        return Ok(Vec::new());
    }
    let mut conditions = vec![RowCondition::Equal(messages::SESSION_ID, session.as_str().into())];
    if let Some(after) = &query.after {
        conditions.push(RowCondition::Above(messages::ID, after.as_str().into()));
    }
    if !query.with_rewound {
        conditions.push(RowCondition::Equal(messages::REWOUND_AT_MS, Value::Null));
    }
    let asked = RowQuery::of(&messages::TABLE, messages::TABLE.columns).with(conditions);
    let asked = RowQuery { bytes_max: Some(QUERY_BYTES_MAX), ..asked.at_most(query.rows_max()) };
    let found = all(reader, &asked, codec::message_row)?;
    let mut gathering = Gathering::default();
    let mut source = PartSource::of(&found);
    for message in found {
        if gathering.is_full() {
            break;
        }
        let mut parts = source.take(reader, &message.id)?;
        contents::restore_texts(reader, &session.run(), &mut parts)?;
        gathering.push(message, parts);
    }
    Ok(gathering.into_gathered())
}

/// The parts of messages in their order, read many at once.
struct PartSource {
    read: VecDeque<MessagePart>,
    /// The messages from the first of them on whose parts were not all read.
    last: Option<MessageId>,
    /// The message and the part that were read last, `None` if there are no more.
    behind: Option<(MessageId, Value)>,
}

impl PartSource {
    fn of(messages: &[SessionMessage]) -> Self {
        let behind = messages.first().map(|message| (message.id.clone(), "".into()));
        let last = messages.last().map(|message| message.id.clone());
        Self { read: VecDeque::new(), last, behind }
    }

    /// Returns the parts of a message. Messages are asked for in their order.
    fn take(
        &mut self,
        reader: &mut dyn Reader,
        message: &MessageId,
    ) -> Result<Vec<MessagePart>, Stop> {
        const ORDER: &[Column] = &[parts::MESSAGE_ID, parts::ID];
        let mut taken = Vec::new();
        loop {
            match self.read.front() {
                Some(part) if part.message_id > *message => return Ok(taken),
                Some(_) => {
                    // Those before it are of messages that were not asked for.
                    let part = self.read.pop_front();
                    taken.extend(part.filter(|part| part.message_id == *message));
                }
                None => {
                    let (Some((message, part)), Some(last)) = (&self.behind, &self.last) else {
                        return Ok(taken);
                    };
                    let query =
                        RowQuery::of(&parts::TABLE, parts::TABLE.columns).in_order(ORDER).with([
                            RowCondition::Behind(
                                ORDER,
                                vec![message.as_str().into(), part.clone()],
                            ),
                            RowCondition::AtMost(parts::MESSAGE_ID, last.as_str().into()),
                        ]);
                    let query = RowQuery { bytes_max: Some(QUERY_BYTES_MAX), ..query };
                    self.read = all(reader, &query, codec::part_row)?.into();
                    let end = self.read.back();
                    self.behind =
                        end.map(|part| (part.message_id.clone(), part.id.as_str().into()));
                }
            }
        }
    }
}

fn is_being_removed(reader: &mut dyn Reader, session: &SessionId) -> Result<bool, Stop> {
    let state = lease_state(reader, &session.run())?;
    Ok(state.is_some_and(|state| state.is_being_removed))
}
