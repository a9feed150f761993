//! Many entries in one commit: their columns as arrays, one statement for all that are of a kind, and what became of each.
//! What is written to a run while it is somebody else's is decided by the statements; when a batch is tried again is
//! not decided here.

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use super::failure::Trouble;
use super::text::{restored, stored};
use crate::entry::{Closing, Entry};
use crate::{JournalError, Owner, PlannedCall, Status};

/// Says whether what is written may have been committed before, in a session that broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    First,
    Again,
}

/// The statements that write entries, prepared for one session.
pub(super) struct Statements {
    insert: Statement,
    settle: Statement,
    amend: Statement,
}

/// What became of each entry of a batch.
pub(super) type Results = Vec<Result<(), JournalError>>;

impl Statements {
    pub(super) async fn prepare(client: &Client) -> Result<Self, Trouble> {
        Ok(Self {
            insert: client.prepare(include_str!("statement/insert.sql")).await?,
            settle: client.prepare(include_str!("statement/settle.sql")).await?,
            amend: client.prepare(include_str!("statement/amend.sql")).await?,
        })
    }

    /// Writes the entries into the open transaction and returns what became of each.
    ///
    /// First comes what changes rows, then what adds some: entries of one batch wait at the same time, so every order
    /// of them is right, and within a kind it is the one in which they came. All is sent before the first answer.
    pub(super) async fn apply(
        &self,
        db: &Client,
        columns: &Columns<'_>,
        pass: Pass,
    ) -> Result<Results, Trouble> {
        let Columns { amendments, settlements, insertions } = columns;
        let is_again = pass == Pass::Again;
        let again: [&(dyn ToSql + Sync); 1] = [&is_again];
        let (amended, settled, inserted) = tokio::try_join!(
            biased;
            amendments.write(db, &self.amend, &[]),
            settlements.write(db, &self.settle, &again),
            insertions.write(db, &self.insert, &again),
        )?;
        let mut results: Vec<_> = amended.into_iter().chain(settled).chain(inserted).collect();
        results.sort_unstable_by_key(|(number, _)| *number);
        Ok(results.into_iter().map(|(_, result)| result).collect())
    }
}

/// The entries of a batch by kind, their values as columns.
pub(super) struct Columns<'a> {
    amendments: Kind<'a>,
    settlements: Kind<'a>,
    insertions: Kind<'a>,
}

/// The entries that one statement writes.
struct Kind<'a> {
    /// Where each entry stands in the batch, and its call.
    entries: Vec<(usize, &'a PlannedCall)>,
    columns: Vec<Column<'a>>,
    /// Makes the error of an entry whose call is not as the statement needs it.
    unfit: fn(&PlannedCall) -> JournalError,
}

type Column<'a> = Box<dyn ToSql + Sync + 'a>;

impl<'a> Columns<'a> {
    /// Sorts the entries by kind.
    pub(super) fn of(entries: &[&'a Entry]) -> Result<Self, Trouble> {
        let (mut amendments, mut settlements, mut insertions) =
            (Vec::new(), Vec::new(), Vec::new());
        for (number, entry) in entries.iter().enumerate() {
            match entry {
                Entry::Amended(call, details) => {
                    amendments.push((number, &**call, details.as_str()))
                }
                Entry::Settled(call, closing) => settlements.push((number, &**call, closing)),
                Entry::Intended(call) => insertions.push((number, &**call, None)),
                Entry::Complete(call, closing) => insertions.push((number, &**call, Some(closing))),
            }
        }
        Ok(Self {
            amendments: Kind::amendments(&amendments)?,
            settlements: Kind::settlements(&settlements)?,
            insertions: Kind::insertions(&insertions)?,
        })
    }
}

impl<'a> Kind<'a> {
    fn amendments(entries: &[(usize, &'a PlannedCall, &'a str)]) -> Result<Self, Trouble> {
        let mut columns = places(entries.iter().map(|entry| entry.1))?;
        columns.push(column(entries, |entry| stored(entry.2)));
        Ok(Self::new(entries, columns, no_open_intent))
    }

    fn settlements(entries: &[(usize, &'a PlannedCall, &'a Closing)]) -> Result<Self, Trouble> {
        let mut columns = places(entries.iter().map(|entry| entry.1))?;
        columns.extend([
            column(entries, |entry| stored(&entry.1.tool)),
            column(entries, |entry| entry.2.status.as_str()),
            numbers(entries.iter().map(|entry| entry.2.finished_at_ms))?,
            column(entries, |entry| stored(&entry.2.envelope)),
        ]);
        Ok(Self::new(entries, columns, no_open_intent))
    }

    fn insertions(
        entries: &[(usize, &'a PlannedCall, Option<&'a Closing>)],
    ) -> Result<Self, Trouble> {
        let status =
            |closing: Option<&Closing>| closing.map_or(Status::Intended, |closing| closing.status);
        let finished: Vec<Option<i64>> = entries
            .iter()
            .map(|entry| entry.2.map(|closing| integer(closing.finished_at_ms)).transpose())
            .collect::<Result<_, _>>()?;
        let mut columns = places(entries.iter().map(|entry| entry.1))?;
        columns.extend([
            column(entries, |entry| stored(&entry.1.tool)),
            column(entries, |entry| entry.1.effect.as_str()),
            column(entries, |entry| status(entry.2).as_str()),
            numbers(entries.iter().map(|entry| entry.1.started_at_ms))?,
            Box::new(finished),
            column(entries, |entry| entry.1.first_key.to_string()),
            column(entries, |entry| entry.1.call_key.to_string()),
            column(entries, |entry| entry.1.driver_call_id.as_deref().map(stored)),
            column(entries, |entry| stored(&entry.1.input)),
            column(entries, |entry| stored(&entry.1.accesses)),
            column(entries, |entry| entry.2.map(|closing| stored(&closing.envelope))),
        ]);
        Ok(Self::new(entries, columns, conflict))
    }

    fn new<T>(
        entries: &[(usize, &'a PlannedCall, T)],
        columns: Vec<Column<'a>>,
        unfit: fn(&PlannedCall) -> JournalError,
    ) -> Self {
        let entries = entries.iter().map(|(number, call, _)| (*number, *call)).collect();
        Self { entries, columns, unfit }
    }

    /// Executes the statement, if there is anything to write, and returns what became of each entry, with its number.
    async fn write(
        &self,
        db: &Client,
        statement: &Statement,
        more: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<(usize, Result<(), JournalError>)>, Trouble> {
        if self.entries.is_empty() {
            return Ok(Vec::new());
        }
        let columns = self.columns.iter().map(|column| &**column as &(dyn ToSql + Sync));
        let parameters: Vec<_> = columns.chain(more.iter().copied()).collect();
        let rows = db.query(statement, &parameters).await?;
        if rows.len() != self.entries.len() {
            let (given, found) = (self.entries.len(), rows.len());
            return Err(Trouble::Senseless(format!("{given} entries had {found} answers")));
        }
        let answers = self.entries.iter().zip(&rows);
        answers.map(|(&(number, call), row)| Ok((number, self.result(row, call)?))).collect()
    }

    fn result(&self, row: &Row, call: &PlannedCall) -> Result<Result<(), JournalError>, Trouble> {
        let run = || call.id.scope.run.clone();
        Ok(match row.try_get(0)? {
            "fresh" | "done" => Ok(()),
            "unknown_run" => Err(JournalError::UnknownRun { run: run() }),
            "fenced" => {
                Err(JournalError::Fenced { run: run(), epoch: call.epoch, by: owner(row)? })
            }
            "unfit" => Err((self.unfit)(call)),
            other => return Err(Trouble::Senseless(format!("an entry was judged {other:?}"))),
        })
    }
}

/// Returns the columns that say which calls they are, and under which epoch.
fn places<'a>(calls: impl Iterator<Item = &'a PlannedCall>) -> Result<Vec<Column<'a>>, Trouble> {
    let calls: Vec<&PlannedCall> = calls.collect();
    Ok(vec![
        column(&calls, |call| call.id.scope.run.as_str()),
        column(&calls, |call| stored(&call.id.scope.node)),
        column(&calls, |call| i64::from(call.id.scope.iteration)),
        column(&calls, |call| i64::from(call.id.scope.attempt)),
        column(&calls, |call| i64::from(call.id.seq)),
        numbers(calls.iter().map(|call| call.epoch))?,
    ])
}

fn column<'a, E, T: ToSql + Sync + 'a>(entries: &[E], value: impl Fn(&E) -> T) -> Column<'a> {
    Box::new(entries.iter().map(value).collect::<Vec<T>>())
}

fn numbers<'a>(values: impl Iterator<Item = u64>) -> Result<Column<'a>, Trouble> {
    Ok(Box::new(values.map(integer).collect::<Result<Vec<i64>, Trouble>>()?))
}

/// Returns the number as PostgreSQL stores it.
pub(super) fn integer(value: u64) -> Result<i64, Trouble> {
    i64::try_from(value).map_err(|_| Trouble::TooLarge(value))
}

fn conflict(call: &PlannedCall) -> JournalError {
    JournalError::Conflict { call: call.id.clone() }
}

fn no_open_intent(call: &PlannedCall) -> JournalError {
    JournalError::NoOpenIntent { call: call.id.clone() }
}

/// Reads an owner from the second and third column.
fn owner(row: &Row) -> Result<Option<Owner>, Trouble> {
    let id: Option<String> = row.try_get(1)?;
    let place: Option<String> = row.try_get(2)?;
    Ok(id.zip(place).map(|(id, place)| Owner { id: restored(id), place: restored(place) }))
}
