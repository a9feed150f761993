//! What the writer is asked to do, with the answer that whoever asked is waiting for. A job may be tried twice, first with
//! others and then alone, and is answered once, after its commit.

use tokio::sync::oneshot;

use super::transaction::Writing;
use crate::JournalError;
use crate::entry::Firmness;

/// One piece of work for the writer.
pub(super) trait Job: Send {
    /// Returns what its commit must survive.
    fn firmness(&self) -> Firmness;

    /// Writes into the open transaction, and keeps the answer until it is committed. `Err` leaves the transaction to be
    /// rolled back.
    fn apply(&mut self, transaction: &mut Writing<'_>) -> rusqlite::Result<()>;

    /// Answers, now that the commit has succeeded or, with an error, failed.
    fn answer(self: Box<Self>, committed: Result<(), JournalError>);
}

/// What a statement answers: the inner error is about this one job, and what it wrote is committed; the outer one
/// leaves the transaction to be rolled back.
pub(super) type Applied<T> = rusqlite::Result<Result<T, JournalError>>;

/// Returns a job that writes with `write`, and where its answer will arrive.
pub(super) fn job<T, F>(
    firmness: Firmness,
    write: F,
) -> (Box<dyn Job>, oneshot::Receiver<Result<T, JournalError>>)
where
    T: Send + 'static,
    F: FnMut(&mut Writing<'_>) -> Applied<T> + Send + 'static,
{
    let (reply, answer) = oneshot::channel();
    (Box::new(Pending { firmness, write, result: None, reply }), answer)
}

struct Pending<T, F> {
    firmness: Firmness,
    write: F,
    /// Of the latest try.
    result: Option<Result<T, JournalError>>,
    reply: oneshot::Sender<Result<T, JournalError>>,
}

impl<T, F> Job for Pending<T, F>
where
    T: Send,
    F: FnMut(&mut Writing<'_>) -> Applied<T> + Send,
{
    fn firmness(&self) -> Firmness {
        self.firmness
    }

    fn apply(&mut self, transaction: &mut Writing<'_>) -> rusqlite::Result<()> {
        self.result = Some((self.write)(transaction)?);
        Ok(())
    }

    fn answer(self: Box<Self>, committed: Result<(), JournalError>) {
        let result = match committed {
            Ok(()) => self.result.expect("a job is applied before it is committed"),
            Err(err) => Err(err),
        };
        // Whoever waited may have gone; what was written stands all the same.
        let _ = self.reply.send(result);
    }
}
