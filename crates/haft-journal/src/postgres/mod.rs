//! The store in a PostgreSQL database, which several machines may share. One thread writes what callers queue up, in common
//! commits; another reads. Each has its own connection. A connection that breaks is replaced, and whether a commit that was
//! under way took place is looked up, never guessed.

mod address;
mod failure;
mod outage;
mod reader;
mod schema;
mod session;
mod sql;
mod text;
mod tls;
mod transaction;
mod writer;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::BoxFuture;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot, watch};

use crate::JournalError;
use crate::limits::{QUEUE_ENTRIES_MAX, QUEUE_QUERIES_MAX};
use crate::machine::JournalMachine;
use crate::store::{ReadOperation, Store, WriteOperation};
use crate::worker::Worker;
use address::Address;
use failure::Trouble;
use outage::Outage;
use session::{AskNotices, Link, Role};
use writer::PostgresWriter;

/// A journal in a PostgreSQL database.
///
/// Dropping it writes what is still queued, ends its connections and may block meanwhile.
pub type PostgresJournal = JournalMachine<PostgresStore>;

/// Keeps rows in a PostgreSQL database.
pub struct PostgresStore {
    path: PathBuf,
    writer: Worker<Box<dyn WriteOperation>>,
    reader: Worker<Box<dyn ReadOperation>>,
    /// How long the writer and the reader have waited for the server.
    outages: [Arc<Outage>; 2],
    ask_changes: AskNotices,
}

impl JournalMachine<PostgresStore> {
    /// Connects to the database that a URL such as `postgres://user:password@host:5432/database` names. The tables that the
    /// journal needs are created in the schema `haft`, or brought up to date.
    ///
    /// The URL's parameters are those of PostgreSQL's own clients, with `sslmode` (`disable`, `prefer`, `require`,
    /// `verify-ca`, `verify-full`) and `sslrootcert` (a file, or `system`). Needs PostgreSQL 14 or newer.
    pub async fn connect(url: &str) -> Result<Self, JournalError> {
        let address = Address::parse(url)?;
        let path = address.path.clone();
        let at = path.clone();
        let write = |connection, operations| PostgresWriter::new(connection, at).run(operations);
        let outages = [Arc::default(), Arc::default()];
        let [writing, reading] = outages.clone();
        let ask_changes = AskNotices::default();
        let role = (&address, Role::Write, (writing, Arc::clone(&ask_changes)));
        let writer = start("journal-writer", QUEUE_ENTRIES_MAX, role, write).await?;
        let at = path.clone();
        let read = move |connection, operations| reader::run(connection, &at, operations);
        let role = (&address, Role::Read, (reading, Arc::clone(&ask_changes)));
        let reader = start("journal-reader", QUEUE_QUERIES_MAX, role, read).await?;
        Ok(Self::over(PostgresStore { path, writer, reader, outages, ask_changes }))
    }
}

/// A link and what drives it, for the one thread that uses it.
struct PostgresConnection {
    runtime: Runtime,
    link: Link,
}

/// Starts a thread that has a connection, and waits until it has.
async fn start<T: Send + 'static>(
    name: &str,
    queue_max: usize,
    (address, role, notices): (&Address, Role, (Arc<Outage>, AskNotices)),
    run: impl FnOnce(PostgresConnection, mpsc::Receiver<T>) + Send + 'static,
) -> Result<Worker<T>, JournalError> {
    let (path, address) = (address.path.clone(), address.clone());
    let no_thread = |err: std::io::Error| JournalError::Unreachable {
        path: path.clone(),
        reason: format!("no thread for it: {err}"),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(no_thread)?;
    let (ready, opened) = oneshot::channel::<Result<(), Trouble>>();
    let worker = Worker::spawn(name, queue_max, move |items| {
        match runtime.block_on(Link::open(address, role, notices)) {
            Ok(link) => {
                // The caller may have gone; then the queue ends at once.
                let _ = ready.send(Ok(()));
                run(PostgresConnection { runtime, link }, items);
            }
            Err(trouble) => drop(ready.send(Err(trouble))),
        }
    });
    let worker = worker.map_err(no_thread)?;
    match opened.await {
        Ok(Ok(())) => Ok(worker),
        Ok(Err(trouble)) => Err(trouble.error(&path)),
        Err(_) => Err(JournalError::Stopped { path }),
    }
}

impl Store for PostgresStore {
    fn location(&self) -> &Path {
        &self.path
    }

    fn medium(&self) -> &'static str {
        "database"
    }

    fn outage(&self) -> Option<String> {
        self.outages.iter().find_map(|outage| outage.reason())
    }

    fn ask_changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.ask_changes.subscribe())
    }

    fn write(&self, operation: Box<dyn WriteOperation>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let _ = self.writer.send(operation).await;
        })
    }

    fn read(&self, operation: Box<dyn ReadOperation>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let _ = self.reader.send(operation).await;
        })
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("path", &self.path).finish_non_exhaustive()
    }
}
