//! One transaction of the writer: its statements, the change numbers that it gives out, and who has the runs that it meets,
//! which is looked up once for all records that share the commit. When it begins and whether it commits is the writer's
//! business.

use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::{CachedStatement, Connection, OptionalExtension, ffi};

use super::failure;
use super::sql::{self, Bound, DIALECT, Texts, placeholders, shape};
use crate::CallStatus;
use crate::sql::Statement;
use crate::store::{
    Column, Condition, Counter, Inserted, Reader, Row, RowPlace, RowQuery, RowUpdate, StoreFailure,
    Table, Tallied, Tally, Transaction, Value, calls, runs,
};

/// Where numbers count on from. A call that is removed takes the last number with it, so removing stores it.
pub(super) const CHANGE_READ: &str = "\
SELECT max(last, coalesce((SELECT max(number) FROM calls), 0), coalesce((SELECT max(closed) FROM calls), 0)) \
FROM changes WHERE id = 1";

pub(super) const CHANGE_KEEP: &str = "UPDATE changes SET last = max(last, ?1) WHERE id = 1";

pub(super) const TOKEN_READ: &str = "SELECT removed_fencing_token FROM changes WHERE id = 1";

pub(super) const TOKEN_KEEP: &str = "UPDATE changes SET removed_fencing_token = ?1 WHERE id = 1";

/// A transaction that holds the lock for writing.
pub(super) struct SqliteTransaction<'a> {
    db: &'a Connection,
    path: &'a Path,
    texts: &'a mut Texts,
    change: i64,
    /// Of the runs met so far, which are few: what was asked of their rows.
    runs: Vec<(Value, &'static [Column], Option<Row>)>,
    /// What SQLite said when something failed.
    pub(super) failure: Option<rusqlite::Error>,
}

impl<'a> SqliteTransaction<'a> {
    /// Takes a connection inside a transaction that nobody else can write beside.
    pub(super) fn new(
        db: &'a Connection,
        path: &'a Path,
        texts: &'a mut Texts,
    ) -> rusqlite::Result<Self> {
        let change = db.prepare_cached(CHANGE_READ)?.query_row([], |row| row.get(0))?;
        Ok(Self { db, path, texts, change, runs: Vec::new(), failure: None })
    }

    /// Makes a failure of SQLite's one of the store's.
    fn checked<T>(&mut self, result: rusqlite::Result<T>) -> Result<T, StoreFailure> {
        result.map_err(|err| {
            let failure = failure::journal_error(self.path, &err).into();
            self.failure = Some(err);
            failure
        })
    }

    fn find(
        &mut self,
        table: &'static Table,
        key: &[Value],
        columns: &'static [Column],
    ) -> rusqlite::Result<Option<Row>> {
        let text = self.texts.text(shape(b'g', table, columns), || {
            let conditions = table.key.iter().zip(key);
            let conditions =
                conditions.map(|(column, value)| Condition::Equal(*column, value.clone()));
            sql::select(&RowQuery::of(table, columns).with(conditions)).text
        });
        let mut statement = self.db.prepare_cached(text)?;
        bind(&mut statement, key)?;
        statement.raw_query().next()?.map(|row| sql::row(row, columns)).transpose()
    }

    fn put(&mut self, table: &Table, row: &[(Column, Value)]) -> rusqlite::Result<Inserted> {
        let is_call = *table == calls::TABLE;
        // A call is open until its status says something else. Then the number that recorded it is that of its latest change, too.
        let is_closed =
            is_call && !row.contains(&(calls::STATUS, CallStatus::Intended.as_str().into()));
        let what = if is_closed { b'c' } else { b'i' };
        let text =
            self.texts.text(shape(what, table, row.iter().map(|(column, _)| column)), || {
                let names = row.iter().map(|(column, _)| match *column {
                    calls::CHANGE if is_call => "number",
                    other => other.name,
                });
                let names: Vec<&str> = names.chain(is_closed.then_some("closed")).collect();
                let values = placeholders(names.len());
                format!("INSERT INTO {} ({}) VALUES ({values})", table.name, names.join(", "))
            });
        let mut statement = self.db.prepare_cached(text)?;
        let closed = row.iter().find(|(column, _)| is_closed && *column == calls::CHANGE);
        bind(&mut statement, row.iter().chain(closed).map(|(_, value)| value))?;
        match statement.raw_execute() {
            Ok(_) => Ok(Inserted::At(is_call.then(|| RowPlace(self.db.last_insert_rowid())))),
            // The failure undoes its own statement and nothing else.
            Err(err) if is_taken(&err, table) => Ok(Inserted::Taken),
            Err(err) => Err(err),
        }
    }

    fn change(&mut self, update: &RowUpdate<'_>) -> rusqlite::Result<bool> {
        let RowUpdate { table, key, place, expected, changes } = *update;
        let is_call = *table == calls::TABLE;
        let what = if place.is_some() { b'p' } else { b'u' };
        let mut columns = shape(what, table, changes.iter().map(|(column, _)| column));
        columns.extend(shape(b'/', table, expected.iter().map(|(column, _)| column)));
        let text = self.texts.text(columns, || {
            let changed = changes.iter().map(|(column, _)| match *column {
                calls::CHANGE if is_call => "closed = ?".to_owned(),
                other => format!("{} = ?", other.name),
            });
            let changed: Vec<String> = changed.collect();
            // The row is looked up by its place where that is known; its key must be the one given all the same, because an
            // intent can be brought to a journal that did not give it.
            let plus = if place.is_some() { "+" } else { "" };
            let found = table.key.iter().map(|column| format!("{plus}{} = ?", column.name));
            let found = place.map(|_| "rowid = ?".to_owned()).into_iter().chain(found);
            let checked = expected.iter().map(|(column, _)| format!("+{} IS ?", column.name));
            let found: Vec<String> = found.chain(checked).collect();
            format!(
                "UPDATE {} SET {} WHERE {}",
                table.name,
                changed.join(", "),
                found.join(" AND ")
            )
        });
        let mut statement = self.db.prepare_cached(text)?;
        let place = place.map(|place| Value::Integer(place.0));
        let values = changes.iter().map(|(_, value)| value);
        let values = values.chain(&place).chain(key).chain(expected.iter().map(|(_, value)| value));
        bind(&mut statement, values)?;
        Ok(statement.raw_execute()? > 0)
    }

    fn remove(
        &mut self,
        table: &Table,
        conditions: &[Condition],
        rows_max: u32,
    ) -> rusqlite::Result<u64> {
        if *table == calls::TABLE {
            // No number is given out again although the calls that have it are about to go.
            self.db.prepare_cached(CHANGE_KEEP)?.execute([self.change])?;
        }
        let Statement { text, parameters } = DIALECT.delete(table, conditions, rows_max);
        let mut statement = self.db.prepare_cached(&text)?;
        bind(&mut statement, &parameters)?;
        Ok(u64::try_from(statement.raw_execute()?).unwrap_or(u64::MAX))
    }
}

fn bind<'v>(
    statement: &mut CachedStatement<'_>,
    values: impl IntoIterator<Item = &'v Value>,
) -> rusqlite::Result<()> {
    for (place, value) in (1..).zip(values) {
        statement.raw_bind_parameter(place, Bound(value))?;
    }
    Ok(())
}

/// Returns whether another row has the key. The number of a call is its own, whoever has its key.
fn is_taken(err: &rusqlite::Error, table: &Table) -> bool {
    let code = err.sqlite_error().map(|error| error.extended_code);
    code == Some(ffi::SQLITE_CONSTRAINT_UNIQUE)
        || code == Some(ffi::SQLITE_CONSTRAINT_PRIMARYKEY) && *table != calls::TABLE
}

impl Reader for SqliteTransaction<'_> {
    fn scan(
        &mut self,
        query: &RowQuery,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<(), StoreFailure> {
        let scanned = sql::scan(self.db, query, visit);
        self.checked(scanned)
    }

    fn get(
        &mut self,
        table: &'static Table,
        key: &[Value],
        columns: &'static [Column],
    ) -> Result<Option<Row>, StoreFailure> {
        if *table != runs::TABLE {
            let found = self.find(table, key, columns);
            return self.checked(found);
        }
        let is_known = |known: &&(Value, &[Column], _)| {
            std::slice::from_ref(&known.0) == key && std::ptr::eq(known.1, columns)
        };
        if let Some((_, _, row)) = self.runs.iter().find(is_known) {
            return Ok(row.clone());
        }
        let found = self.find(table, key, columns);
        let row = self.checked(found)?;
        self.runs.extend(key.first().map(|id| (id.clone(), columns, row.clone())));
        Ok(row)
    }

    fn tally(&mut self, tally: &Tally) -> Result<Vec<Tallied>, StoreFailure> {
        let tallied = sql::tally(self.db, tally);
        self.checked(tallied)
    }
}

impl Transaction for SqliteTransaction<'_> {
    fn insert(
        &mut self,
        table: &'static Table,
        row: &[(Column, Value)],
    ) -> Result<Inserted, StoreFailure> {
        self.forget(table);
        let inserted = self.put(table, row);
        self.checked(inserted)
    }

    fn update(&mut self, update: &RowUpdate<'_>) -> Result<bool, StoreFailure> {
        self.forget(update.table);
        let changed = self.change(update);
        self.checked(changed)
    }

    fn delete(
        &mut self,
        table: &'static Table,
        conditions: &[Condition],
        rows_max: u32,
    ) -> Result<u64, StoreFailure> {
        self.forget(table);
        let removed = self.remove(table, conditions, rows_max);
        self.checked(removed)
    }

    fn last(&mut self, counter: Counter) -> Result<u64, StoreFailure> {
        let number = match counter {
            Counter::Change => self.change,
            Counter::RemovedToken => {
                let read = self.db.prepare_cached(TOKEN_READ);
                let read =
                    read.and_then(|mut read| read.query_row([], |row| row.get(0)).optional());
                self.checked(read)?.unwrap_or_default()
            }
        };
        Ok(u64::try_from(number).unwrap_or_default())
    }

    fn set_last(&mut self, counter: Counter, number: u64) -> Result<(), StoreFailure> {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        match counter {
            // The row that has it says so.
            Counter::Change => self.change = number,
            Counter::RemovedToken => {
                let keep = self.db.prepare_cached(TOKEN_KEEP);
                let kept = keep.and_then(|mut keep| keep.execute([number]));
                self.checked(kept)?;
            }
        }
        Ok(())
    }
}

impl SqliteTransaction<'_> {
    fn forget(&mut self, table: &Table) {
        if *table == runs::TABLE {
            self.runs.clear();
        }
    }
}
