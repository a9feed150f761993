//! The records of calls: intents, outcomes, what was found out later, and which snapshots belong to a call. Rows are made by
//! the caller, so that the one thread that writes has little left to do.

use std::path::Path;
use std::sync::Arc;

use haft_contract::{CallAddress, Effect};

use super::Stop;
use super::codec::{self, Cells, TooLarge, call_key, integer, run_key};
use super::lease::{self, ADMISSION};
use super::lease_state::lease_state;
use crate::row::envelope_json;
use crate::store::{
    Column, Counter, Durability, Inserted, RowNeed, RowPlace, RowUpdate, Transaction, Value, calls,
    late_outcomes, runs, snapshots,
};
use crate::{
    CallRow, CallStatus, Intent, JournalError, Outcome, PlannedCall, SettledBy, Settlement,
    SnapshotNote,
};

/// The columns of a call that are read before its outcome is written.
const STATUS: &[Column] = &[calls::STATUS];

/// One record of a call.
pub(super) struct CallRecord {
    pub(super) call: Arc<PlannedCall>,
    run_key: [Value; 1],
    key: [Value; 5],
    kind: RecordKind,
    /// Whether the record was applied before, in a commit whose end was not seen.
    was_applied: bool,
}

enum RecordKind {
    /// A new row.
    Insert(Cells),
    /// The outcome of an open row.
    Settle(Option<RowPlace>, Cells),
    /// The details of the change that an open call will make. The change number stays: a follower sees them with the outcome.
    Amend(Option<RowPlace>, Cells),
}

impl CallRecord {
    fn new(call: &Arc<PlannedCall>, kind: RecordKind) -> Self {
        let (run_key, key) = (run_key(&call.id.scope.run), call_key(&call.id));
        Self { call: Arc::clone(call), run_key, key, kind, was_applied: false }
    }

    /// Returns the record that is made before a call executes, `None` for a read.
    pub(super) fn intend(
        call: &Arc<PlannedCall>,
        location: &Path,
    ) -> Result<Option<Self>, JournalError> {
        match call.effect {
            Effect::Read => Ok(None),
            Effect::Idempotent | Effect::Once => {
                let cells = codec::open_call(call).map_err(|err| err.error(location))?;
                Ok(Some(Self::new(call, RecordKind::Insert(cells))))
            }
        }
    }

    /// Returns the record that adds to an intent.
    pub(super) fn amend(intent: &Intent, details: String) -> Result<Self, JournalError> {
        let call = intent.shared_call();
        match call.effect {
            Effect::Read => Err(no_open_intent(&call)),
            Effect::Idempotent | Effect::Once => {
                let cells = vec![(calls::DETAILS, details.into())];
                Ok(Self::new(&call, RecordKind::Amend(intent.place(), cells)))
            }
        }
    }

    /// Returns the record of an outcome, and what it must survive. A read has no row before.
    pub(super) fn settle(
        intent: Intent,
        outcome: &Outcome,
        location: &Path,
    ) -> Result<(Self, Durability), JournalError> {
        let (call, place) = (intent.shared_call(), intent.place());
        if outcome.status == CallStatus::Intended {
            let expected = "succeeded, failed, refused or unknown";
            return Err(wrong_status(&call, outcome.status, expected));
        }
        match call.effect {
            Effect::Read => Ok((Self::complete(&call, outcome, location)?, Durability::Process)),
            Effect::Idempotent | Effect::Once => {
                let closing = closing_cells(outcome).map_err(|err| err.error(location))?;
                let cells = [vec![(calls::CHANGE, Value::Null)], closing].concat();
                Ok((Self::new(&call, RecordKind::Settle(place, cells)), Durability::Power))
            }
        }
    }

    /// Returns the record of a call that was refused.
    pub(super) fn refuse(
        call: PlannedCall,
        outcome: &Outcome,
        location: &Path,
    ) -> Result<Self, JournalError> {
        if outcome.status != CallStatus::Refused {
            return Err(wrong_status(&call, outcome.status, "refused"));
        }
        Self::complete(&Arc::new(call), outcome, location)
    }

    /// Returns the record of a call that has its outcome already.
    fn complete(
        call: &Arc<PlannedCall>,
        outcome: &Outcome,
        location: &Path,
    ) -> Result<Self, JournalError> {
        let cells = || {
            let mut cells = codec::open_call(call)?;
            cells.retain(|(column, _)| *column != calls::STATUS);
            cells.extend(closing_cells(outcome)?);
            Ok(cells)
        };
        let cells = cells().map_err(|err: TooLarge| err.error(location))?;
        Ok(Self::new(call, RecordKind::Insert(cells)))
    }

    /// Returns the row that is kept apart if the fencing token is over: the outcome, if there is one.
    fn late_outcome(&self) -> Result<Option<Cells>, TooLarge> {
        let (RecordKind::Insert(cells) | RecordKind::Settle(_, cells)) = &self.kind else {
            return Ok(None);
        };
        let value = |wanted: Column| {
            cells.iter().find(|(column, _)| *column == wanted).map(|(_, value)| value.clone())
        };
        let outcome = [calls::STATUS, calls::FINISHED_AT_MS, calls::ENVELOPE].map(value);
        let [Some(status), Some(finished_at_ms), Some(envelope)] = outcome else { return Ok(None) };
        let [run, node, iteration, attempt, seq] = self.key.clone();
        Ok(Some(vec![
            (late_outcomes::RUN, run),
            (late_outcomes::NODE, node),
            (late_outcomes::ITERATION, iteration),
            (late_outcomes::ATTEMPT, attempt),
            (late_outcomes::SEQ, seq),
            (late_outcomes::FENCING_TOKEN, integer(self.call.fencing_token)?),
            (late_outcomes::TOOL, self.call.tool.as_str().into()),
            (late_outcomes::STATUS, status),
            (late_outcomes::FINISHED_AT_MS, finished_at_ms),
            (late_outcomes::ENVELOPE, envelope),
        ]))
    }
}

/// Returns the columns of an outcome.
fn closing_cells(outcome: &Outcome) -> Result<Cells, TooLarge> {
    let mut cells = vec![
        (calls::STATUS, outcome.status.as_str().into()),
        (calls::FINISHED_AT_MS, integer(outcome.finished_at_ms)?),
        (calls::ENVELOPE, envelope_json(&outcome.envelope).into()),
    ];
    if outcome.status == CallStatus::Refused && outcome.envelope.metadata().held_back {
        cells.push((calls::HELD_BACK, true.into()));
    }
    Ok(cells)
}

/// Returns the rows that the record of a call looks at.
pub(super) fn needs(call: &PlannedCall) -> Vec<RowNeed> {
    vec![
        RowNeed {
            table: &runs::TABLE,
            key: run_key(&call.id.scope.run).to_vec(),
            columns: ADMISSION,
        },
        RowNeed { table: &calls::TABLE, key: call_key(&call.id).to_vec(), columns: STATUS },
    ]
}

/// Makes a record, and returns where its row is. If the fencing token is over, the outcome is kept apart.
pub(super) fn record(
    tx: &mut dyn Transaction,
    record: &mut CallRecord,
) -> Result<Option<RowPlace>, Stop> {
    let call = &record.call;
    match lease::admit(tx, &call.id.scope.run, &record.run_key, call.fencing_token) {
        Ok(()) => {}
        Err(Stop::Refusal(refusal @ JournalError::Fenced { .. })) => {
            if let Some(late) = record.late_outcome()? {
                tx.insert(&late_outcomes::TABLE, &late)?;
            }
            return Err(refusal.into());
        }
        Err(stop) => return Err(stop),
    }
    let is_again = std::mem::replace(&mut record.was_applied, true);
    let (table, key) = (&calls::TABLE, &record.key);
    let expected = &[(calls::STATUS, CallStatus::Intended.as_str().into())];
    let no_open_intent = || Stop::from(no_open_intent(call));
    match &mut record.kind {
        RecordKind::Insert(cells) => {
            let change = number_change(tx, cells)?;
            let Inserted::At(place) = tx.insert(table, cells)? else {
                return match is_again && holds(tx, key, cells)? {
                    true => Ok(None),
                    false => Err(JournalError::Conflict { call: call.id.clone() }.into()),
                };
            };
            tx.set_last(Counter::Change, change)?;
            Ok(place)
        }
        RecordKind::Settle(place, changes) => {
            let change = number_change(tx, changes)?;
            let update = RowUpdate { table, key, place: *place, expected, changes };
            if !tx.update(&update)? {
                return match is_again && holds(tx, key, changes)? {
                    true => Ok(None),
                    false => Err(no_open_intent()),
                };
            }
            tx.set_last(Counter::Change, change)?;
            Ok(None)
        }
        RecordKind::Amend(place, changes) => {
            let update = RowUpdate { table, key, place: *place, expected, changes };
            tx.update(&update)?.then_some(None).ok_or_else(no_open_intent)
        }
    }
}

/// Returns whether the row of a call holds what a record writes. A store that lost its connection applies a record again
/// although its commit took place; the row is then its own.
fn holds(tx: &mut dyn Transaction, key: &[Value], cells: &[(Column, Value)]) -> Result<bool, Stop> {
    let Some(row) = tx.get(&calls::TABLE, key, calls::TABLE.columns)? else { return Ok(false) };
    let mut written = cells.iter().filter(|(column, _)| *column != calls::CHANGE);
    Ok(written.all(|(column, value)| row.value(*column) == value))
}

/// Puts the next change number into the first column of a row. It is given out once the row is written.
fn number_change(tx: &mut dyn Transaction, cells: &mut Cells) -> Result<u64, Stop> {
    let change = tx.last(Counter::Change)? + 1;
    if let Some((_, value)) = cells.first_mut() {
        *value = integer(change)?;
    }
    Ok(change)
}

/// Records what became of a call in doubt.
pub(super) fn resolve(tx: &mut dyn Transaction, settlement: &Settlement) -> Result<CallRow, Stop> {
    let call = &settlement.call;
    let (table, key) = (&calls::TABLE, &call_key(call));
    let Some(mut row) = tx.get(table, key, table.columns)? else {
        return Err(JournalError::UnknownCall { call: call.clone() }.into());
    };
    let mut row = codec::call_row(&mut row)?;
    // The settlement was applied before, in a commit whose end was not seen.
    let is_settled_so = row.verdict == Some(settlement.verdict)
        && row.settled_by == Some(settlement.by)
        && row.finished_at_ms == Some(settlement.settled_at_ms);
    if is_settled_so && row.status != CallStatus::Unknown {
        return Ok(row);
    }
    if row.status != CallStatus::Unknown {
        return Err(JournalError::NotInDoubt { call: call.clone(), status: row.status }.into());
    }
    let change = tx.last(Counter::Change)? + 1;
    row.resolve(settlement, change);
    let changes = &[
        (calls::CHANGE, integer(change)?),
        (calls::STATUS, row.status.as_str().into()),
        (calls::VERDICT, settlement.verdict.as_str().into()),
        (calls::SETTLED_BY, settlement.by.as_str().into()),
        (calls::FINISHED_AT_MS, integer(settlement.settled_at_ms)?),
        (calls::ENVELOPE, row.envelope.clone().into()),
    ];
    tx.update(&RowUpdate { table, key, place: None, expected: &[], changes })?;
    tx.set_last(Counter::Change, change)?;
    if settlement.by == SettledBy::Operator {
        lease::reset_failed_resumes(tx, &call.scope.run)?;
    }
    Ok(row)
}

/// Records that the driver was told what became of a call.
pub(super) fn acknowledge(tx: &mut dyn Transaction, call: &CallAddress) -> Result<(), Stop> {
    let (table, key) = (&calls::TABLE, &call_key(call));
    let changes = &[(calls::ACKNOWLEDGED, true.into())];
    match tx.update(&RowUpdate { table, key, place: None, expected: &[], changes })? {
        true => Ok(()),
        false => Err(JournalError::UnknownCall { call: call.clone() }.into()),
    }
}

/// Records which snapshots belong to a call.
pub(super) fn note_snapshot(tx: &mut dyn Transaction, note: &SnapshotNote) -> Result<(), Stop> {
    let run = &note.call.scope.run;
    if lease_state(tx, run)?.is_none_or(|state| state.is_being_removed) {
        return Err(JournalError::UnknownRun { run: run.clone() }.into());
    }
    let (key_cells, rest) = codec::snapshot_cells(note)?;
    let key: Vec<Value> = key_cells.iter().map(|(_, value)| value.clone()).collect();
    let (table, key) = (&snapshots::TABLE, &key);
    let changes = &rest;
    if !tx.update(&RowUpdate { table, key, place: None, expected: &[], changes })? {
        tx.insert(table, &[key_cells, rest.clone()].concat())?;
    }
    Ok(())
}

fn no_open_intent(call: &PlannedCall) -> JournalError {
    JournalError::NoOpenIntent { call: call.id.clone() }
}

fn wrong_status(call: &PlannedCall, found: CallStatus, expected: &'static str) -> JournalError {
    JournalError::WrongStatus { call: call.id.clone(), found, expected }
}
