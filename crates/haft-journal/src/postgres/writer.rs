//! The thread that writes: it takes what has queued up while it was busy and commits that together. One transaction of all
//! writers of a database runs at a time, from the lock that it begins with to its commit.

use std::path::PathBuf;

use tokio::sync::mpsc;

use super::Connection;
use super::failure::Trouble;
use super::session::Session;
use super::transaction::PostgresTransaction;
use crate::limits::{COMMIT_ENTRIES_MAX, SESSIONS_MAX};
use crate::store::{Durability, StoreFailure, WriteOperation};

type Batch = Vec<Box<dyn WriteOperation>>;

/// Looks whether a commit took place.
const LAST_COMMIT: &str = "SELECT last_commit FROM haft.writers WHERE id = $1";
/// Removes a writer that ends, and those that ended without a word.
const WRITERS_END: &str =
    "DELETE FROM haft.writers WHERE id = $1 OR written_at < now() - interval '1 day'";

/// What writes.
pub(super) struct Writer {
    connection: Connection,
    path: PathBuf,
    /// Names this writer in the database.
    id: String,
    /// How many commits it has begun.
    commits: i64,
}

impl Writer {
    pub(super) fn new(connection: Connection, path: PathBuf) -> Self {
        let id = connection.link.name();
        Self { connection, path, id, commits: 0 }
    }

    /// Writes until nobody can send any more and the queue is empty.
    pub(super) fn run(mut self, mut operations: mpsc::Receiver<Box<dyn WriteOperation>>) {
        let mut batch = Vec::new();
        loop {
            // While the thread waits here, it also notices that the connection ends.
            let waiting = operations.recv_many(&mut batch, COMMIT_ENTRIES_MAX);
            if self.connection.runtime.block_on(waiting) == 0 {
                break;
            }
            self.write(std::mem::take(&mut batch));
        }
        self.end();
    }

    /// Writes the operations in one commit. If that fails, each is tried alone, so that one that cannot be written takes no
    /// other with it.
    fn write(&mut self, mut batch: Batch) {
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
    fn commit(&mut self, batch: &mut Batch) -> Result<(), Trouble> {
        let mut sessions_left = SESSIONS_MAX;
        let mut is_sent = false;
        loop {
            let session = self.connection.runtime.block_on(self.connection.link.session());
            let session = session.map_err(|trouble| unknown_if(is_sent, trouble))?;
            let looked_up = match is_sent {
                true => self.connection.runtime.block_on(last_commit(session, &self.id)),
                false => Ok(None),
            };
            let committed = match looked_up {
                Ok(last) if is_sent && last == Some(self.commits) => return Ok(()),
                Ok(_) => self.commit_once(batch, &mut is_sent),
                Err(trouble) => Err(trouble),
            };
            sessions_left -= 1;
            match committed {
                Err(Trouble::Lost(_)) if sessions_left > 0 => self.connection.link.give_up(),
                Err(Trouble::Lost(reason)) => {
                    self.connection.link.give_up();
                    return Err(Trouble::Lost(reason));
                }
                result => return result,
            }
        }
    }

    /// Commits the operations, once. Says when the commit is sent, from when on it may take place.
    fn commit_once(&mut self, batch: &mut Batch, is_sent: &mut bool) -> Result<(), Trouble> {
        *is_sent = false;
        let result = self.try_commit(batch, is_sent);
        if result.as_ref().is_err_and(|trouble| !matches!(trouble, Trouble::Lost(_))) {
            // In a session that is lost the server does so by itself.
            let Connection { runtime, link } = &mut self.connection;
            let _ = runtime.block_on(async {
                link.session().await?.client.batch_execute("ROLLBACK").await.map_err(Trouble::from)
            });
        }
        result
    }

    fn try_commit(&mut self, batch: &mut Batch, is_sent: &mut bool) -> Result<(), Trouble> {
        let Connection { runtime, link } = &mut self.connection;
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

    fn end(&mut self) {
        let Connection { runtime, link } = &mut self.connection;
        // If it cannot be removed now, a later writer removes it.
        let _ = runtime.block_on(async {
            let session = link.session().await?;
            session.client.execute(WRITERS_END, &[&self.id]).await.map_err(Trouble::from)
        });
    }
}

/// Returns the last commit of a writer that took place.
async fn last_commit(session: &mut Session, id: &str) -> Result<Option<i64>, Trouble> {
    let row = session.client.query_opt(LAST_COMMIT, &[&id]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// If there is no session any more, a commit that was sent in the one before stays in doubt.
fn unknown_if(is_sent: bool, trouble: Trouble) -> Trouble {
    match trouble {
        Trouble::Unreachable(reason) if is_sent => {
            Trouble::Lost(format!("the connection broke, and there is no other: {reason}"))
        }
        trouble => trouble,
    }
}
