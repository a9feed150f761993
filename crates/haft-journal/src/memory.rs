//! The store that loses its rows when it is dropped: for tests, and for runs that are never resumed. It keeps every
//! promise of a store but durability, which it cannot have.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use haft_contract::BoxFuture;

use crate::machine::JournalMachine;
use crate::store::{
    Column, Counter, Inserted, ReadOperation, Reader, Row, RowCondition, RowQuery, RowUpdate,
    Store, StoreFailure, TABLES, Table, Transaction, Value, WriteOperation,
};

/// A journal in memory.
pub type MemoryJournal = JournalMachine<MemoryStore>;

/// Keeps rows in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    /// Callers write and read the rows. An operation locks them for a few lines, so that a separate thread
    /// would only add a wait.
    rows: Mutex<MemoryRows>,
}

impl JournalMachine<MemoryStore> {
    /// Returns an empty journal.
    pub fn new() -> Self {
        Self::over(MemoryStore::default())
    }
}

impl Default for JournalMachine<MemoryStore> {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    fn rows(&self) -> MutexGuard<'_, MemoryRows> {
        self.rows.lock().expect("nothing panics while it holds the rows")
    }
}

impl Store for MemoryStore {
    fn location(&self) -> &Path {
        Path::new("memory")
    }

    fn write(&self, mut operation: Box<dyn WriteOperation>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // An operation writes once it has decided, and nothing here fails, so there is nothing to roll back.
            let applied = operation.apply(&mut *self.rows());
            operation.finish(applied.map_err(|failure| failure.0));
        })
    }

    fn read(&self, mut operation: Box<dyn ReadOperation>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let applied = operation.apply(&mut *self.rows());
            operation.finish(applied.map_err(|failure| failure.0));
        })
    }
}

/// The rows of all tables.
#[derive(Debug, Default)]
struct MemoryRows {
    tables: BTreeMap<&'static str, MemoryTable>,
    last_change: u64,
    removed_token: u64,
}

type Key = Vec<Value>;

/// The rows of one table.
#[derive(Debug, Default)]
struct MemoryTable {
    rows: BTreeMap<Key, Vec<Value>>,
    /// For each index of the table, the values of its columns with the key of the row.
    indexes: Vec<BTreeSet<(Key, Key)>>,
    last_number: i64,
}

impl MemoryTable {
    fn new(table: &Table) -> Self {
        Self { indexes: table.indexes.iter().map(|_| BTreeSet::new()).collect(), ..Self::default() }
    }

    /// Adds a row whose key is free.
    fn put(&mut self, table: &Table, key: Key, row: Vec<Value>) {
        for (columns, index) in table.indexes.iter().zip(&mut self.indexes) {
            index.insert((values(&row, columns), key.clone()));
        }
        self.rows.insert(key, row);
    }

    /// Changes a row in place. Only the indexes that have a changed column are written.
    fn change(&mut self, table: &Table, update: &RowUpdate<'_>) -> bool {
        let Some(row) = self.rows.get_mut(update.key) else { return false };
        if update.expected.iter().any(|(column, value)| row[column.at] != *value) {
            return false;
        }
        let is_changed = |column: &Column| update.changes.iter().any(|(of, _)| of == column);
        let mut moved = Vec::new();
        for (at, columns) in table.indexes.iter().enumerate() {
            if columns.iter().any(is_changed) {
                moved.push((at, *columns, values(row, columns)));
            }
        }
        update.changes.iter().for_each(|(column, value)| row[column.at] = value.clone());
        for (at, columns, before) in moved {
            let Some(index) = self.indexes.get_mut(at) else { continue };
            index.remove(&(before, update.key.to_vec()));
            index.insert((values(row, columns), update.key.to_vec()));
        }
        true
    }

    fn take(&mut self, table: &Table, key: &Key) {
        let Some(row) = self.rows.remove(key) else { return };
        for (columns, index) in table.indexes.iter().zip(&mut self.indexes) {
            index.remove(&(values(&row, columns), key.clone()));
        }
    }

    /// Returns the rows that may fulfil the conditions: those that an index or the key finds by the values that are given.
    fn candidates(&self, table: &Table, conditions: &[RowCondition]) -> Vec<&Vec<Value>> {
        let given = |columns: &[Column]| -> Key {
            let value = |column: &Column| {
                conditions.iter().find_map(|condition| match condition {
                    RowCondition::Equal(of, value) if of == column => Some(value.clone()),
                    _ => None,
                })
            };
            columns.iter().map_while(value).collect()
        };
        let by_key = given(table.key);
        let indexes = table.indexes.iter().zip(&self.indexes);
        let best = indexes.map(|(columns, index)| (given(columns), index));
        let best = best.max_by_key(|(given, _)| given.len());
        match best {
            Some((given, index)) if given.len() > by_key.len() => {
                let found =
                    index.range((Bound::Included((given.clone(), Key::new())), Bound::Unbounded));
                let found = found.take_while(|(values, _)| values.starts_with(&given));
                found.filter_map(|(_, key)| self.rows.get(key)).collect()
            }
            _ => {
                let found = self.rows.range((Bound::Included(by_key.clone()), Bound::Unbounded));
                found.take_while(|(key, _)| key.starts_with(&by_key)).map(|(_, row)| row).collect()
            }
        }
    }

    fn found(&self, table: &Table, conditions: &[RowCondition]) -> Vec<&Vec<Value>> {
        let mut found = self.candidates(table, conditions);
        found.retain(|row| {
            conditions.iter().all(|condition| condition.holds(|column| &row[column.at]))
        });
        found
    }
}

impl MemoryRows {
    fn table(&mut self, table: &'static Table) -> &mut MemoryTable {
        debug_assert!(TABLES.contains(&table), "all tables are known");
        self.tables.entry(table.name).or_insert_with(|| MemoryTable::new(table))
    }
}

impl Reader for MemoryRows {
    fn scan(
        &mut self,
        query: &RowQuery,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<(), StoreFailure> {
        let table = self.table(query.table);
        query.answer(table.candidates(query.table, &query.conditions).into_iter(), visit);
        Ok(())
    }
}

impl Transaction for MemoryRows {
    fn insert(
        &mut self,
        table: &'static Table,
        cells: &[(Column, Value)],
    ) -> Result<Inserted, StoreFailure> {
        let rows = self.table(table);
        let mut row = table.empty_row();
        if let Some(number) = table.number {
            row[number.at] = Value::Integer(rows.last_number + 1);
        }
        cells.iter().for_each(|(column, value)| row[column.at] = value.clone());
        let key = values(&row, table.key);
        if rows.rows.contains_key(&key) {
            return Ok(Inserted::Taken);
        }
        rows.last_number += 1;
        rows.put(table, key, row);
        Ok(Inserted::At(None))
    }

    fn update(&mut self, update: &RowUpdate<'_>) -> Result<bool, StoreFailure> {
        Ok(self.table(update.table).change(update.table, update))
    }

    fn delete(
        &mut self,
        table: &'static Table,
        conditions: &[RowCondition],
        rows_max: u32,
    ) -> Result<u64, StoreFailure> {
        let rows = self.table(table);
        let found = rows.found(table, conditions).into_iter();
        let keys: Vec<Key> =
            found.take(rows_max as usize).map(|row| values(row, table.key)).collect();
        keys.iter().for_each(|key| rows.take(table, key));
        Ok(keys.len() as u64)
    }

    fn last(&mut self, counter: Counter) -> Result<u64, StoreFailure> {
        Ok(match counter {
            Counter::Change => self.last_change,
            Counter::RemovedToken => self.removed_token,
        })
    }

    fn set_last(&mut self, counter: Counter, number: u64) -> Result<(), StoreFailure> {
        match counter {
            Counter::Change => self.last_change = number,
            Counter::RemovedToken => self.removed_token = number,
        }
        Ok(())
    }
}

fn values(row: &[Value], columns: &[Column]) -> Vec<Value> {
    columns.iter().map(|column| row[column.at].clone()).collect()
}
