//! The statements that record calls and what belongs to them, each reaching its row through an index. They run inside a
//! transaction that the writer opens and commits.

use haft_contract::Scope;
use rusqlite::{ffi, params};

use super::job::Applied;
use super::reader;
use super::transaction::{Writing, integer};
use crate::entry::{Closing, Entry, envelope_json};
use crate::{
    CallQuery, CallRow, JournalError, PlannedCall, SettledBy, Settlement, SnapshotNote, Status,
};

pub(super) const CALL_INSERT: &str = "\
INSERT INTO calls (change, run, node, iteration, attempt, seq, epoch, tool, effect, status, started_at_ms, \
finished_at_ms, first_key, call_key, driver_call_id, input, accesses, envelope) \
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)";

pub(super) const CALL_SETTLE: &str = "\
UPDATE calls SET change = ?1, status = ?2, finished_at_ms = ?3, envelope = ?4 \
WHERE run = ?5 AND node = ?6 AND iteration = ?7 AND attempt = ?8 AND seq = ?9 AND +status = 'intended'";

/// The change number stays: an amendment shows with the status that follows it, and moving the row would cost as
/// much as recording it anew.
pub(super) const CALL_AMEND: &str = "\
UPDATE calls SET details = ?1 \
WHERE run = ?2 AND node = ?3 AND iteration = ?4 AND attempt = ?5 AND seq = ?6 AND +status = 'intended'";

pub(super) const CALL_RESOLVE: &str = "\
UPDATE calls SET change = ?1, status = ?2, verdict = ?3, settled_by = ?4, finished_at_ms = ?5, envelope = ?6 \
WHERE change = ?7";

pub(super) const LATE_INSERT: &str = "\
INSERT INTO late_outcomes (run, node, iteration, attempt, seq, epoch, tool, status, finished_at_ms, envelope) \
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

pub(super) const SNAPSHOT_UPSERT: &str = "\
INSERT INTO snapshots (run, node, iteration, attempt, seq, root, before, after, note, taken_at_ms) \
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
ON CONFLICT (run, node, iteration, attempt, seq, root) DO UPDATE SET \
before = excluded.before, after = excluded.after, note = excluded.note, taken_at_ms = excluded.taken_at_ms";

pub(super) const FRUITLESS_RESET: &str = "UPDATE runs SET fruitless = 0 WHERE id = ?1";

/// Writes one entry. Under an epoch that is over the outcome that came with it is kept apart.
pub(super) fn record(tx: &mut Writing<'_>, entry: &Entry) -> Applied<()> {
    let call = entry.call();
    if let Err(refusal) = tx.admit(&call.id.scope.run, call.epoch)? {
        if let (JournalError::Fenced { .. }, Some(closing)) = (&refusal, entry.late()) {
            insert_late(tx, call, closing)?;
        }
        return Ok(Err(refusal));
    }
    match entry {
        Entry::Intended(_) => insert_call(tx, call, None),
        Entry::Complete(_, closing) => insert_call(tx, call, Some(closing)),
        Entry::Settled(_, closing) => settle_call(tx, call, closing),
        Entry::Amended(_, details) => amend_call(tx, call, details),
    }
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
    let old_change = integer(row.change)?;
    row.resolve(settlement, u64::try_from(tx.next_change()).unwrap_or_default());
    tx.db.prepare_cached(CALL_RESOLVE)?.execute(params![
        tx.next_change(),
        row.status.as_str(),
        settlement.verdict.as_str(),
        settlement.by.as_str(),
        integer(settlement.settled_at_ms)?,
        envelope_json(&settlement.envelope),
        old_change,
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

fn insert_call(tx: &mut Writing<'_>, call: &PlannedCall, closing: Option<&Closing>) -> Applied<()> {
    let Scope { run, node, iteration, attempt } = &call.id.scope;
    let inserted = tx.db.prepare_cached(CALL_INSERT)?.execute(params![
        tx.next_change(),
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
        call.first_key.to_string(),
        call.call_key.to_string(),
        call.driver_call_id,
        call.input,
        call.accesses,
        closing.map(|closing| &closing.envelope),
    ]);
    match inserted {
        Ok(_) => {
            tx.count_change();
            Ok(Ok(()))
        }
        // The failure undoes its own statement and nothing else.
        Err(err) if is_taken(&err) => Ok(Err(JournalError::Conflict { call: call.id.clone() })),
        Err(err) => Err(err),
    }
}

fn settle_call(tx: &mut Writing<'_>, call: &PlannedCall, closing: &Closing) -> Applied<()> {
    let Scope { run, node, iteration, attempt } = &call.id.scope;
    let rows_changed = tx.db.prepare_cached(CALL_SETTLE)?.execute(params![
        tx.next_change(),
        closing.status.as_str(),
        integer(closing.finished_at_ms)?,
        closing.envelope,
        run.as_str(),
        node,
        iteration,
        attempt,
        call.id.seq,
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
