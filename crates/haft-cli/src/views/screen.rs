//! A screen that several writers share: the thread of a view, and the questions to the person.

use std::thread::JoinHandle;

use haft_contract::BoxFuture;
use tokio::sync::oneshot;

use crate::error::CommandError;

/// The thread of a view. A slow terminal or pipe holds up only this thread.
pub(crate) struct ViewThread(JoinHandle<()>);

impl ViewThread {
    /// Starts a thread that shows events until the view ends.
    pub(crate) fn start(
        name: &str,
        show: impl FnOnce() + Send + 'static,
    ) -> Result<Self, CommandError> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(show);
        let cannot = |err| CommandError::failed(format!("no thread can be started: {err}"));
        thread.map(Self).map_err(cannot)
    }

    /// Waits until the view has ended. A pipe that takes nothing may delay that, and signals are received meanwhile.
    pub(crate) async fn join(self) {
        let _ = tokio::task::spawn_blocking(move || self.0.join()).await;
    }
}

/// Sends a view the request to release the terminal, and waits until it has done so. A view that has ended is in no way.
pub(crate) async fn wait_for_terminal(request: impl FnOnce(oneshot::Sender<()>)) {
    let (free, is_free) = oneshot::channel();
    request(free);
    let _ = is_free.await;
}

/// A view on the terminal that makes room for questions.
pub(crate) trait SharedScreen: Send + Sync {
    /// Returns once the view leaves the terminal to a question.
    fn release_terminal(&self) -> BoxFuture<'_, ()>;
    /// Takes the terminal back.
    fn reclaim_terminal(&self);
}
