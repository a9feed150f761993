//! Who may advance a run. One owner at a time has the lease. Every record carries the fencing token of the lease that it is made
//! under, and is admitted only while that lease holds. Whether an owner's process still lives is found out elsewhere.

use haft_contract::{CallAddress, RunId};

use super::codec::{self, calls_of_run, integer, run_key};
use super::lease_state::{self, LEASE, LeaseState, lease_state};
use super::{Stop, Writing, ask, retention};
use crate::limits::RESUMES_MAX;
use crate::store::{
    Column, Counter, Durability, Reader, RowCondition, RowQuery, RowUpdate, Transaction, Value,
    calls, runs, sessions,
};
use crate::{CallStatus, JournalError, Lease, LeaseHolder, LeaseRequest, NewRun, SessionStatus};

/// The columns of a run that decide whether a record is admitted.
pub(super) const ADMISSION: &[Column] =
    &[runs::FENCING_TOKEN, runs::HELD_SINCE_MS, runs::IS_BEING_REMOVED];

/// Takes a run for an owner.
pub(super) fn open(
    writing: &mut Writing<'_>,
    run: &NewRun,
    request: &LeaseRequest,
) -> Result<Lease, Stop> {
    let tx = &mut *writing.tx;
    let request = &LeaseRequest { now_ms: tx.now_ms(request.now_ms)?, ..request.clone() };
    let mut state = match lease_state(tx, &run.id)? {
        None => begin(tx, run)?,
        Some(state) => {
            // The owner before may have died between a commit and its sync. Rows that are seen now are answered from
            // now on, and only the new owner adds to it.
            writing.durability = Durability::Power;
            if state.is_being_removed {
                retention::remove_rest(tx, &run.id)?;
                begin(tx, run)?
            } else {
                state
            }
        }
    };
    if let Some(holder) = state.holder.clone() {
        if holder.owner.id == request.owner.id {
            extend(tx, &run.id, request)?;
            return Ok(Lease {
                run: holder.run,
                fencing_token: holder.fencing_token,
                owner: holder.owner,
            });
        }
        if !holder.is_expired(request.now_ms) {
            return Err(JournalError::LeaseHeld { holder: Box::new(holder) }.into());
        }
        give_up(tx, &run.id, &mut state)?;
    }
    if state.failed_resumes >= RESUMES_MAX {
        let columns = calls::TABLE.key;
        let query =
            calls_of_run(&run.id, columns).latest_first(&[calls::CHANGE]).at_most(1).with([
                RowCondition::Above(calls::CHANGE, integer(state.failed_since)?),
                RowCondition::Equal(calls::STATUS, CallStatus::Unknown.as_str().into()),
            ]);
        let last = tx.select(&query)?.pop().map(|mut row| codec::call_id(&mut row)).transpose()?;
        let times = state.failed_resumes;
        return Err(JournalError::Stuck { run: run.id.clone(), times, last }.into());
    }
    let (owner, fencing_token) = (request.owner.clone(), state.fencing_token + 1);
    let changes = [
        (runs::FENCING_TOKEN, integer(fencing_token)?),
        (runs::OWNER_ID, owner.id.as_str().into()),
        (runs::OWNER_LOCATION, owner.location.as_str().into()),
        (runs::HELD_SINCE_MS, integer(request.now_ms)?),
        (runs::LEASE_EXPIRES_AT_MS, integer(request.expires_at_ms())?),
        (runs::HELD_UNTIL_MS, integer(request.expires_at_ms())?),
    ];
    change(tx, &run.id, &changes)?;
    Ok(Lease { run: run.id.clone(), fencing_token, owner })
}

/// Holds a run for longer.
pub(super) fn renew(
    tx: &mut dyn Transaction,
    lease: &Lease,
    request: &LeaseRequest,
) -> Result<(), Stop> {
    let request = LeaseRequest { now_ms: tx.now_ms(request.now_ms)?, ..request.clone() };
    admit_lease(tx, lease)?;
    extend(tx, &lease.run, &request)
}

/// Gives a run back.
pub(super) fn close(tx: &mut dyn Transaction, lease: &Lease) -> Result<(), Stop> {
    let state = known_state(tx, &lease.run)?;
    // A caller that lost the answer closes the lease a second time.
    if state.holder.is_none() && state.fencing_token == lease.fencing_token {
        return Ok(());
    }
    state.admit_lease(lease)?;
    leave_open_calls(tx, &lease.run)?;
    free(tx, &lease.run)
}

/// Takes a run from an owner that is gone, and returns which calls are in doubt because of that.
pub(super) fn abandon(
    tx: &mut dyn Transaction,
    holder: &LeaseHolder,
) -> Result<Vec<CallAddress>, Stop> {
    match lease_state(tx, &holder.run)? {
        Some(mut state) if state.holder.as_ref() == Some(holder) => {
            give_up(tx, &holder.run, &mut state)
        }
        _ => Ok(Vec::new()),
    }
}

/// Returns who holds which run.
pub(super) fn holders(reader: &mut dyn Reader) -> Result<Vec<LeaseHolder>, Stop> {
    let held = RowCondition::Differs(runs::OWNER_ID, Value::Null);
    let query = RowQuery::of(&runs::TABLE, LEASE).in_order(&[runs::NUMBER]).with([held]);
    let mut holders = Vec::new();
    for mut row in reader.select(&query)? {
        holders.extend(lease_state::holder(&mut row)?);
    }
    Ok(holders)
}

/// Answers an error unless records under this fencing token may change the run.
pub(super) fn admit(
    tx: &mut dyn Transaction,
    run: &RunId,
    run_key: &[Value],
    fencing_token: u64,
) -> Result<(), Stop> {
    let Some(row) = tx.get(&runs::TABLE, run_key, ADMISSION)? else {
        return Err(JournalError::UnknownRun { run: run.clone() }.into());
    };
    let is_held = !row.is_null(runs::HELD_SINCE_MS) && !row.flag(runs::IS_BEING_REMOVED)?;
    if is_held && row.number::<u64>(runs::FENCING_TOKEN)? == fencing_token {
        return Ok(());
    }
    Ok(known_state(tx, run)?.admit(run, fencing_token)?)
}

/// Answers an error unless this very lease is the current one; else what is known of the run.
pub(super) fn admit_lease(tx: &mut dyn Transaction, lease: &Lease) -> Result<LeaseState, Stop> {
    let state = known_state(tx, &lease.run)?;
    state.admit_lease(lease)?;
    Ok(state)
}

/// Counts a known run as one that got further.
pub(super) fn count_progress(tx: &mut dyn Transaction, run: &RunId) -> Result<(), Stop> {
    known_state(tx, run)?;
    reset_failed_resumes(tx, run)
}

/// Says that the run got further, so that owners who died before count for nothing.
pub(super) fn reset_failed_resumes(tx: &mut dyn Transaction, run: &RunId) -> Result<(), Stop> {
    change(tx, run, &[(runs::FAILED_RESUMES, Value::Integer(0))])
}

/// Returns what is known of a run that is not being removed.
fn known_state(tx: &mut dyn Transaction, run: &RunId) -> Result<LeaseState, Stop> {
    let state = lease_state(tx, run)?.filter(|state| !state.is_being_removed);
    Ok(state.ok_or_else(|| JournalError::UnknownRun { run: run.clone() })?)
}

fn begin(tx: &mut dyn Transaction, run: &NewRun) -> Result<LeaseState, Stop> {
    let state =
        LeaseState { fencing_token: tx.last(Counter::RemovedToken)?, ..LeaseState::default() };
    tx.insert(&runs::TABLE, &codec::new_run(run, state.fencing_token)?)?;
    Ok(state)
}

fn extend(tx: &mut dyn Transaction, run: &RunId, request: &LeaseRequest) -> Result<(), Stop> {
    let expires_at_ms = integer(request.expires_at_ms())?;
    let changes = [runs::LEASE_EXPIRES_AT_MS, runs::HELD_UNTIL_MS];
    change(tx, run, &changes.map(|column| (column, expires_at_ms.clone())))
}

fn free(tx: &mut dyn Transaction, run: &RunId) -> Result<(), Stop> {
    ask::withdraw_of_run(tx, run)?;
    let lease =
        [runs::OWNER_ID, runs::OWNER_LOCATION, runs::HELD_SINCE_MS, runs::LEASE_EXPIRES_AT_MS];
    change(tx, run, &lease.map(|column| (column, Value::Null)))
}

fn change(tx: &mut dyn Transaction, run: &RunId, changes: &[(Column, Value)]) -> Result<(), Stop> {
    let (table, key) = (&runs::TABLE, &run_key(run));
    tx.update(&RowUpdate { table, key, place: None, expected: &[], changes })?;
    Ok(())
}

/// Frees a run whose owner died, and counts whether that owner got any further than the ones before.
fn give_up(
    tx: &mut dyn Transaction,
    run: &RunId,
    state: &mut LeaseState,
) -> Result<Vec<CallAddress>, Stop> {
    const STATUS: &[Column] = &[sessions::STATUS];
    let session = tx.get(&sessions::TABLE, &run_key(run), STATUS)?;
    let status = session.map(|row| row.word(sessions::STATUS, SessionStatus::parse)).transpose()?;
    // Between the turns of a session, the owner did nothing that it can have died of.
    if status.is_none_or(|status| status == SessionStatus::Running) {
        let settled = [CallStatus::Succeeded, CallStatus::Failed, CallStatus::Refused];
        let progress = calls_of_run(run, &[calls::CHANGE]).in_order(&[calls::CHANGE]).with([
            RowCondition::Above(calls::CHANGE, integer(state.failed_since)?),
            RowCondition::OneOf(
                calls::STATUS,
                settled.map(|status| status.as_str().into()).to_vec(),
            ),
            // A settlement by a probe is no progress: the probe finds the same after each death.
            RowCondition::Equal(calls::SETTLED_BY, Value::Null),
        ]);
        let got_further = !tx.select(&progress.at_most(1))?.is_empty();
        state.count_death(got_further, tx.last(Counter::Change)?);
        let changes = [
            (runs::FAILED_RESUMES, state.failed_resumes.into()),
            (runs::FAILED_SINCE, integer(state.failed_since)?),
        ];
        change(tx, run, &changes)?;
    }
    state.holder = None;
    let left = leave_open_calls(tx, run)?;
    free(tx, run)?;
    Ok(left)
}

fn leave_open_calls(tx: &mut dyn Transaction, run: &RunId) -> Result<Vec<CallAddress>, Stop> {
    let is_open = RowCondition::Equal(calls::STATUS, CallStatus::Intended.as_str().into());
    let mut left = Vec::new();
    for mut row in tx.select(&calls_of_run(run, calls::TABLE.key).with([is_open]))? {
        let change = tx.last(Counter::Change)? + 1;
        let changes = [
            (calls::CHANGE, integer(change)?),
            (calls::STATUS, CallStatus::Unknown.as_str().into()),
        ];
        let (table, key) = (&calls::TABLE, row.values());
        tx.update(&RowUpdate { table, key, place: None, expected: &[], changes: &changes })?;
        tx.set_last(Counter::Change, change)?;
        left.push(codec::call_id(&mut row)?);
    }
    Ok(left)
}
