//! The thread that writes: it takes what has queued up while it was busy and commits that together. One transaction of all
//! writers of a database runs at a time, from the lock that it begins with to its commit.

use std::path::PathBuf;

use tokio::sync::mpsc;

use super::PostgresConnection;
use super::failure::Trouble;
use super::transaction::PostgresTransaction;
use crate::limits::{COMMIT_ENTRIES_MAX, SESSIONS_MAX};
use crate::store::{Durability, StoreFailure, WriteBatch, WriteOperation};

/// Looks whether a commit took place.
const LAST_COMMIT: &str = "SELECT last_commit FROM haft.writers WHERE id = $1";
/// Removes a writer that ends, and those that ended without a word.
const WRITERS_END: &str =
    "DELETE FROM haft.writers WHERE id = $1 OR written_at < now() - interval '1 day'";

/// The writer of a journal.
pub(super) struct PostgresWriter {
    connection: PostgresConnection,
    path: PathBuf,
    /// Names this writer in the database.
    id: String,
    /// How many commits it has begun.
    commits: i64,
}

impl PostgresWriter {
    pub(super) fn new(connection: PostgresConnection, path: PathBuf) -> Self {
        let id = connection.link.name();
        Self { connection, path, id, commits: 0 }
    }

    /// Writes until the queue is closed and empty.
    pub(super) fn run(mut self, mut operations: mpsc::Receiver<Box<dyn WriteOperation>>) {
        let mut batch = Vec::new();
        loop {
            // While the thread waits here, it also notices that the connection ends.
            let waiting = operations.recv_many(&mut batch, COMMIT_ENTRIES_MAX);
            if self.connection.runtime.block_on(waiting) == 0 {
                break;
            }
            self.connection.link.outage.begin_work();
            self.write(std::mem::take(&mut batch));
            self.connection.link.outage.end_work();
        }
        let PostgresConnection { runtime, link } = &mut self.connection;
        // If it cannot be removed now, a later writer removes it.
        let _ = runtime.block_on(async {
            let session = link.session().await?;
            session.client.execute(WRITERS_END, &[&self.id]).await.map_err(Trouble::from)
        });
    }

    /// Writes the operations in one commit. If that fails, each is tried alone, so that one that cannot be written takes no
    /// other with it.
    fn write(&mut self, mut batch: WriteBatch) {
        match self.commit(&mut batch) {
            Ok(()) => batch.into_iter().for_each(|operation| operation.finish(Ok(()))),
            Err(trouble) if batch.len() > 1 && trouble.is_about_an_entry() => {
                batch.into_iter().for_each(|operation| self.write(vec![operation]));
            }
            Err(trouble) => {
                for operation in batch {
                    operation.finish(Err(trouble.error(&self.path)));
                }
            }
        }
    }

    /// Commits the operations together. If the session breaks, the next one looks whether the commit took place; if it did
    /// not, the operations are applied again.
    fn commit(&mut self, batch: &mut WriteBatch) -> Result<(), Trouble> {
        let mut sessions_left = SESSIONS_MAX;
        let mut is_sent = false;
        loop {
            let PostgresConnection { runtime, link } = &mut self.connection;
            let session = runtime.block_on(link.session()).map_err(|trouble| match trouble {
                // A commit that was sent in the session before stays in doubt.
                Trouble::Unreachable(reason) if is_sent => {
                    Trouble::Lost(format!("the connection broke, and there is no other: {reason}"))
                }
                trouble => trouble,
            })?;
            let looked_up: Result<Option<i64>, Trouble> = match is_sent {
                true => runtime.block_on(async {
                    let row = session.client.query_opt(LAST_COMMIT, &[&self.id]).await?;
                    Ok(row.map(|row| row.try_get(0)).transpose()?)
                }),
                false => Ok(None),
            };
            let committed = match looked_up {
                Ok(last) if is_sent && last == Some(self.commits) => return Ok(()),
                Ok(_) => {
                    is_sent = false;
                    self.try_commit(batch, &mut is_sent)
                }
                Err(trouble) => Err(trouble),
            };
            let PostgresConnection { runtime, link } = &mut self.connection;
            sessions_left -= 1;
            match committed {
                // The server rolls back by itself in a session that is lost.
                Err(Trouble::Lost(reason)) => {
                    link.give_up();
                    if sessions_left == 0 {
                        return Err(Trouble::Lost(reason));
                    }
                }
                Err(trouble) => {
                    let _ = runtime.block_on(async {
                        let session = link.session().await?;
                        session.client.batch_execute("ROLLBACK").await.map_err(Trouble::from)
                    });
                    return Err(trouble);
                }
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Commits the operations, once. Says when the commit is sent: from then on it may take place.
    fn try_commit(&mut self, batch: &mut WriteBatch, is_sent: &mut bool) -> Result<(), Trouble> {
        let PostgresConnection { runtime, link } = &mut self.connection;
        let session = runtime.block_on(link.session())?;
        let needs = batch.iter().flat_map(|operation| operation.needs()).collect();
        let mut transaction = PostgresTransaction::begin(runtime, session, &self.path, needs)?;
        for operation in batch.iter_mut() {
            if let Err(StoreFailure(err)) = operation.apply(&mut transaction) {
                let unknown = || Trouble::Lost(err.to_string());
                return Err(transaction.trouble.take().unwrap_or_else(unknown));
            }
        }
        let is_firm = |durability| match durability {
            Durability::Process => false,
            Durability::Lease | Durability::Power | Durability::PowerSoon => true,
        };
        let syncs = batch.iter().any(|operation| is_firm(operation.durability()));
        self.commits += 1;
        *is_sent = true;
        transaction.commit((&self.id, self.commits), syncs)
    }
}
