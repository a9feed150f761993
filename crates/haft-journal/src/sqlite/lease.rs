//! The statements about who has a run. Who may take it from whom is decided by `crate::lease`, what is open is found
//! at the beginning of an index.

use haft_contract::{CallId, RunId, Scope};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::job::Applied;
use super::reader::{number, optional_number, word};
use super::transaction::{Writing, integer};
use super::upkeep;
use crate::lease::Standing;
use crate::limits::RESUMES_MAX;
use crate::{Claim, Holder, JournalError, Lease, NewRun, Owner};

pub(super) const STANDING: &str = "\
SELECT id, epoch, owner_id, owner_place, held_since_ms, lease_expires_at_ms, fruitless, fruitless_since, is_going \
FROM runs WHERE id = ?1";

pub(super) const HOLDERS: &str = "\
SELECT id, epoch, owner_id, owner_place, held_since_ms, lease_expires_at_ms FROM runs \
WHERE owner_id IS NOT NULL ORDER BY number";

pub(super) const RUN_INSERT: &str = "\
INSERT INTO runs (id, front_end, root, version, started_at_ms, settings, epoch) \
VALUES (?1, ?2, ?3, ?4, ?5, ?6, (SELECT epoch_floor FROM changes WHERE id = 1))";

pub(super) const RUN_TAKE: &str = "\
UPDATE runs SET epoch = ?1, owner_id = ?2, owner_place = ?3, held_since_ms = ?4, lease_expires_at_ms = ?5 WHERE id = ?6";

pub(super) const RUN_EXTEND: &str = "UPDATE runs SET lease_expires_at_ms = ?1 WHERE id = ?2";

pub(super) const RUN_FREE: &str = "\
UPDATE runs SET owner_id = NULL, owner_place = NULL, held_since_ms = NULL, lease_expires_at_ms = NULL WHERE id = ?1";

pub(super) const RUN_FRUITLESS: &str =
    "UPDATE runs SET fruitless = ?1, fruitless_since = ?2 WHERE id = ?3";

pub(super) const OPEN_CALLS: &str = "\
SELECT number, node, iteration, attempt, seq FROM calls INDEXED BY calls_by_change \
WHERE closed IS NULL AND run = ?1 ORDER BY node, iteration, attempt, seq";

pub(super) const CALL_GIVE_UP: &str =
    "UPDATE calls SET closed = ?1, status = 'unknown' WHERE number = ?2";

/// What a probe found out is no step ahead: the call that kills each owner is found not to have happened each time.
pub(super) const PROGRESS: &str = "\
SELECT EXISTS (SELECT 1 FROM calls INDEXED BY calls_of_run WHERE run = ?1 AND closed > ?2 \
AND status IN ('succeeded', 'failed', 'refused') AND settled_by IS NULL)";

/// Whoever had a chat open in which no turn was under way died of nothing that it did.
pub(super) const CHAT_RESTS: &str =
    "SELECT EXISTS (SELECT 1 FROM chat_sessions WHERE id = ?1 AND status <> 'running')";

pub(super) const LAST_OPEN: &str = "\
SELECT number, node, iteration, attempt, seq FROM calls INDEXED BY calls_of_run \
WHERE run = ?1 AND closed > ?2 AND status = 'unknown' ORDER BY closed DESC LIMIT 1";

/// Returns what the run's row says about who may advance it, `None` if there is none.
pub(super) fn standing(db: &Connection, run: &RunId) -> rusqlite::Result<Option<Standing>> {
    db.prepare_cached(STANDING)?.query_row([run.as_str()], standing_row).optional()
}

/// Reads a standing from nine columns, as [`STANDING`] has them.
pub(super) fn standing_row(row: &Row<'_>) -> rusqlite::Result<Standing> {
    Ok(Standing {
        epoch: number(row, 1)?,
        holder: holder(row, 0)?,
        fruitless: number(row, 6)?,
        fruitless_since: number(row, 7)?,
        is_going: row.get(8)?,
    })
}

/// Returns who holds which run.
pub(super) fn holders(db: &Connection) -> rusqlite::Result<Vec<Holder>> {
    let mut statement = db.prepare_cached(HOLDERS)?;
    let rows = statement.query_map([], |row| holder(row, 0))?;
    rows.filter_map(Result::transpose).collect()
}

/// Reads a holder from six columns: the run, its epoch, and the four of the lease.
pub(super) fn holder(row: &Row<'_>, first: usize) -> rusqlite::Result<Option<Holder>> {
    let Some(id) = row.get(first + 2)? else { return Ok(None) };
    Ok(Some(Holder {
        run: word(row, first, |text| RunId::parse(text).ok())?,
        epoch: number(row, first + 1)?,
        owner: Owner { id, place: row.get(first + 3)? },
        since_ms: number(row, first + 4)?,
        expires_at_ms: optional_number(row, first + 5)?.unwrap_or_default(),
    }))
}

/// Whether a run that was taken may have calls already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum History {
    None,
    Some,
}

/// Takes a run for the claim's owner.
pub(super) fn open(tx: &mut Writing<'_>, run: &NewRun, claim: &Claim) -> Applied<(Lease, History)> {
    let mut history = History::None;
    let mut standing = match tx.standing(&run.id)?.cloned() {
        Some(standing) if standing.is_going => {
            upkeep::remove_rest(tx, &run.id)?;
            insert(tx, run)?
        }
        Some(standing) => {
            history = History::Some;
            standing
        }
        None => insert(tx, run)?,
    };
    if let Some(holder) = standing.holder.clone() {
        if holder.owner.id == claim.owner.id {
            extend(tx, &run.id, claim)?;
            let lease = Lease { run: holder.run, epoch: holder.epoch, owner: holder.owner };
            return Ok(Ok((lease, history)));
        }
        if !holder.is_over(claim.now_ms) {
            return Ok(Err(JournalError::Held { holder: Box::new(holder) }));
        }
        give_up(tx, &run.id, &mut standing)?;
    }
    if standing.fruitless >= RESUMES_MAX {
        return stuck(tx, &run.id, &standing).map(Err);
    }
    let lease = take(tx, &run.id, standing.epoch + 1, claim)?;
    Ok(Ok((lease, history)))
}

/// Holds a run for longer.
pub(super) fn renew(tx: &mut Writing<'_>, lease: &Lease, claim: &Claim) -> Applied<()> {
    if let Err(refusal) = tx.admit_lease(lease)? {
        return Ok(Err(refusal));
    }
    extend(tx, &lease.run, claim).map(Ok)
}

/// Gives a run back.
pub(super) fn close(tx: &mut Writing<'_>, lease: &Lease) -> Applied<()> {
    if let Err(refusal) = tx.admit_lease(lease)? {
        return Ok(Err(refusal));
    }
    leave_open_calls(tx, &lease.run)?;
    free(tx, &lease.run).map(Ok)
}

/// Takes a run from an owner that is gone, and returns what is in doubt because of that.
pub(super) fn abandon(tx: &mut Writing<'_>, holder: &Holder) -> Applied<Vec<CallId>> {
    let Some(mut standing) = tx.standing(&holder.run)?.cloned() else { return Ok(Ok(Vec::new())) };
    if standing.holder.as_ref() != Some(holder) {
        return Ok(Ok(Vec::new()));
    }
    give_up(tx, &holder.run, &mut standing).map(Ok)
}

fn insert(tx: &mut Writing<'_>, run: &NewRun) -> rusqlite::Result<Standing> {
    let NewRun { id, front_end, root, started_at_ms, version, settings } = run;
    let started_at_ms = integer(*started_at_ms)?;
    let parameters = params![id.as_str(), front_end, root, version, started_at_ms, settings];
    tx.db.prepare_cached(RUN_INSERT)?.execute(parameters)?;
    tx.forget_standing(id);
    Ok(tx.standing(id)?.cloned().unwrap_or_default())
}

fn take(tx: &mut Writing<'_>, run: &RunId, epoch: u64, claim: &Claim) -> rusqlite::Result<Lease> {
    let Owner { id, place } = &claim.owner;
    tx.db.prepare_cached(RUN_TAKE)?.execute(params![
        integer(epoch)?,
        id,
        place,
        integer(claim.now_ms)?,
        integer(claim.expires_at_ms())?,
        run.as_str(),
    ])?;
    tx.forget_standing(run);
    Ok(Lease { run: run.clone(), epoch, owner: claim.owner.clone() })
}

fn extend(tx: &mut Writing<'_>, run: &RunId, claim: &Claim) -> rusqlite::Result<()> {
    let expires_at_ms = integer(claim.expires_at_ms())?;
    tx.db.prepare_cached(RUN_EXTEND)?.execute(params![expires_at_ms, run.as_str()])?;
    tx.forget_standing(run);
    Ok(())
}

fn free(tx: &mut Writing<'_>, run: &RunId) -> rusqlite::Result<()> {
    tx.db.prepare_cached(RUN_FREE)?.execute([run.as_str()])?;
    tx.forget_standing(run);
    Ok(())
}

/// Frees a run whose owner died, and counts whether that owner got any further than the ones before, if it did anything.
fn give_up(
    tx: &mut Writing<'_>,
    run: &RunId,
    standing: &mut Standing,
) -> rusqlite::Result<Vec<CallId>> {
    let rests: bool =
        tx.db.prepare_cached(CHAT_RESTS)?.query_row([run.as_str()], |row| row.get(0))?;
    if !rests {
        count_death(tx, run, standing)?;
    }
    standing.holder = None;
    let calls = leave_open_calls(tx, run)?;
    free(tx, run)?;
    Ok(calls)
}

fn count_death(tx: &mut Writing<'_>, run: &RunId, standing: &mut Standing) -> rusqlite::Result<()> {
    let since = integer(standing.fruitless_since)?;
    let got_further = tx
        .db
        .prepare_cached(PROGRESS)?
        .query_row(params![run.as_str(), since], |row| row.get(0))?;
    standing.count_death(got_further, u64::try_from(tx.last_change()).unwrap_or_default());
    let since = integer(standing.fruitless_since)?;
    let parameters = params![standing.fruitless, since, run.as_str()];
    tx.db.prepare_cached(RUN_FRUITLESS)?.execute(parameters).map(drop)
}

fn leave_open_calls(tx: &mut Writing<'_>, run: &RunId) -> rusqlite::Result<Vec<CallId>> {
    let open: Vec<(i64, CallId)> = tx
        .db
        .prepare_cached(OPEN_CALLS)?
        .query_map([run.as_str()], |row| Ok((row.get(0)?, call_id(row, run)?)))?
        .collect::<Result<_, _>>()?;
    let mut calls = Vec::with_capacity(open.len());
    for (number, call) in open {
        tx.db.prepare_cached(CALL_GIVE_UP)?.execute([tx.next_change(), number])?;
        tx.count_change();
        calls.push(call);
    }
    Ok(calls)
}

fn stuck(tx: &Writing<'_>, run: &RunId, standing: &Standing) -> rusqlite::Result<JournalError> {
    let last = tx
        .db
        .prepare_cached(LAST_OPEN)?
        .query_row(params![run.as_str(), integer(standing.fruitless_since)?], |row| {
            call_id(row, run)
        })
        .optional()?;
    Ok(JournalError::Stuck { run: run.clone(), times: standing.fruitless, last })
}

/// Reads the place of a call from the columns after the first.
fn call_id(row: &Row<'_>, run: &RunId) -> rusqlite::Result<CallId> {
    let scope = Scope {
        run: run.clone(),
        node: row.get(1)?,
        iteration: number(row, 2)?,
        attempt: number(row, 3)?,
    };
    Ok(CallId { scope, seq: number(row, 4)? })
}
