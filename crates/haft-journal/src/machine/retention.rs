//! Removing runs, with the sessions that they are of. A long run is removed in several commits, so that no other writer waits
//! for long. From the first of them on it is marked, so that nothing more is recorded of it.

use std::collections::HashMap;

use haft_contract::{Effect, RunId};

use super::codec::{calls_of_run, run_key};
use super::lease_state::lease_state;
use super::recall::all;
use super::{Stop, contents};
use crate::limits::PRUNE_CALLS_MAX;
use crate::maintenance::{Candidates, RunAge};
use crate::store::{
    Column, Counter, Reader, Row, RowCondition, RowError, RowQuery, RowUpdate, Table, Tally,
    Transaction, Value, asks, calls, late_outcomes, messages, parts, runs, sessions, snapshots,
};
use crate::{CallStatus, Retention};

/// A run that is to be removed as it was seen.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) run: RunId,
    /// The run of the session that began this one.
    pub(super) parent: Option<RunId>,
    fencing_token: u64,
    last_change: u64,
}

/// How far the removal of a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removal {
    /// So many calls are gone, and there are more.
    Begun(u64),
    /// The last so many calls are gone, and the run.
    Done(u64),
    /// The run is in use again and stays.
    Kept,
}

/// Sums over all calls of a run.
#[derive(Default)]
struct CallSums {
    latest_ms: u64,
    last_change: u64,
    bytes: u64,
    is_in_doubt: bool,
}

/// Finds out what is to be removed.
pub(super) fn candidates(
    reader: &mut dyn Reader,
    retention: Retention,
) -> Result<Candidates<Candidate>, Stop> {
    let mut call_sums = call_sums(reader)?;
    let mut session_ages = session_ages(reader)?;
    let mut said_bytes = said_bytes(reader)?;
    for (run, bytes) in contents::bytes_by_run(reader)? {
        *said_bytes.entry(run).or_default() += bytes;
    }
    const COLUMNS: &[Column] = &[
        runs::ID,
        runs::STARTED_AT_MS,
        runs::FENCING_TOKEN,
        runs::OWNER_ID,
        runs::IS_BEING_REMOVED,
    ];
    let query = RowQuery::of(&runs::TABLE, COLUMNS).in_order(&[runs::NUMBER]);
    let (mut seen, mut going) = (Vec::new(), Vec::new());
    let found = all(reader, &query, |row| {
        let run: RunId = row.word(runs::ID, |text| RunId::parse(text).ok())?;
        Ok((run, row.number::<u64>(runs::STARTED_AT_MS)?, row.clone()))
    })?;
    for (run, started_at_ms, row) in found {
        let sums = call_sums.remove(run.as_str()).unwrap_or_default();
        let (parent, updated_at_ms) = session_ages.remove(run.as_str()).unwrap_or_default();
        let candidate = Candidate {
            run: run.clone(),
            parent: parent.clone(),
            fencing_token: row.number(runs::FENCING_TOKEN)?,
            last_change: sums.last_change,
        };
        if row.flag(runs::IS_BEING_REMOVED)? {
            going.push(candidate);
            continue;
        }
        let age = RunAge {
            latest_ms: started_at_ms.max(sums.latest_ms).max(updated_at_ms),
            bytes: sums.bytes + said_bytes.get(run.as_str()).copied().unwrap_or_default(),
            is_held: !row.is_null(runs::OWNER_ID),
            is_in_doubt: sums.is_in_doubt,
            run,
            parent,
        };
        seen.push((age, candidate));
    }
    Ok(retention.candidates(going, seen))
}

fn call_sums(reader: &mut dyn Reader) -> Result<HashMap<String, CallSums>, Stop> {
    let of_all = Tally {
        table: &calls::TABLE,
        conditions: Vec::new(),
        group: &[calls::RUN],
        greatest: &[calls::STARTED_AT_MS, calls::FINISHED_AT_MS, calls::CHANGE],
        with_bytes: true,
    };
    let mut sums: HashMap<String, CallSums> = HashMap::new();
    for mut tallied in reader.tally(&of_all)? {
        let numbers = tallied
            .greatest
            .iter()
            .map(|number| number.and_then(|number| u64::try_from(number).ok()).unwrap_or_default());
        let numbers: Vec<u64> = numbers.collect();
        let [started_at_ms, finished_at_ms, last_change] = numbers.as_slice() else { continue };
        let of_run = sums.entry(tallied.group.text(calls::RUN)?).or_default();
        of_run.latest_ms = *started_at_ms.max(finished_at_ms);
        of_run.last_change = *last_change;
        of_run.bytes = tallied.bytes;
    }
    let in_doubt = Tally {
        conditions: vec![
            RowCondition::Equal(calls::STATUS, CallStatus::Unknown.as_str().into()),
            RowCondition::Equal(calls::VERDICT, Value::Null),
            RowCondition::Equal(calls::EFFECT, Effect::Once.as_str().into()),
        ],
        greatest: &[],
        with_bytes: false,
        ..of_all
    };
    for mut tallied in reader.tally(&in_doubt)? {
        sums.entry(tallied.group.text(calls::RUN)?).or_default().is_in_doubt = true;
    }
    Ok(sums)
}

/// Returns the parent of each session, and when anything of it was recorded last.
fn session_ages(reader: &mut dyn Reader) -> Result<HashMap<String, (Option<RunId>, u64)>, Stop> {
    const COLUMNS: &[Column] = &[sessions::ID, sessions::PARENT_ID, sessions::UPDATED_AT_MS];
    let age = |row: &mut Row| -> Result<_, RowError> {
        let parent = row.optional_word(sessions::PARENT_ID, |text| RunId::parse(text).ok())?;
        Ok((row.text(sessions::ID)?, (parent, row.number(sessions::UPDATED_AT_MS)?)))
    };
    Ok(all(reader, &RowQuery::of(&sessions::TABLE, COLUMNS), age)?.into_iter().collect())
}

/// Returns how much was said in each session.
fn said_bytes(reader: &mut dyn Reader) -> Result<HashMap<String, u64>, Stop> {
    let said = Tally {
        table: &parts::TABLE,
        conditions: Vec::new(),
        group: &[parts::SESSION_ID],
        greatest: &[],
        with_bytes: true,
    };
    let mut bytes = HashMap::new();
    for mut tallied in reader.tally(&said)? {
        bytes.insert(tallied.group.text(parts::SESSION_ID)?, tallied.bytes);
    }
    Ok(bytes)
}

/// Removes a part of a run, unless it was used since it was looked at. One that is not there is gone.
pub(super) fn remove(tx: &mut dyn Transaction, candidate: &Candidate) -> Result<Removal, Stop> {
    let run = &candidate.run;
    let Some(state) = lease_state(tx, run)? else { return Ok(Removal::Done(0)) };
    if !state.is_being_removed {
        let is_as_seen = state.holder.is_none()
            && state.fencing_token == candidate.fencing_token
            && last_change(tx, run)? == candidate.last_change;
        if !is_as_seen {
            return Ok(Removal::Kept);
        }
        let (table, key) = (&runs::TABLE, &run_key(run));
        let changes = &[(runs::IS_BEING_REMOVED, true.into())];
        tx.update(&RowUpdate { table, key, place: None, expected: &[], changes })?;
    }
    remove_part(tx, run)
}

/// Removes all that is left of a run.
pub(super) fn remove_rest(tx: &mut dyn Transaction, run: &RunId) -> Result<(), Stop> {
    while let Removal::Begun(_) = remove_part(tx, run)? {}
    Ok(())
}

fn remove_part(tx: &mut dyn Transaction, run: &RunId) -> Result<Removal, Stop> {
    let is_full = |rows: u64| rows == u64::from(PRUNE_CALLS_MAX);
    let delete = |tx: &mut dyn Transaction, table: &'static Table, column: Column| {
        tx.delete(table, &[RowCondition::Equal(column, run.as_str().into())], PRUNE_CALLS_MAX)
    };
    let calls = delete(tx, &calls::TABLE, calls::RUN)?;
    let others = [
        delete(tx, &snapshots::TABLE, snapshots::RUN)?,
        delete(tx, &late_outcomes::TABLE, late_outcomes::RUN)?,
        delete(tx, &asks::TABLE, asks::RUN)?,
        delete(tx, &parts::TABLE, parts::SESSION_ID)?,
    ];
    if is_full(calls) || others.into_iter().any(is_full) {
        return Ok(Removal::Begun(calls));
    }
    if contents::remove_part(tx, run)?.is_begun() {
        return Ok(Removal::Begun(calls));
    }
    // No part is left that belongs to any of them.
    if is_full(delete(tx, &messages::TABLE, messages::SESSION_ID)?) {
        return Ok(Removal::Begun(calls));
    }
    delete(tx, &sessions::TABLE, sessions::ID)?;
    let fencing_token = lease_state(tx, run)?.map_or(0, |state| state.fencing_token);
    if fencing_token > tx.last(Counter::RemovedToken)? {
        tx.set_last(Counter::RemovedToken, fencing_token)?;
    }
    tx.delete(&runs::TABLE, &[RowCondition::Equal(runs::ID, run.as_str().into())], 1)?;
    Ok(Removal::Done(calls))
}

/// Returns the greatest change number of the calls of a run.
fn last_change(tx: &mut dyn Transaction, run: &RunId) -> Result<u64, Stop> {
    let query = calls_of_run(run, &[calls::CHANGE]).latest_first(&[calls::CHANGE]).at_most(1);
    let latest = tx.select(&query)?.pop();
    Ok(latest.map(|row| row.number(calls::CHANGE)).transpose()?.unwrap_or_default())
}
