//! The statements that write, each reaching its row through an index. They run inside a transaction that the writer
//! opens and commits.

use haft_contract::Scope;
use rusqlite::{Connection, ffi, params};

use crate::entry::{Closing, Entry};
use crate::{JournalError, NewRun, PlannedCall, Status};

pub(super) const RUN_INSERT: &str = "\
INSERT INTO runs (id, front_end, root, version, started_at_ms) VALUES (?1, ?2, ?3, ?4, ?5) \
ON CONFLICT (id) DO NOTHING";

pub(super) const CALL_INSERT: &str = "\
INSERT INTO calls (change, run, node, iteration, attempt, seq, tool, effect, status, started_at_ms, finished_at_ms, \
first_key, call_key, driver_call_id, input, accesses, envelope) \
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";

pub(super) const CALL_SETTLE: &str = "\
UPDATE calls SET change = ?1, status = ?2, finished_at_ms = ?3, envelope = ?4 \
WHERE run = ?5 AND node = ?6 AND iteration = ?7 AND attempt = ?8 AND seq = ?9 AND status = 'intended'";

pub(super) const CHANGE_READ: &str = "SELECT last FROM changes WHERE id = 1";

pub(super) const CHANGE_WRITE: &str = "UPDATE changes SET last = ?1 WHERE id = 1";

/// Returns the last change number that was given out.
pub(super) fn last_change(db: &Connection) -> rusqlite::Result<i64> {
    db.prepare_cached(CHANGE_READ)?.query_row([], |row| row.get(0))
}

/// Stores the last change number that was given out.
pub(super) fn set_last_change(db: &Connection, change: i64) -> rusqlite::Result<()> {
    db.prepare_cached(CHANGE_WRITE)?.execute([change]).map(drop)
}

/// Writes one entry and counts `change` on if it changed a call. The inner error is about this entry alone and has
/// left nothing behind; the outer one leaves the transaction to be rolled back.
pub(super) fn apply(
    db: &Connection,
    entry: &Entry,
    change: &mut i64,
) -> rusqlite::Result<Result<(), JournalError>> {
    let next = *change + 1;
    let result = match entry {
        Entry::Run(run) => return insert_run(db, run).map(Ok),
        Entry::Intended(call) => insert_call(db, next, call, None)?,
        Entry::Complete(call, closing) => insert_call(db, next, call, Some(closing))?,
        Entry::Settled(call, closing) => settle_call(db, next, call, closing)?,
    };
    if result.is_ok() {
        *change = next;
    }
    Ok(result)
}

fn insert_run(db: &Connection, run: &NewRun) -> rusqlite::Result<()> {
    let NewRun { id, front_end, root, started_at_ms, version } = run;
    db.prepare_cached(RUN_INSERT)?
        .execute(params![id.as_str(), front_end, root, version, integer(*started_at_ms)?])
        .map(drop)
}

fn insert_call(
    db: &Connection,
    change: i64,
    call: &PlannedCall,
    closing: Option<&Closing>,
) -> rusqlite::Result<Result<(), JournalError>> {
    let Scope { run, node, iteration, attempt } = &call.id.scope;
    let inserted = db.prepare_cached(CALL_INSERT)?.execute(params![
        change,
        run.as_str(),
        node,
        iteration,
        attempt,
        call.id.seq,
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
        Ok(_) => Ok(Ok(())),
        Err(err) => entry_error(call, &err).map(Err).ok_or(err),
    }
}

fn settle_call(
    db: &Connection,
    change: i64,
    call: &PlannedCall,
    closing: &Closing,
) -> rusqlite::Result<Result<(), JournalError>> {
    let Scope { run, node, iteration, attempt } = &call.id.scope;
    let rows_changed = db.prepare_cached(CALL_SETTLE)?.execute(params![
        change,
        closing.status.as_str(),
        integer(closing.finished_at_ms)?,
        closing.envelope,
        run.as_str(),
        node,
        iteration,
        attempt,
        call.id.seq,
    ])?;
    match rows_changed {
        0 => Ok(Err(JournalError::NoOpenIntent { call: call.id.clone() })),
        _ => Ok(Ok(())),
    }
}

/// Returns what a failed insertion says about the call itself. Such a failure undoes its own statement and nothing
/// else.
fn entry_error(call: &PlannedCall, err: &rusqlite::Error) -> Option<JournalError> {
    match err.sqlite_error()?.extended_code {
        ffi::SQLITE_CONSTRAINT_UNIQUE => Some(JournalError::Conflict { call: call.id.clone() }),
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => {
            Some(JournalError::UnknownRun { run: call.id.scope.run.clone() })
        }
        _ => None,
    }
}

fn integer(value: u64) -> rusqlite::Result<i64> {
    i64::try_from(value).map_err(|err| rusqlite::Error::ToSqlConversionFailure(Box::new(err)))
}
