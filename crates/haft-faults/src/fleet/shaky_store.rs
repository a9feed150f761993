//! The store of a simulated journal: rows in memory, behind connections that break in the middle of a commit. As a real store, it
//! finds out with the next connection whether the commit took place. It can also break rules of the journal on purpose.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::BoxFuture;
use haft_journal::store::{
    Column, Counter, Durability, Inserted, ReadOperation, Reader, Row, RowCondition, RowNeed,
    RowQuery, RowUpdate, Store, StoreFailure, Table, Transaction, Value, WriteOperation, calls,
    runs,
};
use haft_journal::{CallStatus, JournalError, MemoryStore};

use super::poll::answer_at_once;
use super::report::BrokenRule;

/// The store, shared by the journal and the simulation.
#[derive(Clone)]
pub(super) struct ShakyStore(Arc<SharedStore>);

struct SharedStore {
    rows: MemoryStore,
    broken_rule: Option<BrokenRule>,
    // The simulation sets the next cut. The store takes it and keeps the operation.
    connections: Mutex<Connections>,
}

#[derive(Default)]
struct Connections {
    cuts: u64,
    /// The cut of the next operation that writes.
    next_cut: Option<CommitCut>,
    /// The operations without an answer, by the number of their cut.
    unanswered: BTreeMap<u64, UnansweredOperation>,
    /// The fencing token of the process that writes.
    writer_token: Option<u64>,
}

/// A connection that breaks during a commit.
#[derive(Clone, Copy)]
struct CommitCut {
    number: u64,
    /// Whether the commit takes place.
    takes_place: bool,
}

struct UnansweredOperation {
    operation: Box<dyn WriteOperation>,
    took_place: bool,
}

impl ShakyStore {
    pub(super) fn new(broken_rule: Option<BrokenRule>) -> Self {
        let (rows, connections) = (MemoryStore::default(), Mutex::default());
        Self(Arc::new(SharedStore { rows, broken_rule, connections }))
    }

    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.0.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says under which fencing token the next operation is made.
    pub(super) fn set_writer(&self, fencing_token: Option<u64>) {
        self.connections().writer_token = fencing_token;
    }

    /// Lets the connection of the next write break. Returns the number of the cut.
    pub(super) fn cut_next_write(&self, takes_place: bool) -> u64 {
        let mut connections = self.connections();
        connections.cuts += 1;
        let number = connections.cuts;
        connections.next_cut = Some(CommitCut { number, takes_place });
        number
    }

    /// Takes back a cut, if nothing was written.
    pub(super) fn keep_connection(&self) {
        self.connections().next_cut = None;
    }

    /// Answers the operation of a cut. With a new connection, the store finds out whether the commit took place, and else applies the
    /// operation. Without one, the caller gets an error and does not know.
    pub(super) fn reconnect(&self, cut: u64, is_back: bool) {
        let Some(UnansweredOperation { operation, took_place }) =
            self.connections().unanswered.remove(&cut)
        else {
            return;
        };
        match (is_back, took_place) {
            (true, true) => operation.finish(Ok(())),
            (true, false) => self.write_now(operation),
            (false, _) => operation.finish(Err(JournalError::Failed {
                path: self.location().to_owned(),
                detail: "the connection broke, and there is no other".to_owned(),
            })),
        }
    }

    /// Forgets the operation of a cut, because its caller is dead.
    pub(super) fn forget(&self, cut: u64) {
        self.connections().unanswered.remove(&cut);
    }

    fn write_now(&self, operation: Box<dyn WriteOperation>) {
        answer_at_once(self.0.rows.write(operation));
    }

    /// Wraps an operation so that it breaks the rule that is to be broken.
    fn as_broken(&self, operation: Box<dyn WriteOperation>) -> Box<dyn WriteOperation> {
        match self.0.broken_rule {
            Some(rule @ (BrokenRule::Fencing | BrokenRule::OpenCalls)) => {
                let writer_token = self.connections().writer_token;
                Box::new(BreakingOperation { operation, rule, writer_token })
            }
            // The processes break it.
            Some(BrokenRule::Doubt) | None => operation,
        }
    }
}

impl fmt::Debug for ShakyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ShakyStore").field(&self.0.rows).finish()
    }
}

impl Store for ShakyStore {
    fn location(&self) -> &Path {
        self.0.rows.location()
    }

    fn write(&self, operation: Box<dyn WriteOperation>) -> BoxFuture<'_, ()> {
        let cut = self.connections().next_cut.take();
        let operation = self.as_broken(operation);
        let Some(CommitCut { number, takes_place }) = cut else {
            return self.0.rows.write(operation);
        };
        if takes_place {
            let store = self.clone();
            let silent = Box::new(SilentOperation { operation, number, store });
            return self.0.rows.write(silent);
        }
        let unanswered = UnansweredOperation { operation, took_place: false };
        self.connections().unanswered.insert(number, unanswered);
        Box::pin(std::future::ready(()))
    }

    fn read(&self, operation: Box<dyn ReadOperation>) -> BoxFuture<'_, ()> {
        self.0.rows.read(operation)
    }
}

/// An operation whose commit takes place, and whose answer is lost.
struct SilentOperation {
    operation: Box<dyn WriteOperation>,
    number: u64,
    store: ShakyStore,
}

impl WriteOperation for SilentOperation {
    fn durability(&self) -> Durability {
        self.operation.durability()
    }

    fn needs(&self) -> Vec<RowNeed> {
        self.operation.needs()
    }

    fn apply(&mut self, transaction: &mut dyn Transaction) -> Result<(), StoreFailure> {
        self.operation.apply(transaction)
    }

    fn finish(self: Box<Self>, committed: Result<(), JournalError>) {
        let Self { operation, number, store } = *self;
        match committed {
            Ok(()) => {
                let unanswered = UnansweredOperation { operation, took_place: true };
                store.connections().unanswered.insert(number, unanswered);
            }
            Err(err) => operation.finish(Err(err)),
        }
    }
}

/// An operation that sees other rows than there are.
struct BreakingOperation {
    operation: Box<dyn WriteOperation>,
    rule: BrokenRule,
    writer_token: Option<u64>,
}

impl WriteOperation for BreakingOperation {
    fn durability(&self) -> Durability {
        self.operation.durability()
    }

    fn needs(&self) -> Vec<RowNeed> {
        self.operation.needs()
    }

    fn apply(&mut self, rows: &mut dyn Transaction) -> Result<(), StoreFailure> {
        let (rule, writer_token) = (self.rule, self.writer_token);
        self.operation.apply(&mut BreakingTransaction { rows, rule, writer_token })
    }

    fn finish(self: Box<Self>, committed: Result<(), JournalError>) {
        self.operation.finish(committed);
    }
}

struct BreakingTransaction<'a> {
    rows: &'a mut dyn Transaction,
    rule: BrokenRule,
    writer_token: Option<u64>,
}

impl Reader for BreakingTransaction<'_> {
    fn scan(
        &mut self,
        query: &RowQuery,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<(), StoreFailure> {
        let open = RowCondition::Equal(calls::STATUS, Value::from(CallStatus::Intended.as_str()));
        let is_hidden = self.rule == BrokenRule::OpenCalls
            && query.table == &calls::TABLE
            && query.conditions.contains(&open);
        if is_hidden { Ok(()) } else { self.rows.scan(query, visit) }
    }

    /// Shows each process its own fencing token, where the journal looks whether it may record a call.
    fn get(
        &mut self,
        table: &'static Table,
        key: &[Value],
        columns: &'static [Column],
    ) -> Result<Option<Row>, StoreFailure> {
        let row = self.rows.get(table, key, columns)?;
        let admits = table == &runs::TABLE
            && columns.contains(&runs::FENCING_TOKEN)
            && !columns.contains(&runs::OWNER_ID);
        let token = self.writer_token.and_then(|token| i64::try_from(token).ok());
        let (Some(row), Some(token), BrokenRule::Fencing, true) = (&row, token, self.rule, admits)
        else {
            return Ok(row);
        };
        let shown = |(column, value): (&Column, &Value)| match *column {
            runs::FENCING_TOKEN | runs::HELD_SINCE_MS => Value::Integer(token),
            _ => value.clone(),
        };
        Ok(Some(Row::new(columns, columns.iter().zip(row.values()).map(shown).collect())))
    }
}

impl Transaction for BreakingTransaction<'_> {
    fn insert(
        &mut self,
        table: &'static Table,
        row: &[(Column, Value)],
    ) -> Result<Inserted, StoreFailure> {
        self.rows.insert(table, row)
    }

    fn update(&mut self, update: &RowUpdate<'_>) -> Result<bool, StoreFailure> {
        self.rows.update(update)
    }

    fn delete(
        &mut self,
        table: &'static Table,
        conditions: &[RowCondition],
        rows_max: u32,
    ) -> Result<u64, StoreFailure> {
        self.rows.delete(table, conditions, rows_max)
    }

    fn last(&mut self, counter: Counter) -> Result<u64, StoreFailure> {
        self.rows.last(counter)
    }

    fn set_last(&mut self, counter: Counter, number: u64) -> Result<(), StoreFailure> {
        self.rows.set_last(counter, number)
    }
}
