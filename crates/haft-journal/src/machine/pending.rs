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

/// Where the answer of an operation will be.
pub(super) struct PendingAnswer<T> {
    answer: oneshot::Receiver<Result<T, JournalError>>,
    location: Arc<Path>,
}

/// A write.
pub(super) struct Pending<T, N, F> {
    durability: Durability,
    needs: N,
    write: F,
    reply: PendingReply<T>,
}

/// A read.
pub(super) struct PendingRead<T, F> {
    needs_snapshot: bool,
    read: F,
    reply: PendingReply<T>,
}

/// The way back to the caller of an operation, with the answer of the latest time that it was applied.
struct PendingReply<T> {
    location: Arc<Path>,
    result: Option<Result<T, JournalError>>,
    sender: oneshot::Sender<Result<T, JournalError>>,
}

impl<T> PendingReply<T> {
    fn new(location: Arc<Path>) -> (Self, PendingAnswer<T>) {
        let (sender, answer) = oneshot::channel();
        let answer = PendingAnswer { answer, location: Arc::clone(&location) };
        (Self { location, result: None, sender }, answer)
    }

    /// Keeps an answer. Fails if the store failed, because then there is none.
    fn keep(&mut self, result: Result<T, Stop>) -> Result<(), StoreFailure> {
        let path = || self.location.to_path_buf();
        self.result = Some(match result {
            Ok(answer) => Ok(answer),
            Err(Stop::Refusal(err)) => Err(err),
            Err(Stop::Senseless(err)) => {
                Err(JournalError::Damaged { path: path(), detail: err.to_string() })
            }
            Err(Stop::TooLarge(err)) => Err(err.error(&self.location)),
            Err(Stop::Failure(failure)) => return Err(failure),
        });
        Ok(())
    }

    /// Answers the caller, now that the operation has ended.
    fn send(self, ended: Result<(), JournalError>) {
        let answer = match ended {
            Ok(()) => self.result.expect("an operation is applied before it is finished"),
            Err(err) => Err(err),
        };
        // The caller may have gone; what was written stands all the same.
        let _ = self.sender.send(answer);
    }
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
        let (reply, answer) = PendingReply::new(location);
        (Self { durability, needs, write, reply }, answer)
    }
}

impl<T, F> PendingRead<T, F> {
    pub(super) fn new(
        needs_snapshot: bool,
        location: Arc<Path>,
        read: F,
    ) -> (Self, PendingAnswer<T>) {
        let (reply, answer) = PendingReply::new(location);
        (Self { needs_snapshot, read, reply }, answer)
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
        self.reply.keep(written)
    }

    fn finish(self: Box<Self>, committed: Result<(), JournalError>) {
        self.reply.send(committed);
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
        self.reply.keep((self.read)(reader))
    }

    fn finish(self: Box<Self>, read: Result<(), JournalError>) {
        self.reply.send(read);
    }
}
