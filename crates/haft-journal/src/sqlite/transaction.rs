//! One transaction of the writer: its statements, the change numbers that it gives out, and who has the runs that it meets,
//! which is looked up once for all records that share the commit. When it begins and whether it commits is the writer's
//! business.

use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::{CachedStatement, Connection, OptionalExtension, ffi};

use super::content_files::ContentWrites;
use super::failure;
use super::sql::{self, Bound, DIALECT, Texts, placeholders, shape};
use crate::CallStatus;
use crate::sql::SqlStatement;
use crate::store::{
    Column, Counter, Inserted, Reader, Row, RowCondition, RowPlace, RowQuery, RowUpdate,
    StoreFailure, Table, Tallied, Tally, Transaction, Value, calls, contents, runs,
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
    /// The texts that lie beside the database.
    pub(super) contents: ContentWrites<'a>,
    /// The error of SQLite, if something failed.
    pub(super) failure: Option<rusqlite::Error>,
}

impl<'a> SqliteTransaction<'a> {
    /// Takes a connection inside a transaction that keeps out all other writers.
    pub(super) fn new(
        db: &'a Connection,
        path: &'a Path,
        texts: &'a mut Texts,
    ) -> rusqlite::Result<Self> {
        let change = db.prepare_cached(CHANGE_READ)?.query_row([], |row| row.get(0))?;
        let contents = ContentWrites::new(path);
        Ok(Self { db, path, texts, change, runs: Vec::new(), contents, failure: None })
    }

    /// Makes a failure of SQLite's one of the store's.
    fn checked<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> rusqlite::Result<T>,
    ) -> Result<T, StoreFailure> {
        work(self).map_err(|err| {
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
                conditions.map(|(column, value)| RowCondition::Equal(*column, value.clone()));
            sql::select(&RowQuery::of(table, columns).with(conditions)).text
        });
        let mut statement = self.db.prepare_cached(text)?;
        bind(&mut statement, key)?;
        statement.raw_query().next()?.map(|row| sql::row(row, columns)).transpose()
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

impl Reader for SqliteTransaction<'_> {
    fn scan(
        &mut self,
        query: &RowQuery,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<(), StoreFailure> {
        if *query.table == contents::TABLE {
            return Ok(self.contents.files().scan(query, visit)?);
        }
        self.checked(|this| sql::scan(this.db, query, visit))
    }

    fn get(
        &mut self,
        table: &'static Table,
        key: &[Value],
        columns: &'static [Column],
    ) -> Result<Option<Row>, StoreFailure> {
        if *table == contents::TABLE {
            return self.contents.files().get(key, columns);
        }
        if *table != runs::TABLE {
            return self.checked(|this| this.find(table, key, columns));
        }
        let is_known = |known: &&(Value, &[Column], _)| {
            std::slice::from_ref(&known.0) == key && std::ptr::eq(known.1, columns)
        };
        if let Some((_, _, row)) = self.runs.iter().find(is_known) {
            return Ok(row.clone());
        }
        let row = self.checked(|this| this.find(table, key, columns))?;
        self.runs.extend(key.first().map(|id| (id.clone(), columns, row.clone())));
        Ok(row)
    }

    fn tally(&mut self, tally: &Tally) -> Result<Vec<Tallied>, StoreFailure> {
        self.checked(|this| sql::tally(this.db, tally))
    }
}

impl Transaction for SqliteTransaction<'_> {
    fn insert(
        &mut self,
        table: &'static Table,
        row: &[(Column, Value)],
    ) -> Result<Inserted, StoreFailure> {
        if *table == contents::TABLE {
            return Ok(self.contents.insert(row)?);
        }
        self.forget(table);
        self.checked(|this| {
            let is_call = *table == calls::TABLE;
            // A call is open until its status says something else. Then the number that recorded it is that of its latest
            // change, too.
            let is_closed =
                is_call && !row.contains(&(calls::STATUS, CallStatus::Intended.as_str().into()));
            let what = if is_closed { b'c' } else { b'i' };
            let text =
                this.texts.text(shape(what, table, row.iter().map(|(column, _)| column)), || {
                    let names = row.iter().map(|(column, _)| match *column {
                        calls::CHANGE if is_call => "number",
                        other => other.name,
                    });
                    let names: Vec<&str> = names.chain(is_closed.then_some("closed")).collect();
                    let values = placeholders(names.len());
                    format!("INSERT INTO {} ({}) VALUES ({values})", table.name, names.join(", "))
                });
            let mut statement = this.db.prepare_cached(text)?;
            let closed = row.iter().find(|(column, _)| is_closed && *column == calls::CHANGE);
            bind(&mut statement, row.iter().chain(closed).map(|(_, value)| value))?;
            match statement.raw_execute() {
                Ok(_) => Ok(Inserted::At(is_call.then(|| RowPlace(this.db.last_insert_rowid())))),
                // The failure undoes its own statement and nothing else. The number of a call is unique, so only its key can
                // be taken.
                Err(err) => match err.sqlite_error().map(|error| error.extended_code) {
                    Some(ffi::SQLITE_CONSTRAINT_UNIQUE) => Ok(Inserted::Taken),
                    Some(ffi::SQLITE_CONSTRAINT_PRIMARYKEY) if !is_call => Ok(Inserted::Taken),
                    _ => Err(err),
                },
            }
        })
    }

    fn update(&mut self, update: &RowUpdate<'_>) -> Result<bool, StoreFailure> {
        self.forget(update.table);
        self.checked(|this| {
            let RowUpdate { table, key, place, expected, changes } = *update;
            let is_call = *table == calls::TABLE;
            let what = if place.is_some() { b'p' } else { b'u' };
            let mut columns = shape(what, table, changes.iter().map(|(column, _)| column));
            columns.extend(shape(b'/', table, expected.iter().map(|(column, _)| column)));
            let text = this.texts.text(columns, || {
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
            let mut statement = this.db.prepare_cached(text)?;
            let place = place.map(|place| Value::Integer(place.0));
            let values = changes.iter().map(|(_, value)| value);
            let values =
                values.chain(&place).chain(key).chain(expected.iter().map(|(_, value)| value));
            bind(&mut statement, values)?;
            Ok(statement.raw_execute()? > 0)
        })
    }

    fn delete(
        &mut self,
        table: &'static Table,
        conditions: &[RowCondition],
        rows_max: u32,
    ) -> Result<u64, StoreFailure> {
        if *table == contents::TABLE {
            self.contents.remove(conditions)?;
            return Ok(0);
        }
        self.forget(table);
        self.checked(|this| {
            if *table == calls::TABLE {
                // No number is given out again although the calls that have it are about to go.
                this.db.prepare_cached(CHANGE_KEEP)?.execute([this.change])?;
            }
            let SqlStatement { text, parameters } = DIALECT.delete(table, conditions, rows_max);
            let mut statement = this.db.prepare_cached(&text)?;
            bind(&mut statement, &parameters)?;
            Ok(u64::try_from(statement.raw_execute()?).unwrap_or(u64::MAX))
        })
    }

    fn last(&mut self, counter: Counter) -> Result<u64, StoreFailure> {
        let number = match counter {
            Counter::Change => self.change,
            Counter::RemovedToken => {
                let read = |this: &mut Self| {
                    this.db.prepare_cached(TOKEN_READ)?.query_row([], |row| row.get(0)).optional()
                };
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
                self.checked(|this| this.db.prepare_cached(TOKEN_KEEP)?.execute([number]))?;
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
