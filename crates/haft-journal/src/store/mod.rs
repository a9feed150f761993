//! The storage of a journal. A store holds rows of a few [tables](Table) and can do little with them: find, insert,
//! update, delete, count. It does not know what a lease, a call or a session is. The [machine](crate::JournalMachine) knows,
//! and does everything with these primitives, for every store in the same way.
//!
//! # How a record is made
//!
//! The machine brings a store [write operations](WriteOperation). The store decides when it applies them and how many
//! share a commit (*group commit*), and answers each operation once its commit is as [durable](Durability) as the operation
//! asks. Operations are applied one after the other, in the order in which they came, and each sees what the ones
//! before it wrote. An operation decides first and writes then. A refusal is an answer like any other; only a
//! [`StoreFailure`] rolls the transaction back.
//!
//! A store in which each look costs a round trip reads what an operation [needs](WriteOperation::needs) together with
//! what the others of its commit need. After that the machine decides without waiting.
//!
//! # What a store promises
//!
//! - A transaction is all or nothing, and keeps out all other writers.
//! - An operation whose commit succeeded is finished with `Ok`. One that is finished with an error may be committed only
//!   where the error says that this is not known.
//! - An operation is applied again only if its last transaction was rolled back. A store whose connection breaks during a
//!   commit finds out whether it took place.
//! - Commits keep the order in which the operations came.

mod query;
mod row;
mod table;
mod value;

use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;

use haft_contract::BoxFuture;
use tokio::sync::watch;

use crate::JournalError;

pub use query::{RowCondition, RowQuery, Tallied, Tally};
pub use row::{Row, RowError};
pub use table::{
    Column, ColumnKind, TABLES, Table, asks, calls, contents, late_outcomes, messages, parts, runs,
    sessions, snapshots,
};
pub use value::Value;

/// Keeps the rows of a journal.
pub trait Store: Send + Sync + fmt::Debug + 'static {
    /// Returns where the rows are, for messages.
    fn location(&self) -> &Path;

    /// Names what can be damaged: a file, for one.
    fn medium(&self) -> &'static str {
        "journal"
    }

    /// Queues a write, waiting while the queue is full. The order of writes is that in which these futures are ready.
    ///
    /// A store that cannot write any more finishes the operation with an error, or drops it: then its caller is told
    /// that the journal has stopped.
    fn write(&self, operation: Box<dyn WriteOperation>) -> BoxFuture<'_, ()>;

    /// Queues a read. It sees every write that was finished before.
    fn read(&self, operation: Box<dyn ReadOperation>) -> BoxFuture<'_, ()>;

    /// Returns why operations wait, if they wait for a server that gives no answer.
    fn outage(&self) -> Option<String> {
        None
    }

    /// Returns what grows when other processes may have changed asks, if the store is told of that.
    fn ask_changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    /// Gives the disk space of deleted rows back, if the store keeps it and does not do that by itself.
    fn compact(&self) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// The loss that a commit survives before its operation is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The death of this process: the operating system or the server has the data.
    Process,
    /// Everything that the owner of a lease survives. A store on the owner's own machine need not sync for that; a server
    /// must, because it can crash while its clients go on.
    Lease,
    /// The loss of power: the disk has the data.
    Power,
    /// The same, but its caller goes on meanwhile: it can share the sync of what comes next.
    PowerSoon,
}

/// Why a store could not do what it was asked: the transaction is rolled back.
#[derive(Debug)]
pub struct StoreFailure(pub JournalError);

impl From<JournalError> for StoreFailure {
    fn from(err: JournalError) -> Self {
        Self(err)
    }
}

/// One write of the machine's.
pub trait WriteOperation: Send {
    /// Returns what its commit must survive: at least, before it is applied, and exactly, after it.
    fn durability(&self) -> Durability;

    /// Returns rows that the operation will look at, as far as that is known before.
    fn needs(&self) -> Vec<RowNeed>;

    /// Decides and writes. May be called again if the transaction was rolled back.
    fn apply(&mut self, transaction: &mut dyn Transaction) -> Result<(), StoreFailure>;

    /// Answers the caller, now that the commit has succeeded or, with an error, failed.
    fn finish(self: Box<Self>, committed: Result<(), JournalError>);
}

/// Operations that share a commit.
pub(crate) type WriteBatch = Vec<Box<dyn WriteOperation>>;

/// One read of the machine's.
pub trait ReadOperation: Send {
    /// Returns whether all that it reads must be as it was at one moment.
    fn needs_snapshot(&self) -> bool;

    /// Reads. May be called again if it failed.
    fn apply(&mut self, reader: &mut dyn Reader) -> Result<(), StoreFailure>;

    /// Answers the caller.
    fn finish(self: Box<Self>, read: Result<(), JournalError>);
}

/// A row that an operation will look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowNeed {
    /// The table.
    pub table: &'static Table,
    /// The values of the table's key.
    pub key: Vec<Value>,
    /// The columns that the operation will look at.
    pub columns: &'static [Column],
}

/// Finds rows.
pub trait Reader {
    /// Shows the rows that the query asks for, until `visit` breaks off.
    fn scan(
        &mut self,
        query: &RowQuery,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<(), StoreFailure>;

    /// Returns the row of a key.
    fn get(
        &mut self,
        table: &'static Table,
        key: &[Value],
        columns: &'static [Column],
    ) -> Result<Option<Row>, StoreFailure> {
        let conditions = table
            .key
            .iter()
            .zip(key)
            .map(|(column, value)| RowCondition::Equal(*column, value.clone()));
        let query = RowQuery { rows_max: Some(1), ..RowQuery::of(table, columns) };
        Ok(self.select(&query.with(conditions))?.pop())
    }

    /// Returns the rows that the query asks for.
    fn select(&mut self, query: &RowQuery) -> Result<Vec<Row>, StoreFailure> {
        let mut rows = Vec::new();
        self.scan(query, &mut |row| {
            rows.push(row);
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    }

    /// Counts rows, which a database can do without showing each of them.
    fn tally(&mut self, tally: &Tally) -> Result<Vec<Tallied>, StoreFailure> {
        tally.count(|query, visit| self.scan(query, visit))
    }

    /// Looks for damage below the rows, and returns each finding as a rule and a detail.
    fn inspect(&mut self) -> Result<Vec<(String, String)>, StoreFailure> {
        Ok(Vec::new())
    }
}

/// Finds and writes rows, all or none of them.
pub trait Transaction: Reader {
    /// Writes a new row, unless its key is taken. The store gives it its number, if the table has such a column.
    fn insert(
        &mut self,
        table: &'static Table,
        row: &[(Column, Value)],
    ) -> Result<Inserted, StoreFailure>;

    /// Changes a row, and returns whether it was there and as expected.
    fn update(&mut self, update: &RowUpdate<'_>) -> Result<bool, StoreFailure>;

    /// Deletes no more than `rows_max` of the rows that meet all conditions, and returns how many.
    fn delete(
        &mut self,
        table: &'static Table,
        conditions: &[RowCondition],
        rows_max: u32,
    ) -> Result<u64, StoreFailure>;

    /// Returns the last number that a counter gave out.
    fn last(&mut self, counter: Counter) -> Result<u64, StoreFailure>;

    /// Says that a counter has given out a greater number. It never goes back, whatever is deleted.
    fn set_last(&mut self, counter: Counter, number: u64) -> Result<(), StoreFailure>;

    /// Returns the time, in milliseconds since 1970: the caller's, or that of the clock that all callers of the store share.
    fn now_ms(&mut self, callers_ms: u64) -> Result<u64, StoreFailure> {
        Ok(callers_ms)
    }
}

/// Whether a new row was inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// It is there. Where that is, if knowing it helps to find the row again.
    At(Option<RowPlace>),
    /// There is one of that key already, which stays as it is.
    Taken,
}

/// Where a store keeps a row. It means nothing to another store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPlace(pub i64);

/// A change of one row.
#[derive(Debug)]
pub struct RowUpdate<'a> {
    /// The table.
    pub table: &'static Table,
    /// The values of the table's key.
    pub key: &'a [Value],
    /// Where the row was put. The key decides; this is a quicker way to it.
    pub place: Option<RowPlace>,
    /// The values that the row must hold, or it stays as it is.
    pub expected: &'a [(Column, Value)],
    /// The new values of the row.
    pub changes: &'a [(Column, Value)],
}

/// Numbers that a journal gives out once each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// The change numbers of calls.
    Change,
    /// The fencing tokens of runs that were removed: a run of the same name counts on from there.
    RemovedToken,
}
