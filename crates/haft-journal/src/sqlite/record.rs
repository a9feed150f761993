//! The statements that record calls and what belongs to them, each reaching its row through an index. They run inside a
//! transaction that the writer opens and commits.

use std::sync::Arc;

use haft_contract::{CallId, Scope};
use rusqlite::{ffi, params};

use super::job::Applied;
use super::reader;
use super::transaction::{Writing, integer};
use crate::entry::{Closing, Entry, envelope_json};
use crate::{
    CallQuery, CallRow, JournalError, PlannedCall, SettledBy, Settlement, SnapshotNote, Status,
};

pub(super) const CALL_INSERT: &str = "\
INSERT INTO calls (number, run, node, iteration, attempt, seq, epoch, tool, effect, status, started_at_ms, \
finished_at_ms, first_key, call_key, driver_call_id, input, accesses, envelope, closed) \
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)";

/// The row is looked up by its number where the intent has kept it; it must be that of the call all the same, because an
/// intent can be brought to a journal that did not give it.
pub(super) const CALL_SETTLE: &str = "\
UPDATE calls SET closed = ?1, status = ?2, finished_at_ms = ?3, envelope = ?4 \
WHERE number = coalesce(?10, (SELECT number FROM calls \
WHERE run = ?5 AND node = ?6 AND iteration = ?7 AND attempt = ?8 AND seq = ?9)) \
AND +run = ?5 AND +node = ?6 AND +iteration = ?7 AND +attempt = ?8 AND +seq = ?9 AND +status = 'intended'";

/// The change number stays: an amendment shows with the status that follows it.
pub(super) const CALL_AMEND: &str = "\
UPDATE calls SET details = ?1 \
WHERE run = ?2 AND node = ?3 AND iteration = ?4 AND attempt = ?5 AND seq = ?6 AND +status = 'intended'";

pub(super) const CALL_HEAR: &str = "\
UPDATE calls SET heard = 1 WHERE run = ?1 AND node = ?2 AND iteration = ?3 AND attempt = ?4 AND seq = ?5";

pub(super) const CALL_RESOLVE: &str = "\
UPDATE calls SET closed = ?1, status = ?2, verdict = ?3, settled_by = ?4, finished_at_ms = ?5, envelope = ?6 \
WHERE run = ?7 AND node = ?8 AND iteration = ?9 AND attempt = ?10 AND seq = ?11";

pub(super) const LATE_INSERT: &str = "\
INSERT INTO late_outcomes (run, node, iteration, attempt, seq, epoch, tool, status, finished_at_ms, envelope) \
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

pub(super) const SNAPSHOT_UPSERT: &str = "\
INSERT INTO snapshots (run, node, iteration, attempt, seq, root, before, after, note, taken_at_ms) \
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
ON CONFLICT (run, node, iteration, attempt, seq, root) DO UPDATE SET \
before = excluded.before, after = excluded.after, note = excluded.note, taken_at_ms = excluded.taken_at_ms";

pub(super) const FRUITLESS_RESET: &str = "UPDATE runs SET fruitless = 0 WHERE id = ?1";

/// An entry in the shape of its statement. It is made by whoever brings the entry, so that the one thread that writes
/// has nothing left to do but that.
pub(super) enum Record {
    Insert { call: Arc<PlannedCall>, keys: Keys, closing: Option<Closing> },
    Settle { call: Arc<PlannedCall>, row: Option<i64>, closing: Closing },
    Amend(Arc<PlannedCall>, String),
}

/// The keys of a call in hexadecimal.
pub(super) struct Keys {
    first: String,
    call: String,
}

impl Record {
    /// Takes an entry that is to be written, about the call in `row` if that is known.
    pub(super) fn new(entry: Entry, row: Option<i64>) -> Self {
        match entry {
            Entry::Intended(call) => Self::Insert { keys: Keys::of(&call), call, closing: None },
            Entry::Complete(call, closing) => {
                Self::Insert { keys: Keys::of(&call), call, closing: Some(closing) }
            }
            Entry::Settled(call, closing) => Self::Settle { call, row, closing },
            Entry::Amended(call, details) => Self::Amend(call, details),
        }
    }

    fn call(&self) -> &PlannedCall {
        match self {
            Self::Insert { call, .. } | Self::Settle { call, .. } | Self::Amend(call, _) => call,
        }
    }

    fn closing(&self) -> Option<&Closing> {
        match self {
            Self::Insert { closing, .. } => closing.as_ref(),
            Self::Settle { closing, .. } => Some(closing),
            Self::Amend(..) => None,
        }
    }
}

impl Keys {
    fn of(call: &PlannedCall) -> Self {
        Self { first: call.first_key.to_string(), call: call.call_key.to_string() }
    }
}

/// Writes one entry, and returns the row that it made. Under an epoch that is over the outcome that came with it is kept
/// apart.
pub(super) fn record(tx: &mut Writing<'_>, record: &Record) -> Applied<Option<i64>> {
    let call = record.call();
    if let Err(refusal) = tx.admit(&call.id.scope.run, call.epoch)? {
        if let (JournalError::Fenced { .. }, Some(closing)) = (&refusal, record.closing()) {
            insert_late(tx, call, closing)?;
        }
        return Ok(Err(refusal));
    }
    match record {
        Record::Insert { keys, closing, .. } => {
            let inserted = insert_call(tx, call, keys, closing.as_ref())?;
            return Ok(inserted.map(Some));
        }
        Record::Settle { row, closing, .. } => settle_call(tx, call, *row, closing),
        Record::Amend(_, details) => amend_call(tx, call, details),
    }
    .map(|recorded| recorded.map(|()| None))
}

/// Records that the driver was told what became of a call.
pub(super) fn hear(tx: &mut Writing<'_>, call: &CallId) -> Applied<()> {
    let Scope { run, node, iteration, attempt } = &call.scope;
    let place = params![run.as_str(), node, iteration, attempt, call.seq];
    let heard = tx.db.prepare_cached(CALL_HEAR)?.execute(place)?;
    Ok(if heard == 1 { Ok(()) } else { Err(JournalError::UnknownCall { call: call.clone() }) })
}

/// Writes what became of a call in doubt.
pub(super) fn resolve(tx: &mut Writing<'_>, settlement: &Settlement) -> Applied<CallRow> {
    let call = &settlement.call;
    let found = reader::calls(tx.db, &CallQuery::of_call(call.clone()))?;
    let Some(mut row) = found.into_iter().next() else {
        return Ok(Err(JournalError::UnknownCall { call: call.clone() }));
    };
    if row.status != Status::Unknown {
        return Ok(Err(JournalError::NotInDoubt { call: call.clone(), status: row.status }));
    }
    let Scope { run, node, iteration, attempt } = &call.scope;
    row.resolve(settlement, u64::try_from(tx.next_change()).unwrap_or_default());
    tx.db.prepare_cached(CALL_RESOLVE)?.execute(params![
        tx.next_change(),
        row.status.as_str(),
        settlement.verdict.as_str(),
        settlement.by.as_str(),
        integer(settlement.settled_at_ms)?,
        envelope_json(&settlement.envelope),
        run.as_str(),
        node,
        iteration,
        attempt,
        call.seq,
    ])?;
    tx.count_change();
    if settlement.by == SettledBy::Operator {
        tx.db.prepare_cached(FRUITLESS_RESET)?.execute([call.scope.run.as_str()])?;
        tx.forget_standing(&call.scope.run);
    }
    Ok(Ok(row))
}

/// Writes which snapshots belong to a call.
pub(super) fn note_snapshot(tx: &mut Writing<'_>, note: &SnapshotNote) -> Applied<()> {
    let Scope { run, node, iteration, attempt } = &note.call.scope;
    if tx.standing(run)?.is_none() {
        return Ok(Err(JournalError::UnknownRun { run: run.clone() }));
    }
    tx.db.prepare_cached(SNAPSHOT_UPSERT)?.execute(params![
        run.as_str(),
        node,
        iteration,
        attempt,
        note.call.seq,
        note.root,
        note.before,
        note.after,
        note.note,
        integer(note.taken_at_ms)?,
    ])?;
    Ok(Ok(()))
}

fn insert_call(
    tx: &mut Writing<'_>,
    call: &PlannedCall,
    keys: &Keys,
    closing: Option<&Closing>,
) -> Applied<i64> {
    let Scope { run, node, iteration, attempt } = &call.id.scope;
    let change = tx.next_change();
    let inserted = tx.insert.execute(params![
        change,
        run.as_str(),
        node,
        iteration,
        attempt,
        call.id.seq,
        integer(call.epoch)?,
        call.tool,
        call.effect.as_str(),
        closing.map_or(Status::Intended, |closing| closing.status).as_str(),
        integer(call.started_at_ms)?,
        closing.map(|closing| integer(closing.finished_at_ms)).transpose()?,
        keys.first,
        keys.call,
        call.driver_call_id,
        call.input,
        call.accesses,
        closing.map(|closing| &closing.envelope),
        closing.map(|_| change),
    ]);
    match inserted {
        Ok(_) => {
            tx.count_change();
            Ok(Ok(change))
        }
        // The failure undoes its own statement and nothing else.
        Err(err) if is_taken(&err) => Ok(Err(JournalError::Conflict { call: call.id.clone() })),
        Err(err) => Err(err),
    }
}

fn settle_call(
    tx: &mut Writing<'_>,
    call: &PlannedCall,
    row: Option<i64>,
    closing: &Closing,
) -> Applied<()> {
    let Scope { run, node, iteration, attempt } = &call.id.scope;
    let change = tx.next_change();
    let rows_changed = tx.settle.execute(params![
        change,
        closing.status.as_str(),
        integer(closing.finished_at_ms)?,
        closing.envelope,
        run.as_str(),
        node,
        iteration,
        attempt,
        call.id.seq,
        row,
    ])?;
    if rows_changed > 0 {
        tx.count_change();
    }
    Ok(open_intent(call, rows_changed))
}

fn amend_call(tx: &mut Writing<'_>, call: &PlannedCall, details: &str) -> Applied<()> {
    let Scope { run, node, iteration, attempt } = &call.id.scope;
    let rows_changed = tx.db.prepare_cached(CALL_AMEND)?.execute(params![
        details,
        run.as_str(),
        node,
        iteration,
        attempt,
        call.id.seq,
    ])?;
    Ok(open_intent(call, rows_changed))
}

fn insert_late(
    tx: &mut Writing<'_>,
    call: &PlannedCall,
    closing: &Closing,
) -> rusqlite::Result<()> {
    let Scope { run, node, iteration, attempt } = &call.id.scope;
    let parameters = params![
        run.as_str(),
        node,
        iteration,
        attempt,
        call.id.seq,
        integer(call.epoch)?,
        call.tool,
        closing.status.as_str(),
        integer(closing.finished_at_ms)?,
        closing.envelope,
    ];
    tx.db.prepare_cached(LATE_INSERT)?.execute(parameters).map(drop)
}

fn open_intent(call: &PlannedCall, rows_changed: usize) -> Result<(), JournalError> {
    match rows_changed {
        0 => Err(JournalError::NoOpenIntent { call: call.id.clone() }),
        _ => Ok(()),
    }
}

fn is_taken(err: &rusqlite::Error) -> bool {
    let code = err.sqlite_error().map(|error| error.extended_code);
    code == Some(ffi::SQLITE_CONSTRAINT_UNIQUE)
}
