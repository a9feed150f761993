//! The owner's end of a connection to a server, which is a program of this machine or a remote server.

use std::time::Duration;

use haft_contract::ConfinementReport;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::limits::SERVER_END_MS_MAX;

/// The owner's end of a connection. Dropping it ends the connection.
pub(super) struct McpServerLink {
    /// Asks the task that holds the program; `None` for a remote server.
    pub(super) confinement_requests: Option<mpsc::Sender<oneshot::Sender<ConfinementReport>>>,
    pub(super) close: CancellationToken,
    pub(super) ended: CancellationToken,
    /// The last fault of a remote server, or how a program ended.
    pub(super) last_fault: watch::Receiver<Option<String>>,
}

impl McpServerLink {
    pub(super) fn is_remote(&self) -> bool {
        self.confinement_requests.is_none()
    }

    /// Returns whether the connection has ended, or is about to.
    pub(super) fn is_over(&self) -> bool {
        let requests = self.confinement_requests.as_ref();
        self.ended.is_cancelled() || requests.is_some_and(mpsc::Sender::is_closed)
    }

    pub(super) async fn wait_until_ended(&self) {
        self.ended.cancelled().await;
    }

    /// Returns how the connection ended, in words; waits a while for that.
    pub(super) async fn end_reason(&self) -> String {
        let _ = timeout(Duration::from_millis(SERVER_END_MS_MAX), self.ended.cancelled()).await;
        let fault = self.last_fault.borrow().clone();
        fault.unwrap_or_else(|| match self.is_remote() {
            true => "the connection to it broke off".to_owned(),
            false => "it ended".to_owned(),
        })
    }

    /// Returns the confinement events of a program since the last call; `None` after its end.
    pub(super) async fn take_confinement(&self) -> Option<ConfinementReport> {
        let (answer, answered) = oneshot::channel();
        self.confinement_requests.as_ref()?.send(answer).await.ok()?;
        answered.await.ok()
    }

    pub(super) async fn close(&self) {
        self.close.cancel();
        self.end_reason().await;
    }
}

impl Drop for McpServerLink {
    fn drop(&mut self) {
        self.close.cancel();
    }
}
