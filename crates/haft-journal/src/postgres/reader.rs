//! The thread that reads. An operation whose connection breaks is applied again, a bounded number of times.

use std::ops::ControlFlow;
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Waker};

use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_postgres::Client;

use super::PostgresConnection;
use super::failure::Trouble;
use super::sql;
use crate::limits::SESSIONS_MAX;
use crate::store::{ReadOperation, Reader, Row, RowQuery, StoreFailure, Tallied, Tally};

const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Reads until the queue is closed.
pub(super) fn run(
    mut connection: PostgresConnection,
    path: &Path,
    mut operations: mpsc::Receiver<Box<dyn ReadOperation>>,
) {
    // While the thread waits here, it also notices that the connection ends.
    while let Some(mut operation) = connection.runtime.block_on(operations.recv()) {
        connection.link.outage.begin_work();
        let read = connection.read(&mut *operation, path);
        connection.link.outage.end_work();
        operation.finish(read.map_err(|trouble| trouble.error(path)));
    }
}

impl PostgresConnection {
    fn read(&mut self, operation: &mut dyn ReadOperation, path: &Path) -> Result<(), Trouble> {
        let mut sessions_left = SESSIONS_MAX;
        loop {
            let session = self.runtime.block_on(self.link.session())?;
            let mut reader = PostgresReader {
                runtime: &self.runtime,
                db: &session.client,
                path,
                begins: operation.needs_snapshot(),
                has_begun: false,
                trouble: None,
            };
            let applied = operation.apply(&mut reader);
            reader.end();
            sessions_left -= 1;
            match (applied, reader.trouble) {
                (Ok(()), _) => return Ok(()),
                (Err(_), Some(Trouble::Lost(_))) if sessions_left > 0 => self.link.give_up(),
                (Err(_), Some(trouble)) => return Err(trouble),
                (Err(StoreFailure(err)), None) => return Err(Trouble::Lost(err.to_string())),
            }
        }
    }
}

/// Reads in one session.
struct PostgresReader<'a> {
    runtime: &'a Runtime,
    db: &'a Client,
    path: &'a Path,
    /// Whether a transaction is to begin with the first question.
    begins: bool,
    has_begun: bool,
    trouble: Option<Trouble>,
}

impl<'a> PostgresReader<'a> {
    /// Returns what begins the transaction with the first question, and ends at once for each later one.
    fn begin(&mut self) -> impl Future<Output = Result<(), Trouble>> + use<'a> {
        let (db, begins) = (self.db, std::mem::take(&mut self.begins));
        self.has_begun |= begins;
        async move { if begins { Ok(db.batch_execute(BEGIN).await?) } else { Ok(()) } }
    }

    fn checked<T>(&mut self, result: Result<T, Trouble>) -> Result<T, StoreFailure> {
        result.map_err(|trouble| {
            let error = trouble.error(self.path);
            self.trouble = Some(trouble);
            error.into()
        })
    }

    /// Ends the transaction, without waiting for that.
    fn end(&self) {
        if self.has_begun {
            let mut end = pin!(self.db.batch_execute("COMMIT"));
            let _ = end.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
    }
}

impl Reader for PostgresReader<'_> {
    fn scan(
        &mut self,
        query: &RowQuery,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<(), StoreFailure> {
        let begun = self.begin();
        let scanned = self.runtime.block_on(sql::scan(self.db, begun, query, visit));
        self.checked(scanned)
    }

    fn tally(&mut self, tally: &Tally) -> Result<Vec<Tallied>, StoreFailure> {
        let begun = self.begin();
        let tallied = self.runtime.block_on(sql::tally(self.db, begun, tally));
        self.checked(tallied)
    }

    fn inspect(&mut self) -> Result<Vec<(String, String)>, StoreFailure> {
        let begun = self.begin();
        let inspected = self.runtime.block_on(async {
            begun.await?;
            inspect(self.db).await
        });
        self.checked(inspected)
    }
}

/// Rows that belong to no run.
const STRAYS: [(&str, &str); 5] = [
    ("asks", "asks"),
    ("calls", "calls"),
    ("snapshots", "snapshots"),
    ("late outcomes", "late_outcomes"),
    ("contents", "contents"),
];

/// The last change number and the greatest that a call has.
const CHANGES: &str =
    "SELECT last, coalesce((SELECT max(change) FROM haft.calls), 0) FROM haft.changes WHERE id = 1";

async fn inspect(db: &Client) -> Result<Vec<(String, String)>, Trouble> {
    let mut findings = Vec::new();
    for (what, table) in STRAYS {
        let text = format!(
            "SELECT DISTINCT run FROM haft.{table} WHERE run NOT IN (SELECT id FROM haft.runs)"
        );
        for row in db.query_typed(&text, &[]).await? {
            let run: String = row.try_get(0)?;
            findings.push(("rows belong to runs".to_owned(), format!("there are {what} of {run}")));
        }
    }
    let changes = db.query_typed_one(CHANGES, &[]).await?;
    let (last, greatest): (i64, i64) = (changes.try_get(0)?, changes.try_get(1)?);
    if greatest > last {
        let detail = format!("the last is {last}, and a call has {greatest}");
        findings.push(("changes are counted".to_owned(), detail));
    }
    Ok(findings)
}
