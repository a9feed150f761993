//! Tells a client that the tools to list have changed: some were found, or there are others. A client of the older era is told
//! from the handshake on, one of the newer era while it listens.

use std::sync::OnceLock;

use haft::ToolListingWatcher;
use rmcp::{Peer, RoleServer};
use tokio_util::task::AbortOnDropHandle;

/// What tells a client of the older era.
#[derive(Default)]
pub(crate) struct ToolListNotifier {
    /// Runs from the handshake to the end of the connection.
    notifying_task: OnceLock<AbortOnDropHandle<()>>,
}

impl ToolListNotifier {
    /// Tells the client of changes from now on.
    pub(crate) fn notify_on_changes(
        &self,
        peer: Peer<RoleServer>,
        mut changes: ToolListingWatcher,
    ) {
        self.notifying_task.get_or_init(|| {
            AbortOnDropHandle::new(tokio::spawn(async move {
                loop {
                    changes.changed().await;
                    if peer.notify_tool_list_changed().await.is_err() {
                        return;
                    }
                }
            }))
        });
    }
}
