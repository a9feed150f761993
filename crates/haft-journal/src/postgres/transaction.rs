//! One transaction of the writer. It holds the lock of all writers, so that nothing which it has read can change. The rows
//! that the
//! operations of a commit need are read at once when it begins. After that they decide on the rows that are here, and
//! their writes are sent together with the commit.

use std::collections::HashMap;
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::path::Path;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::{MaybeDone, maybe_done};
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;

use super::failure::Trouble;
use super::session::Session;
use super::sql::{self, DIALECT, SqlParameter, array, unnested};
use crate::limits::ANSWER_MS_MAX;
use crate::store::{
    Column, Counter, Inserted, Reader, Row, RowCondition, RowNeed, RowQuery, RowUpdate,
    StoreFailure, Table, Tallied, Tally, Transaction, Value, parts,
};

/// The settings of a database or a user may be others.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
/// Takes the lock of all writers: see the schema.
const LOCK: &str = "SELECT last, removed_fencing_token FROM haft.changes WHERE id = 1 FOR UPDATE";
const CLOCK: &str = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
/// Stores the counters, and says which commit this is.
const NOTE_COMMIT: &str = "\
WITH noted AS (\
INSERT INTO haft.writers (id, last_commit, written_at) VALUES ($1, $2, now()) \
ON CONFLICT (id) DO UPDATE SET last_commit = excluded.last_commit, written_at = excluded.written_at\
) UPDATE haft.changes SET last = $3, removed_fencing_token = $4 WHERE id = 1 AND (last <> $3 OR removed_fencing_token <> $4)";
const NO_SYNC: &str = "SET LOCAL synchronous_commit = off";

type RowKey = (&'static str, Vec<Value>);

/// The part of a row that this transaction knows.
enum Known {
    Absent,
    /// The columns that were read or written, in the order of the table.
    Present(Vec<Option<Value>>),
}

/// Rows of one shape that one statement writes.
struct WriteGroup {
    table: &'static Table,
    /// How many of the first columns are the key of a row that is changed; none of a new row.
    key_columns: usize,
    columns: Vec<Column>,
    rows: Vec<Vec<Value>>,
}

/// The numbers of the counters.
struct Counters {
    last: i64,
    removed_token: i64,
}

/// A transaction in a session.
pub(super) struct PostgresTransaction<'a> {
    runtime: &'a Runtime,
    session: &'a mut Session,
    path: &'a Path,
    known: HashMap<RowKey, Known>,
    writes: Vec<WriteGroup>,
    /// The last group that writes a row.
    latest: HashMap<RowKey, usize>,
    counters: Counters,
    /// The failure of the server or the connection, if there was one.
    pub(super) trouble: Option<Trouble>,
}

impl<'a> PostgresTransaction<'a> {
    /// Begins, takes the lock, and reads what is needed, all of it sent at once.
    pub(super) fn begin(
        runtime: &'a Runtime,
        session: &'a mut Session,
        path: &'a Path,
        needs: Vec<RowNeed>,
    ) -> Result<Self, Trouble> {
        let mut wanted: HashMap<(&str, *const Column), Lookup> = HashMap::new();
        for need in needs {
            let shape = (need.table.name, need.columns.as_ptr());
            let lookup = wanted.entry(shape).or_insert_with(|| Lookup {
                table: need.table,
                columns: need.columns,
                keys: vec![],
            });
            if !lookup.keys.contains(&need.key) {
                lookup.keys.push(need.key);
            }
        }
        let lookups: Vec<Lookup> = wanted.into_values().collect();
        let (counters, found) = wait(runtime, async {
            let texts: Vec<String> =
                lookups.iter().map(Lookup::text).chain([LOCK.to_owned()]).collect();
            session.prepare(&texts).await?;
            let (db, session) = (&session.client, &*session);
            let found = joined(lookups.iter().map(|lookup| lookup.find(session)));
            let (begun, locked, found) = tokio::join!(
                biased;
                db.batch_execute(BEGIN),
                db.query_one(session.statement(LOCK), &[]),
                found,
            );
            begun?;
            let locked = locked?;
            let counters = Counters { last: locked.try_get(0)?, removed_token: locked.try_get(1)? };
            let found: Vec<Vec<(usize, Row)>> =
                found.into_iter().collect::<Result<_, Trouble>>()?;
            Ok::<_, Trouble>((counters, found))
        })?;
        let mut transaction = Self {
            runtime,
            session,
            path,
            known: HashMap::new(),
            writes: Vec::new(),
            latest: HashMap::new(),
            counters,
            trouble: None,
        };
        for (lookup, found) in lookups.into_iter().zip(found) {
            transaction.learn(lookup, found);
        }
        Ok(transaction)
    }

    /// Writes what is left to write, and commits it. `commit` names this commit, so that it can be looked up.
    pub(super) fn commit(mut self, commit: (&str, i64), syncs: bool) -> Result<(), Trouble> {
        let groups = std::mem::take(&mut self.writes);
        let Counters { last, removed_token } = self.counters;
        let session = &mut *self.session;
        wait(self.runtime, async {
            let mut texts: Vec<String> = groups.iter().map(WriteGroup::text).collect();
            texts.push(NOTE_COMMIT.to_owned());
            session.prepare(&texts).await?;
            let (db, session) = (&session.client, &*session);
            let written =
                joined(groups.iter().zip(&texts).map(|(group, text)| group.write(session, text)));
            let note: [&(dyn ToSql + Sync); 4] = [&commit.0, &commit.1, &last, &removed_token];
            let end = if syncs { "COMMIT".to_owned() } else { format!("{NO_SYNC}; COMMIT") };
            let (written, noted, committed) = tokio::join!(
                biased;
                written,
                db.execute(session.statement(NOTE_COMMIT), &note),
                db.batch_execute(&end),
            );
            // Once one of them has failed, the server takes the commit for the end of a transaction that failed.
            written.into_iter().collect::<Result<Vec<u64>, Trouble>>()?;
            noted?;
            Ok(committed?)
        })
    }

    fn learn(&mut self, lookup: Lookup, found: Vec<(usize, Row)>) {
        let Lookup { table, columns, keys } = lookup;
        let mut rows: HashMap<usize, Row> = found.into_iter().collect();
        for (place, key) in keys.into_iter().enumerate() {
            let row = rows.remove(&place);
            match (self.known.get_mut(&(table.name, key.clone())), row) {
                // The row was written here since, so it is newer than the one that was read.
                (Some(Known::Absent), _) | (Some(Known::Present(_)), None) => {}
                (Some(Known::Present(values)), Some(row)) => {
                    for (column, value) in columns.iter().zip(row.values()) {
                        values[column.at].get_or_insert_with(|| value.clone());
                    }
                }
                (None, None) => drop(self.known.insert((table.name, key), Known::Absent)),
                (None, Some(row)) => {
                    let mut values = vec![None; table.columns.len()];
                    for (column, value) in
                        columns.iter().zip(row.values()).chain(table.key.iter().zip(&key))
                    {
                        values[column.at] = Some(value.clone());
                    }
                    self.known.insert((table.name, key), Known::Present(values));
                }
            }
        }
    }

    /// Returns what is known of a row, with these columns of it.
    fn row(
        &mut self,
        table: &'static Table,
        key: &[Value],
        columns: &[Column],
    ) -> Result<&mut Known, Trouble> {
        let row_key = (table.name, key.to_vec());
        let is_enough = match self.known.get(&row_key) {
            None => false,
            Some(Known::Absent) => true,
            Some(Known::Present(values)) => {
                columns.iter().all(|column| values[column.at].is_some())
            }
        };
        if !is_enough {
            // All of it at once: a row that is looked at for the second time is looked at closely.
            self.flush()?;
            let lookup = Lookup { table, columns: table.columns, keys: vec![key.to_vec()] };
            let session = &mut *self.session;
            let found = wait(self.runtime, async {
                session.prepare(&[lookup.text()]).await?;
                lookup.find(session).await
            })?;
            self.learn(lookup, found);
        }
        Ok(self.known.get_mut(&row_key).expect("a row that was looked up is known"))
    }

    /// Adds a row to what is to be written: to a group of its shape where that changes nothing, else behind all others.
    fn write(
        &mut self,
        table: &'static Table,
        key: Option<Vec<Value>>,
        key_columns: usize,
        cells: Vec<(Column, Value)>,
    ) {
        let (columns, row): (Vec<Column>, Vec<Value>) = cells.into_iter().unzip();
        let is_alike = |group: &WriteGroup| {
            *group.table == *table && group.key_columns == key_columns && group.columns == columns
        };
        // Parts are distinguished by more than their keys, so their order is kept.
        let blocks = |group: &WriteGroup| *table == parts::TABLE && *group.table == parts::TABLE;
        let found = self.writes.iter().rposition(|group| is_alike(group) || blocks(group));
        let row_key = key.map(|key| (table.name, key));
        let before = row_key.as_ref().and_then(|key| self.latest.get(key)).copied();
        let found = found.filter(|place| {
            is_alike(&self.writes[*place]) && before.is_none_or(|before| before < *place)
        });
        let place = found.unwrap_or_else(|| {
            self.writes.push(WriteGroup { table, key_columns, columns, rows: Vec::new() });
            self.writes.len() - 1
        });
        self.writes[place].rows.push(row);
        self.latest.extend(row_key.map(|key| (key, place)));
    }

    /// Writes what is to be written, so that it is seen.
    fn flush(&mut self) -> Result<(), Trouble> {
        let groups = std::mem::take(&mut self.writes);
        self.latest.clear();
        if groups.is_empty() {
            return Ok(());
        }
        let session = &mut *self.session;
        wait(self.runtime, async {
            let texts: Vec<String> = groups.iter().map(WriteGroup::text).collect();
            session.prepare(&texts).await?;
            let session = &*session;
            let writes = groups.iter().zip(&texts).map(|(group, text)| group.write(session, text));
            joined(writes).await.into_iter().collect::<Result<Vec<u64>, Trouble>>().map(drop)
        })
    }

    /// Works, and keeps what went wrong for the writer.
    fn checked<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Trouble>,
    ) -> Result<T, StoreFailure> {
        work(self).map_err(|trouble| {
            let error = trouble.error(self.path);
            self.trouble = Some(trouble);
            error.into()
        })
    }
}

/// Rows of one table that are looked up together.
struct Lookup {
    table: &'static Table,
    columns: &'static [Column],
    keys: Vec<Vec<Value>>,
}

impl Lookup {
    fn text(&self) -> String {
        let Self { table, columns, .. } = self;
        let columns: String = columns.iter().map(|column| format!(", t.{}", column.name)).collect();
        let keys = (1..=table.key.len()).map(|number| format!("k{number}"));
        let matched = (1..)
            .zip(table.key)
            .map(|(number, column)| format!("t.{} = given.k{number}", column.name));
        format!(
            "SELECT given.place{columns} FROM {} AS given ({}, place) JOIN haft.{} AS t ON {}",
            unnested(table.key.iter()),
            keys.collect::<Vec<_>>().join(", "),
            table.name,
            matched.collect::<Vec<_>>().join(" AND ")
        )
    }

    /// Returns the rows that are there, each with the place of its key.
    async fn find(&self, session: &Session) -> Result<Vec<(usize, Row)>, Trouble> {
        let arrays = transposed(self.table.key, &self.keys);
        let parameters: Vec<_> = arrays.iter().map(|array| &**array).collect();
        let rows = session.client.query(session.statement(&self.text()), &parameters).await?;
        rows.iter()
            .map(|row| {
                let place: i64 = row.try_get(0)?;
                let place = usize::try_from(place - 1).unwrap_or_default();
                Ok((place, sql::row(row, 1, self.columns)?))
            })
            .collect()
    }
}

impl WriteGroup {
    fn text(&self) -> String {
        let name = self.table.name;
        let given = unnested(self.columns.iter());
        let columns: Vec<String> =
            (1..=self.columns.len()).map(|number| format!("c{number}")).collect();
        let columns = columns.join(", ");
        if self.key_columns == 0 {
            let names = DIALECT.names(&self.columns);
            return format!(
                "INSERT INTO haft.{name} ({names}) SELECT {columns} FROM {given} AS given ({columns}, place) \
                 ORDER BY place"
            );
        }
        let mut numbered = (1..).zip(&self.columns);
        let matched: Vec<String> = numbered
            .by_ref()
            .take(self.key_columns)
            .map(|(number, column)| format!("t.{} = given.c{number}", column.name))
            .collect();
        let changed: Vec<String> =
            numbered.map(|(number, column)| format!("{} = given.c{number}", column.name)).collect();
        format!(
            "UPDATE haft.{name} AS t SET {} FROM {given} AS given ({columns}, place) WHERE {}",
            changed.join(", "),
            matched.join(" AND ")
        )
    }

    async fn write(&self, session: &Session, text: &str) -> Result<u64, Trouble> {
        let arrays = transposed(&self.columns, &self.rows);
        let parameters: Vec<_> = arrays.iter().map(|array| &**array).collect();
        Ok(session.client.execute(session.statement(text), &parameters).await?)
    }
}

/// Waits for what the server answers, but not for ever.
fn wait<T>(
    runtime: &Runtime,
    work: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    runtime.block_on(async {
        let bound = Duration::from_millis(ANSWER_MS_MAX);
        match tokio::time::timeout(bound, work).await {
            Ok(result) => result,
            Err(_) => {
                let silence = format!("the server gave no answer for {ANSWER_MS_MAX} ms");
                Err(Trouble::Lost(silence))
            }
        }
    })
}

/// Waits for all of them. A statement is sent when its future is first asked, which happens in their order.
async fn joined<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut sent: Vec<Pin<Box<MaybeDone<F>>>> =
        futures.map(|future| Box::pin(maybe_done(future))).collect();
    poll_fn(|cx| {
        let mut are_done = true;
        for future in &mut sent {
            are_done &= future.as_mut().poll(cx).is_ready();
        }
        if are_done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let output = |future: &mut Pin<Box<MaybeDone<F>>>| {
        future.as_mut().take_output().expect("each is done and taken once")
    };
    sent.iter_mut().map(output).collect()
}

fn transposed<'a>(columns: &[Column], rows: &'a [Vec<Value>]) -> Vec<SqlParameter<'a>> {
    let values = |place: usize| rows.iter().map(move |row| &row[place]);
    columns.iter().enumerate().map(|(place, column)| array(*column, values(place))).collect()
}

impl Reader for PostgresTransaction<'_> {
    fn scan(
        &mut self,
        query: &RowQuery,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<(), StoreFailure> {
        self.checked(|this| {
            this.flush()?;
            let begun = async { Ok(()) };
            wait(this.runtime, sql::scan(&this.session.client, begun, query, visit))
        })
    }

    fn get(
        &mut self,
        table: &'static Table,
        key: &[Value],
        columns: &'static [Column],
    ) -> Result<Option<Row>, StoreFailure> {
        self.checked(|this| match this.row(table, key, columns)? {
            Known::Absent => Ok(None),
            Known::Present(values) => {
                let value = |column: &Column| values[column.at].clone().unwrap_or(Value::Null);
                Ok(Some(Row::new(columns, columns.iter().map(value).collect())))
            }
        })
    }

    fn tally(&mut self, tally: &Tally) -> Result<Vec<Tallied>, StoreFailure> {
        self.checked(|this| {
            this.flush()?;
            wait(this.runtime, sql::tally(&this.session.client, async { Ok(()) }, tally))
        })
    }
}

impl Transaction for PostgresTransaction<'_> {
    fn insert(
        &mut self,
        table: &'static Table,
        row: &[(Column, Value)],
    ) -> Result<Inserted, StoreFailure> {
        self.checked(|this| {
            let value = |wanted: &Column| {
                row.iter().find(|(column, _)| column == wanted).map(|(_, value)| value.clone())
            };
            let key: Option<Vec<Value>> = table.key.iter().map(value).collect();
            // A row whose key is its number has a new one.
            if let Some(key) = &key {
                if let Known::Present(_) = this.row(table, key, &[])? {
                    return Ok(Inserted::Taken);
                }
                let mut values: Vec<Option<Value>> =
                    table.empty_row().into_iter().map(Some).collect();
                row.iter().for_each(|(column, value)| values[column.at] = Some(value.clone()));
                if let Some(number) = table.number {
                    values[number.at] = None;
                }
                this.known.insert((table.name, key.clone()), Known::Present(values));
            }
            this.write(table, key, 0, row.to_vec());
            Ok(Inserted::At(None))
        })
    }

    fn update(&mut self, update: &RowUpdate<'_>) -> Result<bool, StoreFailure> {
        self.checked(|this| {
            let RowUpdate { table, key, expected, changes, .. } = *update;
            let looked_at: Vec<Column> = expected.iter().map(|(column, _)| *column).collect();
            let Known::Present(values) = this.row(table, key, &looked_at)? else {
                return Ok(false);
            };
            let is_expected =
                |(column, value): &(Column, Value)| values[column.at].as_ref() == Some(value);
            if !expected.iter().all(is_expected) {
                return Ok(false);
            }
            changes.iter().for_each(|(column, value)| values[column.at] = Some(value.clone()));
            let key_cells = table.key.iter().copied().zip(key.iter().cloned());
            let cells = key_cells.chain(changes.iter().cloned()).collect();
            this.write(table, Some(key.to_vec()), table.key.len(), cells);
            Ok(true)
        })
    }

    fn delete(
        &mut self,
        table: &'static Table,
        conditions: &[RowCondition],
        rows_max: u32,
    ) -> Result<u64, StoreFailure> {
        self.checked(|this| {
            this.flush()?;
            this.known.retain(|(name, _), _| *name != table.name);
            let delete = DIALECT.delete(table, conditions, rows_max);
            wait(this.runtime, sql::execute(&this.session.client, &delete))
        })
    }

    fn last(&mut self, counter: Counter) -> Result<u64, StoreFailure> {
        let number = match counter {
            Counter::Change => self.counters.last,
            Counter::RemovedToken => self.counters.removed_token,
        };
        Ok(u64::try_from(number).unwrap_or_default())
    }

    fn set_last(&mut self, counter: Counter, number: u64) -> Result<(), StoreFailure> {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        match counter {
            Counter::Change => self.counters.last = number,
            Counter::RemovedToken => self.counters.removed_token = number,
        }
        Ok(())
    }

    /// The machines that share a journal need not agree on the time.
    fn now_ms(&mut self, _callers_ms: u64) -> Result<u64, StoreFailure> {
        self.checked(|this| {
            let db = &this.session.client;
            let now: i64 = wait(this.runtime, async {
                Ok(db.query_typed_one(CLOCK, &[]).await?.try_get(0)?)
            })?;
            Ok(u64::try_from(now).unwrap_or_default())
        })
    }
}
