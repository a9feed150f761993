//! What the writer is asked to do besides writing entries, with the answer that whoever asked is waiting for. An action has
//! a transaction of its own, may be tried again when its session breaks, and is answered once, after its commit.

use std::pin::Pin;

use tokio::sync::oneshot;
use tokio_postgres::Client;

use super::batch::Pass;
use super::failure::Trouble;
use crate::JournalError;
use crate::entry::Firmness;

/// What an action answers: the inner error is the answer, and what was written until then is committed; the outer one
/// leaves the transaction to be rolled back.
pub(super) type Applied<T> = Result<Result<T, JournalError>, Trouble>;

/// A future of the writer's own thread.
pub(super) type Local<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// One piece of work for the writer.
pub(super) trait Action: Send {
    /// Returns what its commit must survive.
    fn firmness(&self) -> Firmness;

    /// Writes into the open transaction, and keeps the answer until it is committed.
    fn apply<'a>(&'a mut self, db: &'a Client, pass: Pass) -> Local<'a, Result<(), Trouble>>;

    /// Answers, now that the commit has succeeded or, with an error, failed.
    fn answer(self: Box<Self>, committed: Result<(), JournalError>);
}

/// Returns an action that writes with `write`, and where its answer will arrive.
pub(super) fn action<T, F>(
    firmness: Firmness,
    write: F,
) -> (Box<dyn Action>, oneshot::Receiver<Result<T, JournalError>>)
where
    T: Send + 'static,
    F: AsyncFn(&Client, Pass) -> Applied<T> + Send + 'static,
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

impl<T, F> Action for Pending<T, F>
where
    T: Send,
    F: AsyncFn(&Client, Pass) -> Applied<T> + Send,
{
    fn firmness(&self) -> Firmness {
        self.firmness
    }

    fn apply<'a>(&'a mut self, db: &'a Client, pass: Pass) -> Local<'a, Result<(), Trouble>> {
        Box::pin(async move {
            self.result = Some((self.write)(db, pass).await?);
            Ok(())
        })
    }

    fn answer(self: Box<Self>, committed: Result<(), JournalError>) {
        let result = match committed {
            Ok(()) => self.result.expect("an action is applied before it is committed"),
            Err(err) => Err(err),
        };
        // Whoever waited may have gone; what was written stands all the same.
        let _ = self.reply.send(result);
    }
}
