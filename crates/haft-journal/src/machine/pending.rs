//! An operation on its way through a store, with the caller who waits for its answer. It may be applied more than once; the
//! answer is that of the latest time.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::{Stop, Writing};
use crate::JournalError;
use crate::store::{
    Durability, ReadOperation, Reader, RowNeed, StoreFailure, Transaction, WriteOperation,
};

type Reply<T> = oneshot::Sender<Result<T, JournalError>>;

/// Where the answer of an operation will be.
pub(super) struct PendingAnswer<T> {
    answer: oneshot::Receiver<Result<T, JournalError>>,
    location: Arc<Path>,
}

/// A write.
pub(super) struct Pending<T, N, F> {
    durability: Durability,
    location: Arc<Path>,
    needs: N,
    write: F,
    result: Option<Result<T, JournalError>>,
    reply: Reply<T>,
}

/// A read.
pub(super) struct PendingRead<T, F> {
    needs_snapshot: bool,
    location: Arc<Path>,
    read: F,
    result: Option<Result<T, JournalError>>,
    reply: Reply<T>,
}

impl<T> PendingAnswer<T> {
    /// Waits for the answer. A store that drops an operation has stopped.
    pub(super) async fn received(self) -> Result<T, JournalError> {
        let stopped = || JournalError::Stopped { path: self.location.to_path_buf() };
        self.answer.await.unwrap_or_else(|_| Err(stopped()))
    }
}

impl<T, N, F> Pending<T, N, F> {
    pub(super) fn new(
        durability: Durability,
        location: Arc<Path>,
        needs: N,
        write: F,
    ) -> (Self, PendingAnswer<T>) {
        let (reply, answer) = oneshot::channel();
        let answer = PendingAnswer { answer, location: Arc::clone(&location) };
        (Self { durability, location, needs, write, result: None, reply }, answer)
    }
}

impl<T, F> PendingRead<T, F> {
    pub(super) fn new(
        needs_snapshot: bool,
        location: Arc<Path>,
        read: F,
    ) -> (Self, PendingAnswer<T>) {
        let (reply, answer) = oneshot::channel();
        let answer = PendingAnswer { answer, location: Arc::clone(&location) };
        (Self { needs_snapshot, location, read, result: None, reply }, answer)
    }
}

impl<T, N, F> WriteOperation for Pending<T, N, F>
where
    T: Send,
    N: Fn() -> Vec<RowNeed> + Send,
    F: FnMut(&mut Writing<'_>) -> Result<T, Stop> + Send,
{
    fn durability(&self) -> Durability {
        self.durability
    }

    fn needs(&self) -> Vec<RowNeed> {
        (self.needs)()
    }

    fn apply(&mut self, transaction: &mut dyn Transaction) -> Result<(), StoreFailure> {
        let mut writing = Writing { tx: transaction, durability: self.durability };
        let written = (self.write)(&mut writing);
        self.durability = writing.durability;
        self.result = Some(answer(written, &self.location)?);
        Ok(())
    }

    fn finish(self: Box<Self>, committed: Result<(), JournalError>) {
        finish(self.reply, self.result, committed);
    }
}

impl<T, F> ReadOperation for PendingRead<T, F>
where
    T: Send,
    F: FnMut(&mut dyn Reader) -> Result<T, Stop> + Send,
{
    fn needs_snapshot(&self) -> bool {
        self.needs_snapshot
    }

    fn apply(&mut self, reader: &mut dyn Reader) -> Result<(), StoreFailure> {
        let read = (self.read)(reader);
        self.result = Some(answer(read, &self.location)?);
        Ok(())
    }

    fn finish(self: Box<Self>, read: Result<(), JournalError>) {
        finish(self.reply, self.result, read);
    }
}

/// Tells an answer from a failure of the store.
fn answer<T>(
    result: Result<T, Stop>,
    location: &Path,
) -> Result<Result<T, JournalError>, StoreFailure> {
    match result {
        Ok(answer) => Ok(Ok(answer)),
        Err(Stop::Refusal(err)) => Ok(Err(err)),
        Err(Stop::Senseless(err)) => {
            Ok(Err(JournalError::Damaged { path: location.to_owned(), detail: err.to_string() }))
        }
        Err(Stop::TooLarge(err)) => Ok(Err(err.error(location))),
        Err(Stop::Failure(failure)) => Err(failure),
    }
}

fn finish<T>(
    reply: Reply<T>,
    result: Option<Result<T, JournalError>>,
    ended: Result<(), JournalError>,
) {
    let answer = match ended {
        Ok(()) => result.expect("an operation is applied before it is finished"),
        Err(err) => Err(err),
    };
    // The caller may have gone; what was written stands all the same.
    let _ = reply.send(answer);
}
