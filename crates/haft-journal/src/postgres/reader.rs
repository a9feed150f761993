//! The connection that reads. Questions of all callers go over it one behind the other; a question whose connection breaks
//! is asked again. What is asked and what the rows mean is decided elsewhere.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::failure::Trouble;
use super::session::{Link, Session};

/// Asks for a session.
pub(super) struct Wanted {
    pub(super) which: Which,
    pub(super) reply: oneshot::Sender<Result<Arc<Session>, Trouble>>,
}

/// Says which session is wanted.
pub(super) enum Which {
    /// The one that all have.
    Shared,
    /// The one that all have after this one, which broke.
    After(Arc<Session>),
    /// One for whoever asks alone.
    Own,
}

/// Hands out sessions that read until nobody can ask any more.
pub(super) async fn run(mut link: Link, mut wanted: mpsc::Receiver<Wanted>) {
    while let Some(Wanted { which, reply }) = wanted.recv().await {
        let session = match which {
            Which::Shared => link.session().await,
            Which::After(broken) => {
                link.give_up(&broken);
                link.session().await
            }
            Which::Own => link.another().await,
        };
        // Whoever asked may have gone.
        let _ = reply.send(session);
    }
}
