//! A store that is written outside of haft: a file to which each commit adds a line. All rows are in memory, too, so it is for
//! small journals that one process uses. It shows the least that a store is: find rows, write some of them, all or
//! none, and say when they are on disk.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use haft_contract::BoxFuture;
use haft_journal::JournalError;
use haft_journal::store::{
    Column, Counter, Durability, Inserted, ReadOperation, Reader, Row, RowCondition, RowQuery,
    RowUpdate, Store, StoreFailure, TABLES, Table, Transaction, Value, WriteOperation,
};
use serde_json::{Value as Json, json};

/// A journal's rows in a file of lines.
#[derive(Debug)]
pub(crate) struct LinesStore {
    path: PathBuf,
    lines: Mutex<Lines>,
}

#[derive(Debug)]
struct Lines {
    file: File,
    rows: Rows,
    /// Whether a line could not be written: then the file is no longer what the rows are.
    is_broken: bool,
}

impl LinesStore {
    /// Opens the file, which is made if there is none. A line that a crash cut short was never acknowledged and is taken off.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        let mut rows = Rows::default();
        let mut whole_bytes = 0;
        let mut reader = BufReader::new(&file);
        let mut line = String::new();
        while reader.read_line(&mut line)? > 0 && line.ends_with('\n') {
            for change in serde_json::from_str::<Vec<Json>>(&line)? {
                rows.replay(&change);
            }
            whole_bytes += line.len() as u64;
            line.clear();
        }
        file.set_len(whole_bytes)?;
        let lines = Mutex::new(Lines { file, rows, is_broken: false });
        Ok(Self { path: path.to_owned(), lines })
    }

    fn commit(&self, operation: &mut dyn WriteOperation) -> Result<(), JournalError> {
        let mut lines = self.lines.lock().expect("nothing panics while it holds the lines");
        let Lines { file, rows, is_broken } = &mut *lines;
        if *is_broken {
            return Err(JournalError::Stopped { path: self.path.clone() });
        }
        operation.apply(rows).map_err(|failure| failure.0)?;
        let changes = std::mem::take(&mut rows.changes);
        let written = writeln!(file, "{}", Json::Array(changes)).and_then(|()| {
            match operation.durability() {
                Durability::Process | Durability::Lease => Ok(()),
                Durability::Power | Durability::PowerSoon => file.sync_data(),
            }
        });
        written.map_err(|err| {
            *is_broken = true;
            JournalError::Failed { path: self.path.clone(), detail: err.to_string() }
        })
    }
}

impl Store for LinesStore {
    fn location(&self) -> &Path {
        &self.path
    }

    fn write(&self, mut operation: Box<dyn WriteOperation>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let committed = self.commit(&mut *operation);
            operation.finish(committed);
        })
    }

    fn read(&self, mut operation: Box<dyn ReadOperation>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut lines = self.lines.lock().expect("nothing panics while it holds the lines");
            let read = operation.apply(&mut lines.rows);
            drop(lines);
            operation.finish(read.map_err(|failure| failure.0));
        })
    }
}

/// The rows of all tables by their keys, and what the operation that is being applied changed.
#[derive(Debug, Default)]
struct Rows {
    tables: BTreeMap<&'static str, BTreeMap<Vec<Value>, Vec<Value>>>,
    counters: [u64; 2],
    last_number: i64,
    changes: Vec<Json>,
}

impl Rows {
    fn put(&mut self, table: &'static Table, row: Vec<Value>) {
        let values: Vec<Json> = row.iter().map(to_json).collect();
        self.changes.push(json!({ "table": table.name, "row": values }));
        self.tables.entry(table.name).or_default().insert(values_of(&row, table.key), row);
    }

    fn count(&mut self, counter: usize, number: u64) {
        self.changes.push(json!({ "counter": counter, "number": number }));
        self.counters[counter] = number;
    }

    fn replay(&mut self, change: &Json) {
        let values = |name: &str| -> Vec<Value> {
            change[name].as_array().into_iter().flatten().map(from_json).collect()
        };
        let table = TABLES.iter().find(|table| change["table"] == table.name);
        if let Some(number) = change["number"].as_u64() {
            self.counters[usize::from(change["counter"] == 1)] = number;
        } else if let (Some(table), true) = (table, change["row"].is_array()) {
            let row = values("row");
            let number = table.number.map(|number| &row[number.at]);
            if let Some(Value::Integer(number)) = number {
                self.last_number = self.last_number.max(*number);
            }
            self.tables.entry(table.name).or_default().insert(values_of(&row, table.key), row);
        } else if let Some(table) = table {
            self.tables.entry(table.name).or_default().remove(&values("gone"));
        }
    }
}

impl Reader for Rows {
    fn scan(
        &mut self,
        query: &RowQuery,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<(), StoreFailure> {
        // The rows whose keys begin with what is asked for are together.
        let begin: Vec<Value> =
            query.table.key.iter().map_while(|column| query.equal(*column).cloned()).collect();
        if let Some(rows) = self.tables.get(query.table.name) {
            let near = rows.range(begin.clone()..).take_while(|(key, _)| key.starts_with(&begin));
            query.answer(near.map(|(_, row)| row), visit);
        }
        Ok(())
    }
}

impl Transaction for Rows {
    fn insert(
        &mut self,
        table: &'static Table,
        cells: &[(Column, Value)],
    ) -> Result<Inserted, StoreFailure> {
        let mut row = table.empty_row();
        if let Some(number) = table.number {
            self.last_number += 1;
            row[number.at] = Value::Integer(self.last_number);
        }
        cells.iter().for_each(|(column, value)| row[column.at] = value.clone());
        let rows = self.tables.entry(table.name).or_default();
        if rows.contains_key(&values_of(&row, table.key)) {
            return Ok(Inserted::Taken);
        }
        self.put(table, row);
        Ok(Inserted::At(None))
    }

    fn update(&mut self, update: &RowUpdate<'_>) -> Result<bool, StoreFailure> {
        let rows = self.tables.get(update.table.name);
        let Some(mut row) = rows.and_then(|rows| rows.get(update.key)).cloned() else {
            return Ok(false);
        };
        if update.expected.iter().any(|(column, value)| row[column.at] != *value) {
            return Ok(false);
        }
        update.changes.iter().for_each(|(column, value)| row[column.at] = value.clone());
        self.put(update.table, row);
        Ok(true)
    }

    fn delete(
        &mut self,
        table: &'static Table,
        conditions: &[RowCondition],
        rows_max: u32,
    ) -> Result<u64, StoreFailure> {
        let query = RowQuery { rows_max: Some(rows_max), ..RowQuery::of(table, table.key) };
        let gone = self.select(&query.with(conditions.iter().cloned()))?;
        for row in &gone {
            let key: Vec<Json> = row.values().iter().map(to_json).collect();
            self.changes.push(json!({ "table": table.name, "gone": key }));
            self.tables.entry(table.name).or_default().remove(row.values());
        }
        Ok(gone.len() as u64)
    }

    fn last(&mut self, counter: Counter) -> Result<u64, StoreFailure> {
        Ok(self.counters[place_of(counter)])
    }

    fn set_last(&mut self, counter: Counter, number: u64) -> Result<(), StoreFailure> {
        self.count(place_of(counter), number);
        Ok(())
    }
}

fn place_of(counter: Counter) -> usize {
    match counter {
        Counter::Change => 0,
        Counter::RemovedToken => 1,
    }
}

fn values_of(row: &[Value], columns: &[Column]) -> Vec<Value> {
    columns.iter().map(|column| row[column.at].clone()).collect()
}

fn to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Integer(number) => (*number).into(),
        Value::Text(text) | Value::Unreadable(text) => text.as_str().into(),
    }
}

fn from_json(json: &Json) -> Value {
    match json {
        Json::String(text) => Value::Text(text.clone()),
        other => other.as_i64().map_or(Value::Null, Value::Integer),
    }
}
